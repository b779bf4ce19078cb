/*
 * Goal: whichever system call is refused, the library returns an error and has
 * changed nothing, or works without the call; it never crashes, hangs, leaks or
 * loses an event.
 * Method: each test of this program runs many times, each time in a process of
 * its own and with another system call or allocation that fails.  The sweep
 * repeats a public call that fails because of that, and then the test has to
 * pass.
 *
 * program [--backend NAME] [--mode single|threads] [--seed N] [--part K/N]
 *     [--seconds N | --all [OPTION...] | --fault CALL:ERROR] [TEST...]
 *
 * --seconds N  a random sample, chosen by the seed, for N seconds; the default is
 *              XPOLL_SWEEP_SECONDS, which may be "all"
 * --all        each call with each error that fits it, in the order of plan.c; at
 *              the end it prints which tests were swept completely
 *   --each N   at most N seconds for each test (60)
 *   --depth N  of each place the first N calls in that order (1: its first call;
 *              2: also the last; 3: also the middle one; 4: also those at the
 *              quarters; and so on)
 *   --from N   begin with the N-th call of that order
 *   --part K/N of the tests each N-th from the K-th on: for N programs at a time
 * --fault      only this fault, with the test's output
 *
 * SIGTERM and SIGINT end the program after the present fault; it then prints
 * its results so far.
 */
#include "sweep.h"

#include <ftw.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define SAMPLE_TEST_NS INT64_C(400000000) /* longer tests run only with --all */
#define FINDINGS_MOST 3 /* print at most this many findings of one test */
#define SPAWN_NS 2000000 /* time to start the process of a test */

static int64_t sweep_sample_ns = INT64_C(2000000000);
static int64_t sweep_each_ns = INT64_C(60000000000);
static bool sweep_everything;
static int sweep_depth = INT_MAX;
static int sweep_from = 1;
static int sweep_part = 1;
static int sweep_parts = 1;
static int sweep_fault_call;
static int sweep_fault_error;
/* set by the signal handler: end after the present fault */
static volatile sig_atomic_t sweep_ended;
static char sweep_scratch[PATH_MAX];
static char **sweep_wanted;
static int sweep_wanted_count;

/* A test, and the results of its run without faults. */
struct subject {
	const struct xt_test *test;
	bool looked;
	bool left_out; /* the test fails without a fault, is skipped, or makes no call */
	int findings;
	struct sweep_limits limits;
	int calls;
	int forgotten; /* number of calls beyond SWEEP_CALLS, which never fail */
	struct sweep_point *points;
	int places;
	/* The following members are used with --all. */
	int tried;     /* number of calls that were made to fail */
	long faults;   /* number of faults (call and error) in these calls */
	long known;    /* number of faults that all calls offer */
	int64_t spent_ns;
};

static struct subject *subjects;
static int subjects_len;
static struct {
	int tests;
	long faults;
	long stuck;
	long missed;
	int findings;
	int skipped;
	int broken;
	int whole;
	int cut;
	int silent; /* number of tests that make no call */
	long known;
} tally;

static bool selected(const struct xt_test *test)
{
	for (int i = 0; i < sweep_wanted_count; i++)
		if (strstr(test->name, sweep_wanted[i]))
			return true;
	return sweep_wanted_count == 0;
}

static void find_subjects(void)
{
	int count = 0;

	for (struct xt_test *test = xt_first; test; test = test->next)
		count++;
	subjects = calloc((size_t)count + 1, sizeof *subjects);
	if (!subjects)
		xt_broken("calloc");
	count = 0;
	for (struct xt_test *test = xt_first; test; test = test->next)
		if (selected(test) &&
		    count++ % sweep_parts == sweep_part - 1)
			subjects[subjects_len++].test = test;
}

static int errors_of(const struct sweep_point *point)
{
	const int *errors = sweep_kind_errors(point->kind);
	int count = 0;

	while (errors[count])
		count++;
	return count;
}

