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

static uint64_t runner_syscalls(const struct bench_ops *ops, const struct bench_turn *turn)
{
	return ops->syscalls != NULL ? ops->syscalls(turn) : loop_syscalls(&turn->loop);
}

/* BENCH_UNKNOWN and anything is BENCH_UNKNOWN. */
static uint64_t runner_add(uint64_t a, uint64_t b)
{
	return a == BENCH_UNKNOWN || b == BENCH_UNKNOWN ? BENCH_UNKNOWN : a + b;
}

/* Those since there were `before`; fewer: some are gone with what was closed. */
static uint64_t runner_more(uint64_t before, uint64_t after)
{
	return before == BENCH_UNKNOWN || after == BENCH_UNKNOWN || after < before
		? BENCH_UNKNOWN : after - before;
}

static int runner_prepare(const struct bench_ops *ops, struct bench_turn *turn, int phase)
{
	const int *active = turn->way->workload->active;
	int n = turn->way->options->n;

	turn->phase = phase;
	turn->active = active != NULL && active[phase] < n ? active[phase] : n;
	return ops->phase != NULL ? ops->phase(turn, phase) : 0;
}

/* Run until the budget is used up, or operations_max are done. */
static int runner_loop(const struct bench_workload *workload, const struct bench_ops *ops,
                       struct bench_turn *turn, int64_t budget_ns, uint64_t operations_max,
                       struct bench_sample *sample)
{
	int64_t start_ns = bench_elapsed_ns(workload);
	int64_t last_ns = start_ns;
	uint64_t chunk = 8;

