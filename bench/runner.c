/*
 * The runner: rounds, warm-up, and the measuring loop that all variants share.
 *
 * In each round every variant gets a turn of seconds / rounds.  Turns are fractions of a second, so
 * that disturbances by other programs are spread over all variants; and the order rotates from
 * round to round, so that no variant always follows the same one.  A turn opens the variant, then
 * warms up and measures each phase, and closes the variant.
 *
 * The clock is read between chunks of operations, which take about a millisecond each: so reading
 * it costs every variant the same, next to nothing, and operations are counted exactly.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

#define CHUNK_MIN       8
#define CHUNK_MAX       65536
#define CHUNK_ENOUGH_NS 500000   /* a chunk that takes longer is not enlarged any more */
/* least time of a warm-up, unless 2n operations are done earlier */
#define WARM_UP_NS      50000000

/*
 * Returns the number of system calls so far: the kernel's count if it is available, otherwise the
 * variant's.
 */
static uint64_t runner_syscalls(const struct bench_ops *ops, const struct bench_turn *turn)
{
	uint64_t counted = bench_counter();

	if (counted != BENCH_UNKNOWN)
		return counted;
	return ops->syscalls != NULL ? ops->syscalls(turn) : loop_syscalls(&turn->loop);
}

/* Returns the sum of two counts; BENCH_UNKNOWN if one of them is unknown. */
static uint64_t runner_add(uint64_t a, uint64_t b)
{
	return a == BENCH_UNKNOWN || b == BENCH_UNKNOWN ? BENCH_UNKNOWN : a + b;
}

/*
 * Returns the difference of two counts; BENCH_UNKNOWN if one of them is unknown, or if the count
 * has become smaller, because objects that held a part of it (queues, descriptors) were closed.
 */
static uint64_t runner_more(uint64_t before, uint64_t after)
{
	return before == BENCH_UNKNOWN || after == BENCH_UNKNOWN || after < before
		? BENCH_UNKNOWN : after - before;
}

/* Run the turn's phase until `count` operations are done.  Returns their number, or -errno. */
static int runner_chunk(const struct bench_ops *ops, struct bench_turn *turn, int count)
{
	bench_run_function *run = ops->run != NULL ? ops->run : turn->phase->run;
	int done = 0;

	while (done < count) {
		int rc;

		turn->count = count - done;
		rc = run(turn);
		if (rc < 0)
			return rc;
		done += rc;
	}
	return done;
}

int bench_counted(const struct bench_ops *ops, struct bench_turn *turn, int count)
{
	return runner_chunk(ops, turn, count);
}

/* Measure the turn's phase until budget_ns has passed or operations_max operations are done. */
static int runner_loop(const struct bench_workload *workload, const struct bench_ops *ops,
                       struct bench_turn *turn, int64_t budget_ns, uint64_t operations_max)
{
	struct bench_sample *sample = turn->sample;
	uint64_t calls = runner_syscalls(ops, turn);
	int64_t start_ns = bench_elapsed_ns(workload);
	int64_t last_ns = start_ns;
	int chunk = budget_ns > 0 ? CHUNK_MIN : 1;

	do {
		int done = runner_chunk(ops, turn, chunk);
		int64_t now_ns = bench_elapsed_ns(workload);

		if (done < 0)
			return done;
		sample->operations += (uint64_t)done;
		if (now_ns - last_ns < CHUNK_ENOUGH_NS && chunk < CHUNK_MAX)
			chunk *= 2;
		last_ns = now_ns;
		bench_signals_progress();
		if (bench_interrupted() != 0)
			return -EINTR;
	} while (last_ns - start_ns < budget_ns && sample->operations < operations_max);
	if (sample->elapsed_ns > 0)
		return 0; /* the phase has measured itself */
	sample->elapsed_ns = (uint64_t)(last_ns - start_ns);
	sample->syscalls = runner_more(calls, runner_syscalls(ops, turn));
	return 0;
}

/* Measure the turn's phase for `count` operations (--operations). */
static int runner_count(const struct bench_workload *workload, const struct bench_ops *ops,
                        struct bench_turn *turn, int count)
{
	struct bench_sample *sample = turn->sample;
	int64_t start_ns = bench_elapsed_ns(workload);
	uint64_t calls = runner_syscalls(ops, turn);
	int done = bench_counted(ops, turn, count);

	calls = runner_more(calls, runner_syscalls(ops, turn));
	if (sample->elapsed_ns == 0) { /* otherwise the phase has measured itself */
		sample->elapsed_ns = (uint64_t)(bench_elapsed_ns(workload) - start_ns);
		sample->syscalls = calls;
	}
	sample->operations = (uint64_t)(done < 0 ? 0 : done);
	bench_signals_progress();
	return done < 0 ? done : bench_interrupted() != 0 ? -EINTR : 0;
}

/*
 * Run one phase; the first pass is a warm-up.  used: memory that was allocated before the variant
 * was opened.
 */