static void leave_out(struct subject *subject, enum sweep_verdict verdict)
{
	subject->left_out = true;
	tally.silent += verdict == SWEEP_FINE;
	tally.skipped += verdict == SWEEP_SKIPPED;
	tally.broken += verdict == SWEEP_FAILED;
}

/* Run the test without a fault, and record its calls.  Returns false if the test is left out. */
static bool look_at(struct subject *subject)
{
	struct sweep_shared *shared = sweep_shared;
	enum sweep_verdict verdict;
	int calls;

	if (subject->looked)
		return !subject->left_out;
	subject->looked = true;
	verdict = sweep_run(subject->test, 0, 0, NULL);
	/* A test that measures time may fail on a busy machine: run it again. */
	if (verdict == SWEEP_FAILED)
		verdict = sweep_run(subject->test, 0, 0, NULL);
	calls = atomic_load(&shared->calls);
	subject->calls = calls < SWEEP_CALLS ? calls : SWEEP_CALLS;
	subject->forgotten = calls - subject->calls;
	subject->limits = (struct sweep_limits){
		.fds = shared->fds, .blocks = shared->blocks, .ns = shared->ns,
		.patience = 1};
	if (verdict != SWEEP_FINE || calls == 0) {
		leave_out(subject, verdict);
		return false;
	}
	tally.tests++;
	subject->points = sweep_plan(subject->calls, &subject->places);
	for (int i = 0; i < subject->calls; i++)
		subject->known += errors_of(&subject->points[i]);
	tally.known += subject->known;
	return true;
}

/*
 * Run a test that has failed with this fault a second time, because a single failure may be chance
 * or due to a busy machine.
 */
static enum sweep_verdict run_twice(struct subject *subject, int call, int error)
{
	struct sweep_limits limits = subject->limits;
	enum sweep_verdict verdict =
		sweep_run(subject->test, call, error, &limits);

	limits.patience = 5;
	if (verdict == SWEEP_FAILED)
		verdict = sweep_run(subject->test, call, error, &limits);
	return verdict;
}

static void fail_once(struct subject *subject, int call, int error)
{
	switch (run_twice(subject, call, error)) {
	case SWEEP_FAILED:
	case SWEEP_BAD:
		printf("FINDING: see above\n");
		tally.findings++;
		subject->findings++;
		break;
	case SWEEP_STUCK:
		tally.stuck++;
		break;
	case SWEEP_NOT_REACHED:
		tally.missed++;
		return;
	case SWEEP_FINE:
	case SWEEP_SKIPPED:
		break;
	}
	tally.faults++;
}

static void fail_all(struct subject *subject)
{
	int64_t start = xt_now();

	for (int i = sweep_from - 1; i < subject->calls; i++) {
		const struct sweep_point *point = &subject->points[i];

		if (sweep_ended || xt_now() - start > sweep_each_ns ||
		    subject->findings >= FINDINGS_MOST ||
		    point->depth >= sweep_depth)
			break;
		for (const int *error = sweep_kind_errors(point->kind); *error;
		     error++)
			fail_once(subject, point->call, *error);
		subject->tried++;
		subject->faults += errors_of(point);
	}
	subject->spent_ns = xt_now() - start;
	if (subject->tried == subject->calls && subject->forgotten == 0)
		tally.whole++;
	else
		tally.cut++;
}

static void fail_by_chance(struct subject *subject, uint64_t *chance)
{
	const struct sweep_point *point =
		&subject->points[xt_random(chance) % (uint32_t)subject->calls];
	uint32_t count = (uint32_t)errors_of(point);

	fail_once(subject, point->call,
	          sweep_kind_errors(point->kind)[xt_random(chance) % count]);
}

static void shuffle(uint64_t *chance)
{
	for (int i = subjects_len - 1; i > 0; i--) {
		int other = (int)(xt_random(chance) % (uint32_t)(i + 1));
		struct subject kept = subjects[i];

		subjects[i] = subjects[other];
		subjects[other] = kept;
	}
}