	sample->operations = 0;
	do {
		int rc = ops->run(turn, chunk);
		int64_t now_ns = bench_elapsed_ns(workload);

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

/* Phases one after the other, each with its part of the budget, after a warm-up. */
static int runner_phases(const struct bench_report *report, const struct bench_ops *ops,
                         struct bench_turn *turn, int64_t budget_ns,
                         struct bench_sample *samples)
{
	uint64_t warm_up = 2 * (uint64_t)report->options->n + 1000;
	int rc = 0;

	budget_ns /= report->phases_len;
	for (int i = 0; i < report->phases_len && rc >= 0; i++) {
		int64_t warm_up_ns = budget_ns / 10 > WARM_UP_NS ? budget_ns / 10 : WARM_UP_NS;
		uint64_t before;

		rc = runner_prepare(ops, turn, i);
		if (rc >= 0)
			rc = runner_loop(report->workload, ops, turn, warm_up_ns, warm_up,
			                 &samples[i]);
		before = runner_syscalls(ops, turn);
		if (rc >= 0)
			rc = runner_loop(report->workload, ops, turn, budget_ns, UINT64_MAX,
			                 &samples[i]);
		samples[i].syscalls = runner_more(before, runner_syscalls(ops, turn));
	}
	return rc;
}

/* All phases once; used: memory, before the variant was opened. */
static int runner_steps(const struct bench_report *report, const struct bench_ops *ops,
                        struct bench_turn *turn, uint64_t used, struct bench_sample *samples)
{
	for (int i = 0; i < report->phases_len; i++) {
		struct bench_sample *sample = &samples[i];
		int rc = runner_prepare(ops, turn, i);
		uint64_t calls = runner_syscalls(ops, turn);
		int64_t start_ns = bench_elapsed_ns(report->workload);
		int64_t done;
		uint64_t now;

		*sample = (struct bench_sample){ 0 };
		turn->sample = sample;
		done = rc < 0 ? rc : ops->step(turn, i);
		if (done < 0)
			return (int)done;
		sample->operations = (uint64_t)done;
		if (sample->elapsed_ns == 0) {
			sample->elapsed_ns = (uint64_t)(bench_elapsed_ns(report->workload) -
			                                start_ns);
			sample->syscalls = runner_more(calls, runner_syscalls(ops, turn));
		}
		now = report->workload->tells_bytes ? bench_memory_used() : 0;
		sample->bytes = used > 0 && now > used ? now - used : 0;
		bench_signals_progress();
	}
	return 0;
}

/*
 * Passes through all phases until the budget is used up, but at least one, and
 * one before that only warms up: after it the memory is there.
 */
static int runner_passes(const struct bench_report *report, const struct bench_ops *ops,
                         struct bench_turn *turn, int64_t budget_ns, uint64_t used,
                         struct bench_sample *sums)
{
	struct bench_sample samples[BENCH_PHASES_MAX];
	int64_t used_ns = 0;

	for (int pass = 0; pass < 2 || used_ns < budget_ns; pass++) {
		int rc = runner_steps(report, ops, turn, used, samples);

		if (rc < 0 || bench_interrupted() != 0)
			return rc < 0 ? rc : -EINTR;
		for (int i = 0; i < report->phases_len && pass > 0; i++) {
			sums[i].operations += samples[i].operations;
			sums[i].elapsed_ns += samples[i].elapsed_ns;
			sums[i].syscalls = runner_add(sums[i].syscalls, samples[i].syscalls);
			sums[i].bytes = samples[i].bytes;
			used_ns += (int64_t)samples[i].elapsed_ns;
		}
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
		rc = ops->run != NULL ? runner_phases(report, ops, turn, budget_ns, samples)
		                      : runner_passes(report, ops, turn, budget_ns, used, samples);
	if (ops->close != NULL)
		ops->close(turn);
	loop_close(&turn->loop);
	return rc;
}

static int runner_turn(const struct bench_report *report, void *setup,
                       struct bench_contender *contender, int round)
{
	const struct bench_ops *ops = contender->ops;
	struct bench_sample samples[BENCH_PHASES_MAX] = { 0 };
	struct bench_turn *turn = calloc(1, ops->size > 0 ? ops->size : sizeof *turn);
	int rc;

	if (turn == NULL)
		return -ENOMEM;
	turn->way = &contender->way;
	turn->field = setup;
	rc = runner_measure(report, ops, turn, samples);
	free(turn);
	for (int i = 0; i < report->phases_len && rc >= 0; i++) {
		struct bench_result *result = &contender->results[i];

		result->rates[round] = (double)samples[i].operations * 1e9 /
		                       (double)samples[i].elapsed_ns;
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

static int runner_rounds(struct bench_report *report, void *setup)
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
		rc = runner_turn(report, setup, contender, round);
		if (rc < 0)
			rc = runner_fail(report, contender->name, rc);
	}
	bench_progress_clear();
	return rc;
}

/* What all variants have n of; 0 or -errno. */
static int runner_open(const struct bench_report *report, struct bench_field *field)
{
	const struct bench_workload *workload = report->workload;
	int n = report->options->n;
	int ends = workload->both_ends ? 2 : 1;
	int rc = 0;

	field->len = n * ends + workload->targets_more;
	if (workload->kind != BENCH_NOTHING) {
		field->targets = calloc((size_t)field->len, sizeof *field->targets);
		rc = field->targets == NULL ? -ENOMEM : 0;
	}
	if (rc == 0 && workload->kind < BENCH_TARGETS)
		rc = bench_pairs_open(workload->kind, n, &field->pairs);
	for (int i = 0; rc == 0 && i < field->pairs.len * ends; i++) {
		const struct bench_pair *pair = &field->pairs.at[i / ends];

		field->targets[i] = i % ends == 0
			? (struct loop_target){ pair->read_fd, POLLIN | workload->events }
			: (struct loop_target){ pair->write_fd, POLLOUT };
	}
	return rc;
}

static void runner_close(struct bench_field *field)
{
	if (field->pairs.at != NULL)
		bench_pairs_close(&field->pairs);
	free(field->targets);
}

/* Everything between a valid set of options and complete results. */
static int runner_collect(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	struct bench_field *field = calloc(1, workload->setup_size + sizeof *field);
	int rc = field == NULL ? -ENOMEM : runner_open(report, field);
	bool is_open = rc == 0;
	int exit_code = 1;

	if (is_open && workload->open != NULL)
		rc = workload->open(report->options, field);
	if (rc < 0)
		bench_complain(workload, "cannot prepare %d %s: %s", report->options->n,
		               workload->items, strerror(-rc));
	else
		exit_code = runner_rounds(report, field);
	if (is_open && workload->close != NULL)
		workload->close(field);
	if (field != NULL)
		runner_close(field);
	free(field);
	return exit_code;
}

static int runner_report(struct bench_report *report)
{
	struct bench_output output;
	const char *json = report->options->json;
	int exit_code = bench_output_open(&output, report);

	if (exit_code != 0)
		return exit_code;
	exit_code = runner_collect(report);
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
	static struct bench_report report; /* it is large */
	int exit_code;

	report.workload = workload;
	report.options = options;
	exit_code = runner_pin(&report);
	if (exit_code == 0)
		exit_code = bench_select_variants(&report);
	if (exit_code == 0)
		exit_code = bench_reserve_descriptors(&report);
	if (exit_code == 0) {
		bench_signals_install(); /* before there is anything to clean up */
		exit_code = runner_report(&report);
		bench_signals_restore();
	}
	if (bench_interrupted() != 0)
		(void)raise(bench_interrupted()); /* the caller sees how we ended */
	return exit_code;
}
