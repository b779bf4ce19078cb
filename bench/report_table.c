/*
 * The report as a table for people.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define NUMBER_SIZE 32

/* 1234567.8 becomes "1,234,568". */
static const char *table_grouped(double value, char text[NUMBER_SIZE])
{
	char digits[NUMBER_SIZE];
	int len = snprintf(digits, sizeof digits, "%.0f", value);
	int at = 0;

	for (int i = 0; i < len && at < NUMBER_SIZE - 2; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

static const char *table_ratio(double value, char text[NUMBER_SIZE])
{
	if (isnan(value))
		memcpy(text, "-", sizeof "-");
	else
		snprintf(text, NUMBER_SIZE, "%.*f", value < 0.1 ? 4 : 2, value);
	return text;
}

static void table_head(const struct bench_report *report, FILE *to)
{
	const struct bench_options *options = report->options;
	const char *unit = report->workload->unit;
	struct bench_machine machine;
	char rate[NUMBER_SIZE];
	char time[NUMBER_SIZE];
	char calls[NUMBER_SIZE];

	bench_machine_get(&machine);
	fprintf(to, "%s: %d %s, %d x %.2f s per variant, median of the rounds\n",
	        report->workload->name, options->n, report->workload->items,
	        options->rounds, options->seconds / options->rounds);
	fprintf(to, "%s, %s, %d cores\n\n", machine.kernel, machine.cpu, machine.cores);
	snprintf(rate, sizeof rate, "%ss/s", unit);
	snprintf(time, sizeof time, "ns/%s", unit);
	snprintf(calls, sizeof calls, "calls/%s", unit);
	fprintf(to, "%-15s %12s %10s %10s %10s %8s  %s\n", "variant", rate, time, calls,
	        "x " BENCH_BASELINE, "x limit", "spread");
}

static void table_row(const struct bench_report *report,
                      const struct bench_result *result, FILE *to)
{
	struct bench_figures figures;
	char name[sizeof result->variant + 2];
	char texts[5][NUMBER_SIZE];

	bench_figures_get(report, result, &figures);
	snprintf(name, sizeof name, "%s%s", result->variant,
	         result->is_default ? " *" : "");
	fprintf(to, "%-15s %12s %10s %10.2f %11s %8s  %s..%s\n", name,
	        table_grouped(figures.rate, texts[0]),
	        table_grouped(figures.ns_per_operation, texts[1]),
	        figures.syscalls_per_operation,
	        table_ratio(figures.ratio_baseline, texts[2]),
	        table_ratio(figures.ratio_limit, texts[3]),
	        table_grouped(figures.rate_min, texts[4]),
	        table_grouped(figures.rate_max, texts[0]));
}

void bench_report_table(const struct bench_report *report, FILE *to)
{
	bool has_default = false;

	table_head(report, to);
	for (int i = 0; i < report->results_len; i++) {
		table_row(report, &report->results[i], to);
		has_default = has_default || report->results[i].is_default;
	}
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
}