/* Run all tests in turn, with three faults each time, until the time is up. */
static void sample(void)
{
	uint64_t chance = xt_chosen_seed;
	int64_t end = xt_now() + sweep_sample_ns;
	bool any = true;

	shuffle(&chance);
	while (any && xt_now() < end) {
		any = false;
		for (int i = 0; i < subjects_len && xt_now() < end; i++) {
			if (!look_at(&subjects[i]) ||
			    subjects[i].limits.ns > SAMPLE_TEST_NS)
				continue;
			any = true;
			for (int k = 0; k < 3 && xt_now() < end; k++)
				fail_by_chance(&subjects[i], &chance);
		}
	}
}

static void run_all(void)
{
	for (int i = 0; i < subjects_len && !sweep_ended; i++)
		if (look_at(&subjects[i])) {
			printf("%s: %d calls from %d places, %.1f ms\n",
			       subjects[i].test->name, subjects[i].calls,
			       subjects[i].places,
			       (double)subjects[i].limits.ns / 1e6);
			fail_all(&subjects[i]);
		}
}

/* Parse an option that selects faults.  Returns false if the argument is none of these. */
static bool option_of_choice(const char *name, const char *value)
{
	char *end;

	if (strcmp(name, "--seed") == 0) {
		xt_chosen_seed = strtoull(value, NULL, 0);
	} else if (strcmp(name, "--seconds") == 0) {
		sweep_everything = false;
		sweep_sample_ns = (int64_t)(strtod(value, NULL) * 1e9);
	} else if (strcmp(name, "--each") == 0) {
		sweep_each_ns = (int64_t)(strtod(value, NULL) * 1e9);
	} else if (strcmp(name, "--depth") == 0) {
		sweep_depth = atoi(value);
	} else if (strcmp(name, "--from") == 0) {
		sweep_from = atoi(value);
	} else if (strcmp(name, "--part") == 0) {
		sweep_part = (int)strtol(value, &end, 10);
		sweep_parts = *end ? atoi(end + 1) : 0;
	} else if (strcmp(name, "--fault") == 0) {
		sweep_fault_call = (int)strtol(value, &end, 10);
		sweep_fault_error = *end ? atoi(end + 1) : 0;
	} else {
		return false;
	}
	return sweep_depth >= 1 && sweep_from >= 1 && sweep_part >= 1 &&
		sweep_part <= sweep_parts;
}

/* Parse one option.  Returns the number of arguments used; 0: unknown option. */
static int option(const char *name, const char *value)
{
	if (strcmp(name, "--all") == 0) {
		sweep_everything = true;
		return 1;
	}
	if (!value)
		return 0;
	if (strcmp(name, "--backend") == 0) {
		xt_backend = value;
	} else if (strcmp(name, "--mode") == 0) {
		xt_threads = strcmp(value, "threads") == 0;
	} else if (!option_of_choice(name, value)) {
		return 0;
	}
	return 2;
}

static void make_shared(void)
{
	sweep_shared = mmap(NULL, sizeof *sweep_shared, PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sweep_shared == MAP_FAILED)
		xt_broken("mmap");
}

/* Returns the number of places whose first call is among the first `calls` calls of the order. */
static int places_in(const struct subject *subject, int calls)
{
	return calls < subject->places ? calls : subject->places;
}

/* Print the lines that scripts/dev/steps.sh parses. */
static void tell_of(const struct subject *subject)
{
	int end = sweep_from - 1 + subject->tried;
	double each = subject->tried == 0
	                  ? (double)(subject->limits.ns + SPAWN_NS)
	                  : (double)subject->spent_ns / (double)subject->faults;

	printf("sweep:   %s: %ld of %ld faults, %d of %d places",
	       subject->test->name, subject->faults, subject->known,
	       places_in(subject, end) - places_in(subject, sweep_from - 1),
	       subject->places);
	if (subject->forgotten)
		printf(", and of %d more calls none", subject->forgotten);
	if (subject->findings >= FINDINGS_MOST)
		printf("; ended by what it found\n");
	else
		printf("; the rest, %s%d, takes about %.0f s\n",
		       end < subject->calls ? "--from " : "before ",
		       end < subject->calls ? end + 1 : sweep_from,
		       (double)(subject->known - subject->faults) * each / 1e9);
}

