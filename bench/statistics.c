/*
 * From the rounds to the numbers that are printed.
 *
 * Rates are medians of the rounds.  So are ratios: each round gives one, of two
 * turns that are a fraction of a second apart, so what else the machine does
 * strikes both alike; the quotient of two medians would lack that.  System calls
 * per operation are exact: all calls of all rounds over all operations.
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

static double median(const double *values, int count)
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

/* Another variant in the same phase; NULL: it was not measured. */
static const struct bench_result *statistics_reference(const struct bench_report *report,
                                                       const char *variant,
                                                       const char *phase)
{
	for (int i = 0; variant != NULL && i < report->results_len; i++) {
		const struct bench_result *result = &report->results[i];

		if (result->phase == phase && strcmp(result->variant, variant) == 0)
			return result;
	}
	return NULL;
}

static double statistics_ratio(const struct bench_report *report,
                               const struct bench_result *result, const char *variant)
{
	const struct bench_result *reference =
		statistics_reference(report, variant, result->phase);
	double ratios[BENCH_ROUNDS_MAX];
	int rounds = report->options->rounds;

	if (reference == NULL || rounds > BENCH_ROUNDS_MAX)
		return NAN;
	for (int i = 0; i < rounds; i++)
		ratios[i] = result->rates[i] / reference->rates[i];
	return median(ratios, rounds);
}

void bench_figures_get(const struct bench_report *report,
                       const struct bench_result *result,
                       struct bench_figures *figures)
{
	int rounds = report->options->rounds;

	figures->rate = median(result->rates, rounds);
	figures->rate_min = result->rates[0];
	figures->rate_max = result->rates[0];
	for (int i = 1; i < rounds; i++) {
		figures->rate_min = fmin(figures->rate_min, result->rates[i]);
		figures->rate_max = fmax(figures->rate_max, result->rates[i]);
	}
	figures->ns_per_operation = 1e9 / figures->rate;
	figures->syscalls_per_operation = result->syscalls == BENCH_UNKNOWN ? NAN
		: (double)result->syscalls / (double)result->operations;
	figures->bytes_per_item = result->bytes == 0 ? NAN
		: (double)result->bytes / report->options->n;
	for (int i = 0; i < BENCH_REFERENCES; i++)
		figures->ratios[i] = statistics_ratio(report, result,
		                                      report->workload->references[i]);
}
