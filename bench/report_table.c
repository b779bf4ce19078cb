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
	struct bench_machine machine;

	bench_machine_get(&machine);
	fprintf(to, "%s: %d %s, %d x %.2f s per variant, median of the rounds\n",
	        report->workload->name, options->n, report->workload->items,
	        options->rounds, options->seconds / options->rounds);
	fprintf(to, "%s, %s, %d cores\n", machine.kernel, machine.cpu, machine.cores);
}

static void table_columns(const struct bench_report *report, const char *phase,
                          FILE *to)
{
	const struct bench_workload *workload = report->workload;
	char names[5][NUMBER_SIZE];

	snprintf(names[0], NUMBER_SIZE, "%ss/s", workload->unit);
	snprintf(names[1], NUMBER_SIZE, "ns/%s", workload->unit);
	snprintf(names[2], NUMBER_SIZE, "calls/%s", workload->unit);
	for (int i = 0; i < BENCH_REFERENCES; i++)
		snprintf(names[3 + i], NUMBER_SIZE, "x %s", workload->references[i]);
	fprintf(to, "\n%-15s %12s %10s %11s %11s %10s", phase != NULL ? phase : "variant",
	        names[0], names[1], names[2], names[3], names[4]);
	fprintf(to, "%s  spread\n", phase != NULL ? "  bytes" : "");
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
	fprintf(to, "%-15s %12s %10s %11.2f %11s %10s", name,
	        table_grouped(figures.rate, texts[0]),
	        table_grouped(figures.ns_per_operation, texts[1]),
	        figures.syscalls_per_operation,
	        table_ratio(figures.ratios[0], texts[2]),
	        table_ratio(figures.ratios[1], texts[3]));
	if (result->phase != NULL && isnan(figures.bytes_per_item))
		fprintf(to, " %6s", "-");
	else if (result->phase != NULL)
		fprintf(to, " %6.0f", figures.bytes_per_item);
	fprintf(to, "  %s..%s\n", table_grouped(figures.rate_min, texts[4]),
	        table_grouped(figures.rate_max, texts[0]));
}

static void table_notes(const struct bench_report *report, FILE *to)
{
	bool has_default = false;

	for (int i = 0; i < report->results_len; i++)
		has_default = has_default || report->results[i].is_default;
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
	for (int i = 0; i < report->missing_len; i++)
		fprintf(to, "%s was not measured: %s is not here (Debian: %s)\n",
		        report->missing[i]->name, report->missing[i]->library->file,
		        report->missing[i]->library->package);
}

void bench_report_table(const struct bench_report *report, FILE *to)
{
	table_head(report, to);
	for (int phase = 0; phase < report->phases_len; phase++) {
		table_columns(report, report->results[phase].phase, to);
		for (int i = phase; i < report->results_len; i += report->phases_len)
			table_row(report, &report->results[i], to);
	}
	table_notes(report, to);
}
