/*
 * The runner: rounds, warm-up, and the one loop that all variants share.
 *
 * In each round every variant gets a turn of seconds / rounds.  Turns are short,
 * a fraction of a second, so that whatever else the machine does is spread over
 * all of them, and the order rotates from round to round, so that none is always
 * the one after a noisy neighbour.  A turn opens the variant, then warms up and
 * measures each phase, and closes it.
 *
 * The clock is read between chunks of operations that take about a millisecond
 * each, so reading it costs the same nothing for every variant, and operations
 * are counted exactly.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop.h"

#define CHUNK_MAX       65536
#define CHUNK_ENOUGH_NS 500000   /* a chunk that takes longer grows no more */
#define WARM_UP_NS      50000000 /* the least time for it, unless 2n are done */

void bench_complain(const struct bench_workload *workload, const char *format, ...)
{
	va_list arguments;

	bench_progress_clear();
	fprintf(stderr, "xpoll bench %s: ", workload->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

int bench_no_setup(const struct bench_options *options, void *setup)
{
	(void)options, (void)setup;
	return 0;
}

static uint64_t runner_syscalls(const struct bench_ops *ops, const void *state)
{
	return ops->syscalls != NULL ? ops->syscalls(state) : bench_calls;
}

/* Run until the budget is used up, or operations_max are done. */
static int runner_loop(const struct bench_report *report, const struct bench_ops *ops,
                       void *state, int64_t budget_ns, uint64_t operations_max,
                       struct bench_sample *sample)
{
	int64_t start_ns = bench_elapsed_ns(report->workload);
	int64_t last_ns = start_ns;
	uint64_t chunk = 8;

	sample->operations = 0;
	do {
		int rc = ops->run(state, chunk);
		int64_t now_ns = bench_elapsed_ns(report->workload);

		if (rc < 0)
			return rc;
		sample->operations += chunk;
		if (now_ns - last_ns < CHUNK_ENOUGH_NS && chunk < CHUNK_MAX)
			chunk *= 2;
		last_ns = now_ns;
		bench_signals_progress();
		if (bench_interrupted() != 0)
			return -EINTR;
	} while (last_ns - start_ns < budget_ns && sample->operations < operations_max);
	sample->elapsed_ns = (uint64_t)(last_ns - start_ns);
	return 0;
}

static int runner_measure(const struct bench_report *report, const struct bench_ops *ops,
                          void *state, int64_t budget_ns, struct bench_sample *sample)
{
	uint64_t warm_up = 2 * (uint64_t)report->options->n + 1000;
	int64_t warm_up_ns = budget_ns / 10;
	uint64_t before;
	uint64_t after;
	int rc;

	if (warm_up_ns < WARM_UP_NS)
		warm_up_ns = WARM_UP_NS;
	rc = runner_loop(report, ops, state, warm_up_ns, warm_up, sample);
	if (rc < 0)
		return rc;
	before = runner_syscalls(ops, state);
	rc = runner_loop(report, ops, state, budget_ns, UINT64_MAX, sample);
	if (rc < 0)
		return rc;
	after = runner_syscalls(ops, state);
	sample->syscalls = after == BENCH_UNKNOWN ? BENCH_UNKNOWN : after - before;
	return 0;
}

/* Phases one after the other, each with its part of the budget. */
static int runner_phases(const struct bench_report *report, const struct bench_ops *ops,
                         void *state, int64_t budget_ns, struct bench_sample *samples)
{
	int rc = 0;

	for (int i = 0; i < report->phases_len && rc >= 0; i++) {
		if (ops->phase != NULL)
			rc = ops->phase(state, i);
		if (rc >= 0)
			rc = runner_measure(report, ops, state,
			                    budget_ns / report->phases_len, &samples[i]);
	}
	return rc;
}

/* BENCH_UNKNOWN and anything is BENCH_UNKNOWN. */
static uint64_t runner_add(uint64_t a, uint64_t b)
{
	return a == BENCH_UNKNOWN || b == BENCH_UNKNOWN ? BENCH_UNKNOWN : a + b;
}

static void runner_sum(struct bench_sample *sums, const struct bench_sample *samples,
                       int count)
{
	for (int i = 0; i < count; i++) {
		sums[i].operations += samples[i].operations;
		sums[i].elapsed_ns += samples[i].elapsed_ns;
		sums[i].syscalls = runner_add(sums[i].syscalls, samples[i].syscalls);
		sums[i].bytes = samples[i].bytes;
	}
}

/* A pass in steps; used: memory, before the variant was opened. */
static int runner_steps(const struct bench_report *report, const struct bench_ops *ops,
                        void *state, uint64_t used, struct bench_sample *samples)
{
	for (int i = 0; i < report->phases_len; i++) {
		int rc = ops->phase != NULL ? ops->phase(state, i) : 0;
		uint64_t calls = runner_syscalls(ops, state);
		int64_t start_ns = bench_elapsed_ns(report->workload);
		int64_t done = rc < 0 ? rc : ops->step(state, i);
		uint64_t after;

		if (done < 0)
			return (int)done;
		samples[i].elapsed_ns = (uint64_t)(bench_elapsed_ns(report->workload) - start_ns);
		samples[i].operations = (uint64_t)done;
		after = runner_syscalls(ops, state);
		samples[i].syscalls = calls == BENCH_UNKNOWN || after == BENCH_UNKNOWN ||
		                      after < calls /* those of what was closed are gone */
			? BENCH_UNKNOWN : after - calls;
		after = report->workload->tells_bytes ? bench_memory_used() : 0;
		samples[i].bytes = used > 0 && after > used ? after - used : 0;
		bench_signals_progress();
	}
	return 0;
}

/*
 * Passes through all phases until the budget is used up, but at least one, and
 * one before that only warms up: after it the memory is there.
 */
static int runner_passes(const struct bench_report *report, const struct bench_ops *ops,
                         void *state, int64_t budget_ns, uint64_t used,
                         struct bench_sample *sums)
{
	struct bench_sample samples[BENCH_PHASES_MAX];
	int64_t used_ns = 0;
	bool warm = false;

	do {
		int rc = ops->pass != NULL ? ops->pass(state, samples)
		                           : runner_steps(report, ops, state, used, samples);

		bench_signals_progress();
		if (rc < 0)
			return rc;
		if (bench_interrupted() != 0)
			return -EINTR;
		if (warm) {
			runner_sum(sums, samples, report->phases_len);
			for (int i = 0; i < report->phases_len; i++)
				used_ns += (int64_t)samples[i].elapsed_ns;
		}
		warm = true;
	} while (used_ns < budget_ns);
	return 0;
}

/* One turn of one variant, whose results begin at `results`. */
static int runner_turn(const struct bench_report *report, void *setup,
                       struct bench_result *results, int round)
{
	const struct bench_options *options = report->options;
	const struct bench_ops *ops = results->ops;
	int64_t budget_ns = (int64_t)(options->seconds / options->rounds * 1e9);
	struct bench_sample samples[BENCH_PHASES_MAX] = { 0 };
	void *state = calloc(1, ops->size);
	uint64_t used = bench_memory_used();
	int rc = state == NULL ? -ENOMEM : ops->open(state, setup, &results->way);

	if (rc >= 0 && (ops->pass != NULL || ops->step != NULL))
		rc = runner_passes(report, ops, state, budget_ns, used, samples);
	else if (rc >= 0)
		rc = runner_phases(report, ops, state, budget_ns, samples);
	if (state != NULL && ops->close != NULL)
		ops->close(state);
	free(state);
	for (int i = 0; i < report->phases_len && rc >= 0; i++) {
		results[i].rates[round] = (double)samples[i].operations * 1e9 /
		                          (double)samples[i].elapsed_ns;
		results[i].operations += samples[i].operations;
		results[i].syscalls = runner_add(results[i].syscalls,
		                                 samples[i].syscalls);
		results[i].bytes = samples[i].bytes;
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

static int runner_rounds(struct bench_report *report, void *setup)
{
	int rounds = report->options->rounds;
	int variants = report->results_len / report->phases_len;
	int turns = rounds * variants;

	for (int turn = 0; turn < turns; turn++) {
		int round = turn / variants;
		int index = (turn + round) % variants;
		struct bench_result *result =
			&report->results[index * report->phases_len];
		char doing[80];
		int rc;

		snprintf(doing, sizeof doing, "round %d of %d: %s", round + 1, rounds,
		         result->variant);
		bench_progress_show((double)turn / turns, report->start_ns, doing);
		rc = runner_turn(report, setup, result, round);
		if (rc < 0)
			return runner_fail(report, result->variant, rc);
	}
	bench_progress_clear();
	return 0;
}

static int runner_open(const struct bench_report *report, void *setup)
{
	const struct bench_workload *workload = report->workload;

	if (setup == NULL)
		return -ENOMEM;
	return workload->open != NULL ? workload->open(report->options, setup)
	                              : loop_field_open(setup, workload, report->options->n);
}

/* Everything between a valid set of options and complete results. */
static int runner_collect(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	void (*end)(void *setup) = workload->open != NULL ? workload->close : loop_field_close;
	void *setup = calloc(1, workload->setup_size + sizeof(struct loop_field));
	int exit_code = 1;
	int rc;

	report->start_ns = bench_now_ns();
	rc = runner_open(report, setup);
	if (rc < 0)
		bench_complain(workload, "cannot prepare %d %s: %s", report->options->n,
		               workload->items, strerror(-rc));
	else
		exit_code = runner_rounds(report, setup);
	if (setup != NULL && end != NULL)
		end(setup);
	free(setup);
	bench_progress_clear();
	return exit_code;
}

static int runner_report(struct bench_report *report)
{
	struct bench_output output;
	bool json_on_stdout = report->options->json != NULL &&
	                      strcmp(report->options->json, "-") == 0;
	int exit_code = bench_output_open(&output, report);

	if (exit_code != 0)
		return exit_code;
	exit_code = runner_collect(report);
	if (exit_code != 0) {
		bench_output_abandon(&output);
		return exit_code;
	}
	if (!json_on_stdout)
		bench_report_table(report, stdout);
	if (output.file != NULL)
		bench_report_json(report, output.file);
	return bench_output_commit(&output, report);
}

static int runner_allocate(struct bench_report *report)
{
	int rounds = report->options->rounds;

	for (int i = 0; i < report->results_len; i++) {
		report->results[i].rates = calloc((size_t)rounds, sizeof(double));
		if (report->results[i].rates == NULL) {
			bench_complain(report->workload, "%s", strerror(ENOMEM));
			return 1;
		}
	}
	return 0;
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
	struct bench_report report;
	int exit_code;

	memset(&report, 0, sizeof report);
	report.workload = workload;
	report.options = options;
	exit_code = runner_pin(&report);
	if (exit_code == 0)
		exit_code = bench_select_variants(&report);
	if (exit_code == 0)
		exit_code = bench_reserve_descriptors(&report);
	if (exit_code == 0)
		exit_code = runner_allocate(&report);
	if (exit_code == 0) {
		bench_signals_install(); /* before there is anything to clean up */
		exit_code = runner_report(&report);
		program_end_all();
		bench_signals_restore();
	}
	for (int i = 0; i < report.results_len; i++)
		free(report.results[i].rates);
	if (bench_interrupted() != 0)
		(void)raise(bench_interrupted()); /* the caller sees how we ended */
	return exit_code;
}
