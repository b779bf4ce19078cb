/*
 * Goal: wherever the system refuses something, the library says so and stands
 * as before, or gets by; it never crashes, hangs, leaks or forgets an event.
 * Method: each test of this program runs again and again, in a process of its
 * own, and each time another of the calls into the system fails, or another
 * allocation.  A public call that fails for it is made again, and the test has
 * to pass.
 *
 *   program [--backend NAME] [--mode single|threads] [--seed N]
 *           [--seconds N | --all [--each N] | --fault CALL:ERROR] [TEST...]
 *
 * --seconds N  a sample, by chance from the seed, for so long; the default is
 *              XPOLL_SWEEP_SECONDS, which may be "all", or 2
 * --all        every call, every error that fits it
 * --each N     seconds for each test (60); of one that takes longer every k-th
 * --fault      one of them, with the test's output
 */
#include "sweep.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#define SAMPLE_TEST_NS INT64_C(400000000) /* longer ones are for --all */
#define FINDINGS_MOST 3 /* per test: more of them say little more */

static int64_t sweep_sample_ns = INT64_C(2000000000);
static int64_t sweep_each_ns = INT64_C(60000000000);
static bool sweep_everything;
static int sweep_fault_call;
static int sweep_fault_error;
static char **sweep_wanted;
static int sweep_wanted_count;

/* What is known of a test after a run of it without a fault. */
struct subject {
	const struct xt_test *test;
	bool looked;
	bool left_out; /* it fails without a fault, or is skipped */
	int findings;
	struct sweep_limits limits;
	int calls;
	unsigned char *kinds;
};

static struct subject *subjects;
static int subjects_len;
static struct {
	int tests;
	long faults;
	long stuck;
	long missed;
	int findings;
	int shortened;
} tally;

static bool selected(const char *name)
{
	for (int i = 0; i < sweep_wanted_count; i++)
		if (strstr(name, sweep_wanted[i]))
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
	for (struct xt_test *test = xt_first; test; test = test->next)
		if (selected(test->name))
			subjects[subjects_len++].test = test;
}

/* Run it as it is and take down its calls; false: it is left out. */
static bool look_at(struct subject *subject)
{
	struct sweep_shared *shared = sweep_shared;
	enum sweep_verdict verdict;
	int calls;

	if (subject->looked)
		return !subject->left_out;
	subject->looked = true;
	verdict = sweep_run(subject->test, 0, 0, NULL);
	calls = atomic_load(&shared->calls);
	subject->calls = calls < SWEEP_CALLS ? calls : SWEEP_CALLS;
	subject->limits = (struct sweep_limits){
		.fds = shared->fds, .blocks = shared->blocks, .ns = shared->ns};
	subject->left_out = verdict != SWEEP_FINE || calls == 0;
	if (subject->left_out)
		return false;
	tally.tests++;
	subject->kinds = malloc((size_t)subject->calls);
	if (!subject->kinds)
		xt_broken("malloc");
	memcpy(subject->kinds, shared->kinds, (size_t)subject->calls);
	return true;
}

/* A test that fails does so each time, or it was chance. */
static enum sweep_verdict run_twice(struct subject *subject, int call, int error)
{
	enum sweep_verdict verdict =
		sweep_run(subject->test, call, error, &subject->limits);

	if (verdict == SWEEP_FAILED)
		verdict = sweep_run(subject->test, call, error, &subject->limits);
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

/* Tests of many calls: as many of them, evenly, as the time allows. */
static void fail_all(struct subject *subject)
{
	int64_t end = xt_now() + sweep_each_ns;
	int64_t most = sweep_each_ns / (2 * subject->limits.ns + 4000000);
	int step = (int)(subject->calls / (most + 1)) + 1;

	if (step > 1) {
		tally.shortened++;
		printf("  note  %s: every %dth of its %d calls\n",
		       subject->test->name, step, subject->calls);
	}
	for (int call = 1; call <= subject->calls; call += step) {
		if (xt_now() > end || subject->findings >= FINDINGS_MOST) {
			printf("  note  %s: ended at call %d of %d\n",
			       subject->test->name, call, subject->calls);
			tally.shortened += step == 1;
			return;
		}
		const int *errors = sweep_kind_errors(
			(enum sweep_kind)subject->kinds[call - 1]);

		for (; *errors; errors++)
			fail_once(subject, call, *errors);
	}
}

static void fail_by_chance(struct subject *subject, uint64_t *chance)
{
	int call = 1 + (int)(xt_random(chance) % (uint32_t)subject->calls);
	const int *errors = sweep_kind_errors(
		(enum sweep_kind)subject->kinds[call - 1]);
	uint32_t count = 0;

	while (errors[count])
		count++;
	fail_once(subject, call, errors[xt_random(chance) % count]);
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

/* Each test in turn, three faults at a time, until the time is up. */
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
	for (int i = 0; i < subjects_len; i++)
		if (look_at(&subjects[i])) {
			printf("%s: %d calls, %.1f ms\n", subjects[i].test->name,
			       subjects[i].calls,
			       (double)subjects[i].limits.ns / 1e6);
			fail_all(&subjects[i]);
		}
}

/* The argument's meaning; how many arguments it took, 0: none. */
static int option(const char *name, const char *value)
{
	char *end;

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
	} else if (strcmp(name, "--seed") == 0) {
		xt_chosen_seed = strtoull(value, NULL, 0);
	} else if (strcmp(name, "--seconds") == 0) {
		sweep_sample_ns = (int64_t)(strtod(value, NULL) * 1e9);
	} else if (strcmp(name, "--each") == 0) {
		sweep_each_ns = (int64_t)(strtod(value, NULL) * 1e9);
	} else if (strcmp(name, "--fault") == 0) {
		sweep_fault_call = (int)strtol(value, &end, 10);
		sweep_fault_error = *end ? (int)strtol(end + 1, NULL, 10) : 0;
	} else {
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

static int conclude(void)
{
	printf("%ld faults in %d tests (%s%s, seed %ju): %d findings; %ld times "
	       "a test waited for what it was denied, %ld faults not reached\n",
	       tally.faults, tally.tests, xt_backend,
	       xt_threads ? ", threads" : "", (uintmax_t)xt_chosen_seed,
	       tally.findings, tally.stuck, tally.missed);
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
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_shared();
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
	return conclude();
}
