/*
 * From the rounds to the numbers that are printed.
 *
 * Rates are medians of the rounds and ratios are quotients of these medians,
 * so that a reader can recompute every ratio from the table.  System calls per
 * operation are exact: all calls of all rounds over all operations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(const double *values, int count)
{
	double sorted[BENCH_ROUNDS_MAX];

	if (count < 1 || count > BENCH_ROUNDS_MAX)
		return NAN;
	memcpy(sorted, values, (size_t)count * sizeof *values);
	qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
	if (count % 2 == 1)
		return sorted[count / 2];
	return (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Of another variant, in the same phase. */
static double rate_of(const struct bench_report *report, const char *variant,
                      const char *phase)
{
	for (int i = 0; i < report->results_len; i++) {
		const struct bench_result *result = &report->results[i];

		if (result->phase == phase && strcmp(result->variant, variant) == 0)
			return bench_median(result->rates, report->options->rounds);
	}
	return NAN;
}

void bench_figures_get(const struct bench_report *report,
                       const struct bench_result *result,
                       struct bench_figures *figures)
{
	int rounds = report->options->rounds;

	figures->rate = bench_median(result->rates, rounds);
	figures->rate_min = result->rates[0];
	figures->rate_max = result->rates[0];
	for (int i = 1; i < rounds; i++) {
		figures->rate_min = fmin(figures->rate_min, result->rates[i]);
		figures->rate_max = fmax(figures->rate_max, result->rates[i]);
	}
	figures->ns_per_operation = 1e9 / figures->rate;
	figures->syscalls_per_operation =
		(double)result->syscalls / (double)result->operations;
	figures->bytes_per_item = result->bytes == 0 ? NAN
		: (double)result->bytes / report->options->n;
	for (int i = 0; i < BENCH_REFERENCES; i++)
		figures->ratios[i] =
			figures->rate / rate_of(report, report->workload->references[i],
			                        result->phase);
}