static int runner_phase(const struct bench_report *report, const struct bench_ops *ops,
                        struct bench_turn *turn, int64_t budget_ns, int pass, uint64_t used)
{
	int operations = report->options->operations;
	uint64_t warm_up = (uint64_t)(operations > 0 ? operations
	                                             : 2 * report->options->n + 1000);
	int64_t warm_up_ns = budget_ns / 10 > WARM_UP_NS ? budget_ns / 10 : WARM_UP_NS;
	int rc = turn->phase->prepare != NULL ? turn->phase->prepare(turn) : 0;
	uint64_t now;

	if (ops->passes)
		budget_ns = 0;
	else if (operations > 0)
		budget_ns = pass == 0 ? INT64_MAX : 0;
	else if (pass == 0)
		budget_ns = warm_up_ns;
	if (rc >= 0 && pass > 0 && operations > 0)
		rc = runner_count(report->workload, ops, turn, ops->passes ? 1 : operations);
	else if (rc >= 0)
		rc = runner_loop(report->workload, ops, turn, budget_ns,
		                 pass == 0 ? warm_up : UINT64_MAX);
	now = report->workload->tells_bytes ? bench_memory_used() : 0;
	turn->sample->bytes = used > 0 && now > used ? now - used : 0;
	return rc;
}

static void runner_sum(struct bench_sample *sum, const struct bench_sample *sample)
{
	sum->operations += sample->operations;
	sum->elapsed_ns += sample->elapsed_ns;
	sum->syscalls = runner_add(sum->syscalls, sample->syscalls);
	sum->wakes += sample->wakes;
	sum->bytes = sample->bytes;
}

/*
 * Measure all phases.  A phase that does not depend on others is measured directly after its
 * warm-up, with its part of the budget.  Phases that depend on each other run one after the other,
 * as often as the budget allows, but at least twice: the first pass is the warm-up, after which all
 * memory is allocated.
 */
static int runner_phases(const struct bench_report *report, const struct bench_ops *ops,
                         struct bench_turn *turn, int64_t budget_ns, uint64_t used,
                         struct bench_sample *sums)
{
	int len = report->phases_len;
	int visits = 2 * len;
	int64_t used_ns = 0;

	for (int visit = 0; visit < visits; visit++) {
		int i = ops->passes ? visit % len : visit / 2;
		int pass = ops->passes ? visit / len : visit % 2;
		struct bench_sample sample = { 0 };
		int rc;

		turn->phase = &report->workload->phases[i];
		turn->sample = &sample;
		rc = runner_phase(report, ops, turn, budget_ns / len, pass, used);
		if (rc < 0)
			return rc;
		if (pass > 0) {
			runner_sum(&sums[i], &sample);
			used_ns += (int64_t)sample.elapsed_ns;
		}
		if (visit + 1 == visits && ops->passes && used_ns < budget_ns &&
		    report->options->operations == 0)
			visits += len;
	}
	return 0;
}

/* Open one variant, measure it, and close it. */
static int runner_measure(const struct bench_report *report, const struct bench_ops *ops,
                          struct bench_turn *turn, struct bench_sample *samples)
{
	const struct bench_options *options = report->options;
	int64_t budget_ns = (int64_t)(options->seconds / options->rounds * 1e9);
	uint64_t used = bench_memory_used();
	int rc = 0;

	if (turn->field->pairs.len > 0)
		bench_pairs_drain(&turn->field->pairs);
	if (turn->way->loop != NULL && ops->room != 0)
		rc = loop_open(&turn->loop, turn->way, turn->field,
		               ops->room > 0 ? ops->room : turn->field->len);
	if (rc >= 0 && ops->open != NULL)
		rc = ops->open(turn);
	if (rc >= 0)
		rc = runner_phases(report, ops, turn, budget_ns, used, samples);
	if (ops->close != NULL)
		ops->close(turn);
	loop_close(&turn->loop);
	return rc;
}

static int runner_turn(const struct bench_report *report, struct bench_field *field,
                       struct bench_contender *contender, int round)
{
	const struct bench_ops *ops = contender->ops;
	struct bench_sample samples[BENCH_PHASES_MAX] = { 0 };
	struct bench_turn turn = { .way = &contender->way, .field = field };
	int rc;

	turn.own = calloc(1, ops->size > 0 ? ops->size : 1);
	if (turn.own == NULL)
		return -ENOMEM;
	rc = runner_measure(report, ops, &turn, samples);
	free(turn.own);
	for (int i = 0; i < report->phases_len && rc >= 0; i++) {
		struct bench_result *result = &contender->results[i];

		result->rates[round] = (double)samples[i].operations * 1e9 /
		                       (double)samples[i].elapsed_ns;
		result->calls[round] = samples[i].syscalls == BENCH_UNKNOWN ? NAN
			: (double)samples[i].syscalls / (double)samples[i].operations;
		result->wakes += samples[i].wakes;
		result->operations += samples[i].operations;
		result->syscalls = runner_add(result->syscalls, samples[i].syscalls);
		result->bytes = samples[i].bytes;
	}
	return rc < 0 ? rc : 0;
}

