/*
 * The main of `xpoll selftest`: runs the tests that are linked with it on each back end that
 * is usable here, prints those that fail, and one line about this system.
 *
 *     selftest [--backend NAME] [--verbose]
 *
 * Each back end has two processes of its own, which are this program with the harness's own
 * main: one runs the first, third, fifth case and so on, the other one the rest, because a
 * case sleeps for most of its time.  A case that ends its process is reported like one that
 * fails.
 */
#include "xt_internal.h"

#include <sys/utsname.h>
#include <sys/wait.h>

/* The command that runs the tests of one back end; its name comes from the environment. */
#ifdef _WIN32
#define popen            _popen
#define pclose           _pclose
#define SELFTEST_COMMAND "\"%%XPOLL_SELFTEST%%\" --backend %s --mode single --part %d/%d 2>&1"
#else
#define SELFTEST_COMMAND "exec \"$XPOLL_SELFTEST\" --backend %s --mode single --part %d/%d 2>&1"
#endif

/*
 * Topics, and the rules (S1, ...) that their tests check; generated from
 * docs/internals/contract.md.
 */
struct selftest_sentence {
	const char *topic;
	const char *numbers;
};
extern const struct selftest_sentence selftest_sentences[];

enum { BACKENDS_MOST = 16, PARTS = 2 };

struct run {
	const char *backend;
	FILE *output;               /* output of the run's process */
	const struct xt_test *next; /* the test case to report next */
	const struct xt_test *last; /* the case that was reported last; NULL: none */
	bool last_skipped;          /* that case was skipped */
	int passed, failed, skipped;
	bool complete;
};

static bool selftest_verbose;
static char selftest_failures[4096];

/* Write "level.NAME (S8)", with the rules of the topic. */
static void case_name(const struct xt_test *test, char *text, size_t size)
{
	const char *slash = strrchr(test->file, '/');
	const char *file = slash ? slash + 1 : test->file;
	int len = (int)strcspn(file, ".");
	const char *sentences = "";

	for (size_t i = 0; selftest_sentences[i].topic; i++)
		if (strncmp(selftest_sentences[i].topic, file, (size_t)len) == 0 &&
		    selftest_sentences[i].topic[len] == '\0')
			sentences = selftest_sentences[i].numbers;
	(void)snprintf(text, size, "%.*s.%s%s", len, file, test->name, sentences);
}

static void report_failure(struct run *run, const struct xt_test *test, const char *how)
{
	size_t used = strlen(selftest_failures);
	char name[256];

	run->failed++;
	if (test)
		case_name(test, name, sizeof name);
	else
		(void)snprintf(name, sizeof name, "the end of the process");
	printf("%s  %s: %s\n", how, run->backend, name);
	(void)snprintf(selftest_failures + used, sizeof selftest_failures - used, "%s%s %s",
	               used ? ", " : "", run->backend, name);
	used = strlen(selftest_failures);
	if (used == sizeof selftest_failures - 1)
		memcpy(selftest_failures + used - 4, " ...", 4);
}

/* Returns the case `count` cases after this one; NULL: there is none. */
static const struct xt_test *skip_cases(const struct xt_test *test, int count)
{
	while (test && count-- > 0)
		test = test->next;
	return test;
}

/* Returns the case of this name, which the process has reported; usually the next one. */
static const struct xt_test *take_case(struct run *run, const char *name)
{
	const struct xt_test *test = run->next;

	if (run->last && strcmp(run->last->name, name) == 0)
		return run->last; /* the case has reported a skip, and then a failure */
	run->last_skipped = false;
	while (test && strcmp(test->name, name) != 0)
		test = skip_cases(test, PARTS);
	if (test) {
		run->last = test;
		run->next = skip_cases(test, PARTS);
	}
	return test;
}

static void case_failed(struct run *run, const struct xt_test *test)
{
	if (run->last_skipped)
		run->skipped--; /* count the case only once */
	report_failure(run, test, "FAIL");
}