/* Print which tests were swept completely, and which were not. */
static void tell_how_far(void)
{
	int later = 0;

	for (int i = 0; i < subjects_len; i++)
		later += !subjects[i].looked;
	printf("sweep: %s%s: %d tests whole, %d cut; %ld of %ld faults tried; "
	       "%d tests make no call, %d are skipped here, %d fail as they are",
	       xt_backend, xt_threads ? ", threads" : "", tally.whole, tally.cut,
	       tally.faults + tally.missed, tally.known, tally.silent,
	       tally.skipped, tally.broken);
	if (later)
		printf(", %d were not begun", later);
	printf("\n");
	for (int i = 0; i < subjects_len; i++)
		if (subjects[i].points &&
		    (subjects[i].tried < subjects[i].calls ||
		     subjects[i].forgotten))
			tell_of(&subjects[i]);
}

static void on_end(int number)
{
	(void)number;
	sweep_ended = 1;
}

/* Make a directory for the files that tests leave when they are killed. */
static void scratch_make(void)
{
	const char *above = getenv("TMPDIR");

	(void)snprintf(sweep_scratch, sizeof sweep_scratch,
	               "%s/xpoll-sweep-XXXXXX", above ? above : "/tmp");
	if (!mkdtemp(sweep_scratch) ||
	    chmod(sweep_scratch, 0777) < 0 ||
	    setenv("TMPDIR", sweep_scratch, 1) < 0)
		xt_broken("mkdtemp");
}

static int scratch_remove(const char *path, const struct stat *status, int type,
                          struct FTW *place)
{
	(void)status, (void)type, (void)place;
	(void)remove(path);
	return 0;
}

static int conclude(void)
{
	printf("%ld faults in %d tests (%s%s, seed %ju): %d findings; %ld times "
	       "a test waited for what it was denied, %ld faults not reached\n",
	       tally.faults, tally.tests, xt_backend,
	       xt_threads ? ", threads" : "", (uintmax_t)xt_chosen_seed,
	       tally.findings, tally.stuck, tally.missed);
	if (sweep_everything && !sweep_fault_call)
		tell_how_far();
	if (tally.findings > 0)
		return 1;
	if (tally.tests == 0)
		printf("SKIP: none of these tests runs here\n");
	return tally.tests > 0 ? 0 : 77;
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("XPOLL_SWEEP_SECONDS");
	int next = 1;

	sweep_everything = seconds && strcmp(seconds, "all") == 0;
	if (seconds && !sweep_everything)
		sweep_sample_ns = (int64_t)(strtod(seconds, NULL) * 1e9);
	if (xt_main_first)
		xt_main_first(argc, argv);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	while (next < argc && argv[next][0] == '-') {
		int taken = option(argv[next], argv[next + 1]);

		if (taken == 0) {
			fprintf(stderr, "%s: see the head of tests/fault/sweep/main.c\n", argv[0]);
			return 2;
		}
		next += taken;
	}
	sweep_wanted = argv + next;
	sweep_wanted_count = argc - next;
	sweep_pause(1);
	xt_choose_backend();
	xt_watchdog_install();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGTERM, on_end);
	(void)signal(SIGINT, on_end);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_shared();
	scratch_make();
	find_subjects();
	if (sweep_fault_call) {
		for (int i = 0; i < subjects_len; i++)
			if (look_at(&subjects[i]))
				fail_once(&subjects[i], sweep_fault_call,
				          sweep_fault_error);
	} else if (sweep_everything) {
		run_all();
	} else {
		sample();
	}
	(void)nftw(sweep_scratch, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
	return conclude();
}