static int runner_fail(const struct bench_report *report, const char *variant, int rc)
{
	if (bench_stalled())
		bench_complain(report->workload, "%s: stalled: a wait did not return although "
		               "an event was due", variant);
	else if (bench_interrupted() == 0)
		bench_complain(report->workload, "%s: %s", variant, strerror(-rc));
	return 1;
}

static int runner_rounds(struct bench_report *report, struct bench_field *field)
{
	int rounds = report->options->rounds;
	int variants = report->contenders_len;
	int turns = rounds * variants;
	int64_t start_ns = bench_now_ns();
	int rc = 0;

	for (int turn = 0; turn < turns && rc == 0; turn++) {
		int round = turn / variants;
		struct bench_contender *contender = &report->contenders[(turn + round) % variants];
		char doing[80];

		snprintf(doing, sizeof doing, "round %d of %d: %s", round + 1, rounds,
		         contender->name);
		bench_progress_show((double)turn / turns, start_ns, doing);
		rc = runner_turn(report, field, contender, round);
		if (rc < 0)
			rc = runner_fail(report, contender->name, rc);
	}
	bench_progress_clear();
	return rc;
}

/* Open the n things that all variants share.  Returns 0 or -errno. */
static int runner_open(const struct bench_report *report, struct bench_field *field)
{
	const struct bench_workload *workload = report->workload;
	int n = report->options->n;
	int ends = workload->both_ends ? 2 : 1;
	int rc = 0;

	field->options = report->options;
	field->len = n * ends + workload->targets_more;
	field->own = calloc(1, workload->setup_size + 1);
	if (field->own == NULL)
		return -ENOMEM;
	if (workload->kind != BENCH_NOTHING) {
		field->targets = calloc((size_t)field->len, sizeof *field->targets);
		rc = field->targets == NULL ? -ENOMEM : 0;
	}
	if (rc == 0 && workload->kind < BENCH_TARGETS)
		rc = bench_pairs_open(workload->kind, n, &field->pairs);
	for (int i = 0; rc == 0 && i < field->pairs.len * ends; i++) {
		const struct bench_pair *pair = &field->pairs.at[i / ends];

		field->targets[i] = i % ends == 0
			? (struct loop_target){ .fd = pair->read_fd,
			                        .events = POLLIN | workload->events }
			: (struct loop_target){ .fd = pair->write_fd, .events = POLLOUT };
	}
	return rc;
}

static void runner_close(struct bench_field *field)
{
	if (field->pairs.at != NULL)
		bench_pairs_close(&field->pairs);
	free(field->targets);
	free(field->own);
}

/* Do all measurements for a valid set of options.  Returns an exit code. */
static int runner_collect(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	struct bench_field field = { 0 };
	int rc = runner_open(report, &field);
	bool is_open = rc == 0;
	int exit_code = 1;

	if (is_open && workload->open != NULL)
		rc = workload->open(&field);
	if (rc < 0)
		bench_complain(workload, "cannot prepare %d %s: %s", report->options->n,
		               workload->items, strerror(-rc));
	else
		exit_code = runner_rounds(report, &field);
	if (is_open && workload->close != NULL)
		workload->close(&field);
	runner_close(&field);
	return exit_code;
}

static int runner_report(struct bench_report *report)
{
	struct bench_output output;
	const char *json = report->options->json;
	int exit_code = bench_output_open(&output, report);

	if (exit_code != 0)
		return exit_code;
	if (report->options->operations > 0)
		bench_counter_open();
	exit_code = runner_collect(report);
	bench_counter_close();
	if (exit_code != 0) {
		bench_output_abandon(&output);
		return exit_code;
	}
	if (json == NULL || strcmp(json, "-") != 0)
		bench_report_table(report, stdout);
	if (output.file != NULL)
		bench_report_json(report, output.file);
	return bench_output_commit(&output, report);
}

static int runner_pin(const struct bench_report *report)
{
	int cpu = report->options->cpu;
	int rc = cpu < 0 ? 0 : bench_pin(cpu);

	if (rc == 0)
		return 0;
	bench_complain(report->workload, "--pin %d: cannot run on this processor: %s", cpu,
	               strerror(-rc));
	return 2;
}

int bench_run(const struct bench_workload *workload,
              const struct bench_options *options)
{
	static struct bench_report report; /* static, because it is too large for the stack */
	int exit_code;

	report.workload = workload;
	report.options = options;
	exit_code = runner_pin(&report);
	if (exit_code == 0)
		exit_code = bench_select_variants(&report);
	if (exit_code == 0)
		exit_code = bench_reserve_descriptors(&report);
	if (exit_code == 0) {
		/* before anything is opened that a signal would leave behind */
		bench_signals_install();
		exit_code = runner_report(&report);
		bench_signals_restore();
	}
	if (bench_interrupted() != 0)
		/* end by the signal, so that the parent process can see it */
		(void)raise(bench_interrupted());
	return exit_code;
}