/* Handle one line of the harness; lines of failed checks are printed as they are. */
static void take_line(struct run *run, char *line)
{
	static const char *const kinds[] = {"  ok    ", "  FAIL  ", "  skip  "};
	const struct xt_test *test;
	int passed, kind = 0;
	char *name;

	while (kind < 3 && strncmp(line, kinds[kind], strlen(kinds[kind])) != 0)
		kind++;
	if (kind == 3) {
		if (sscanf(line, "%d passed, ", &passed) == 1)
			run->complete = true;
		else if (strncmp(line, "  note", 6) != 0 || selftest_verbose)
			printf("%s", line);
		return;
	}
	name = line + strlen(kinds[kind]);
	if (kind == 2 && selftest_verbose)
		printf("skip  %s: %s", run->backend, name);
	name[strcspn(name, " :\n")] = '\0';
	test = take_case(run, name);
	if (kind == 0)
		run->passed++;
	else if (kind == 1)
		case_failed(run, test);
	else
		run->skipped++;
	run->last_skipped = kind == 2;
	if (kind == 0 && selftest_verbose)
		printf("ok    %s: %s\n", run->backend, name);
}

static void run_finish(struct run *run)
{
	char line[1024];
	int status;

	while (fgets(line, sizeof line, run->output))
		take_line(run, line);
	status = pclose(run->output);
	if (!run->complete)
		report_failure(run, run->next, "DIED");
	else if (status != 0 && WEXITSTATUS(status) != 77 && run->failed == 0)
		report_failure(run, NULL, "FAIL");
}

static void run_begin(struct run *run, const char *program, const char *backend, int part)
{
	char command[128];

	*run = (struct run){.backend = backend, .next = skip_cases(xt_first, part)};
	(void)snprintf(command, sizeof command, SELFTEST_COMMAND, backend, part, PARTS);
	if (setenv("XPOLL_SELFTEST", program, 1) < 0)
		xt_broken("setenv");
	run->output = popen(command, "r");
	if (!run->output)
		xt_broken("popen");
}

static void print_result(const struct run *runs, int count)
{
	unsigned version = xpoll_version();
	struct utsname system;

	if (uname(&system) < 0)
		xt_broken("uname");
	printf("selftest: xpoll %u.%u.%u on %s %s %s:", version >> 16, version >> 8 & 255,
	       version & 255, system.sysname, system.release, system.machine);
	for (int i = 0; i < count; i += PARTS) {
		int passed = 0, failed = 0, skipped = 0;

		for (int part = 0; part < PARTS; part++) {
			passed += runs[i + part].passed;
			failed += runs[i + part].failed;
			skipped += runs[i + part].skipped;
		}
		printf("%s %s %d passed, %d failed, %d skipped", i ? ";" : "", runs[i].backend,
		       passed, failed, skipped);
	}
	printf("%s%s\n", *selftest_failures ? "; failed: " : count ? "; all right"
	       : " no back end is usable here", selftest_failures);
}

static int run_all(const char *program, const char *wanted)
{
	const char *names[BACKENDS_MOST];
	struct run runs[BACKENDS_MOST * PARTS];
	int count = xpoll_backends(names, BACKENDS_MOST);
	int failed = 0;

	if (count > BACKENDS_MOST)
		count = BACKENDS_MOST;
	if (wanted && !xt_usable(wanted)) {
		fprintf(stderr, "selftest: --backend %s: not usable here; usable:", wanted);
		for (int i = 0; i < count; i++)
			fprintf(stderr, "%s %s", i ? "," : "", names[i]);
		fprintf(stderr, "\n");
		return 2;
	}
	if (wanted) {
		names[0] = wanted;
		count = 1;
	}
	/* Start all processes first; they run at the same time. */
	count *= PARTS;
	for (int i = 0; i < count; i++)
		run_begin(&runs[i], program, names[i / PARTS], i % PARTS);
	for (int i = 0; i < count; i++) {
		run_finish(&runs[i]);
		failed += runs[i].failed;
	}
	print_result(runs, count);
	return failed > 0 || count == 0;
}

/* Set the harness's mode in the arguments; then its own main runs. */
static void selftest_first(int argc, char **argv)
{
	const char *wanted = NULL;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--mode") == 0 || strcmp(argv[i], "--list") == 0)
			return;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0) {
			selftest_verbose = true;
		} else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
			wanted = argv[++i];
		} else {
			fprintf(stderr, "usage: %s [--backend NAME] [--verbose]\n", argv[0]);
			exit(2);
		}
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	exit(run_all(argv[0], wanted));
}

__attribute__((constructor)) static void selftest_begin(void)
{
	xt_main_first = selftest_first;
}
