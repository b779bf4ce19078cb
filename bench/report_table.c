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

/* With some decimals; "-" if it is not known.  Valid until the next call. */
static const char *table_number(double value, int decimals)
{
	static char text[NUMBER_SIZE];

	if (isnan(value))
		return "-";
	snprintf(text, sizeof text, "%.*f", decimals, value);
	return text;
}

static int table_ratio_width(const struct bench_workload *workload, int reference)
{
	int len = (int)strlen(workload->references[reference]) + 2;

	return len > 7 ? len : 7;
}

static void table_head(const struct bench_report *report, FILE *to)
{
	const struct bench_options *options = report->options;
	struct bench_machine machine;

	bench_machine_get(&machine);
	fprintf(to, "%s: %d %s, %d x %.2f s per variant, median of the rounds%s\n",
	        report->workload->name, options->n, report->workload->items,
	        options->rounds, options->seconds / options->rounds,
	        bench_by_processor(report->workload) ? ", processor time" : "");
	fprintf(to, "%s, %s, %d cores\n", machine.kernel, machine.cpu, machine.cores);
}

static void table_columns(const struct bench_report *report, const char *phase,
                          FILE *to)
{
	const struct bench_workload *workload = report->workload;
	char names[3][NUMBER_SIZE];

	snprintf(names[0], NUMBER_SIZE, "%ss/s", workload->unit);
	snprintf(names[1], NUMBER_SIZE, "ns/%s", workload->unit);
	snprintf(names[2], NUMBER_SIZE, "calls/%s", workload->unit);
	fprintf(to, "\n%-15s %12s %12s %15s", phase != NULL ? phase : "variant", names[0],
	        names[1], names[2]);
	for (int i = 0; i < BENCH_REFERENCES && workload->references[i] != NULL; i++)
		fprintf(to, " %*s%s", table_ratio_width(workload, i) -
		                      (int)strlen(workload->references[i]),
		        "x ", workload->references[i]);
	fprintf(to, "%s  spread\n", workload->tells_bytes ? "  bytes" : "");
}

/* What one operation takes: whole nanoseconds, if they are not few. */
static const char *table_time(double ns, char text[NUMBER_SIZE])
{
	if (ns >= 100)
		return table_grouped(ns, text);
	snprintf(text, NUMBER_SIZE, "%.1f", ns);
	return text;
}

static void table_row(const struct bench_report *report,
                      const struct bench_result *result, FILE *to)
{
	const struct bench_workload *workload = report->workload;
	struct bench_figures figures;
	char name[sizeof result->variant + 2];
	char texts[2][NUMBER_SIZE];

	bench_figures_get(report, result, &figures);
	snprintf(name, sizeof name, "%s%s", result->variant,
	         result->is_default ? " *" : "");
	fprintf(to, "%-15s %12s %12s %15s", name, table_grouped(figures.rate, texts[0]),
	        table_time(figures.ns_per_operation, texts[1]),
	        table_number(figures.syscalls_per_operation, 2));
	for (int i = 0; i < BENCH_REFERENCES && workload->references[i] != NULL; i++)
		fprintf(to, " %*s", table_ratio_width(workload, i),
		        table_ratio(figures.ratios[i], texts[0]));
	if (workload->tells_bytes)
		fprintf(to, " %6s", table_number(figures.bytes_per_item, 0));
	fprintf(to, "  %s..%s\n", table_grouped(figures.rate_min, texts[0]),
	        table_grouped(figures.rate_max, texts[1]));
}

static void table_notes(const struct bench_report *report, FILE *to)
{
	bool has_default = false;

	for (int i = 0; i < report->results_len; i++)
		has_default = has_default || report->results[i].is_default;
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
	for (int i = 0; i < report->missing_len; i++) {
		const struct bench_library *library = report->missing[i].library;

		if (library != NULL)
			fprintf(to, "%s was not measured: %s is not here (Debian: %s)\n",
			        report->missing[i].variant, library->file,
			        library->package);
		else
			fprintf(to, "%s was not measured: no program of that name in "
			        "$XPOLL_BENCH_PEERS (bench/peers)\n",
			        report->missing[i].variant);
	}
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
