/*
 * From the rounds to the numbers, and those as a table for people or as JSON.
 *
 * Rates are medians of the rounds.  So are ratios: each round gives one, of two
 * turns that are a fraction of a second apart, so what else the machine does
 * strikes both alike; the quotient of two medians would lack that.  System calls
 * per operation are exact: all calls of all rounds over all operations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

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
		if (result->rates[i] < figures->rate_min)
			figures->rate_min = result->rates[i];
		if (result->rates[i] > figures->rate_max)
			figures->rate_max = result->rates[i];
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

/* --- A table --------------------------------------------------------------- */

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
	fprintf(to, "\n%-14s %11s %9s %11s", phase != NULL ? phase : "variant", names[0],
	        names[1], names[2]);
	for (int i = 0; i < BENCH_REFERENCES && workload->references[i] != NULL; i++)
		fprintf(to, " %*s%s", table_ratio_width(workload, i) -
		                      (int)strlen(workload->references[i]),
		        "x ", workload->references[i]);
	fprintf(to, "%s spread\n", workload->tells_bytes ? "  bytes" : "");
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
	fprintf(to, "%-14s %11s %9s %11s", name, table_grouped(figures.rate, texts[0]),
	        table_time(figures.ns_per_operation, texts[1]),
	        table_number(figures.syscalls_per_operation, 2));
	for (int i = 0; i < BENCH_REFERENCES && workload->references[i] != NULL; i++)
		fprintf(to, " %*s", table_ratio_width(workload, i),
		        table_ratio(figures.ratios[i], texts[0]));
	if (workload->tells_bytes)
		fprintf(to, " %6s", table_number(figures.bytes_per_item, 0));
	fprintf(to, " %4.0f %%\n",
	        100 * (figures.rate_max - figures.rate_min) /
	                (figures.rate > 1 ? figures.rate : 1));
}

/* In one line: libraries by their packages, then programs. */
static void table_missing(const struct bench_report *report, FILE *to)
{
	const char *before = "not here, so not measured: ", *end = "";

	for (int i = 0; i < report->missing_len; i++) {
		const struct bench_library *library = report->missing[i].library;

		if (library != NULL)
			fprintf(to, "%s%s (Debian: %s)", before, report->missing[i].variant,
			        library->package);
		else
			fprintf(to, "%s%s", before, report->missing[i].variant);
		before = ", ";
		end = "\n";
	}
	fputs(end, to);
}

static void table_notes(const struct bench_report *report, FILE *to)
{
	bool has_default = false;

	for (int i = 0; i < report->results_len; i++)
		has_default = has_default || report->results[i].is_default;
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
	table_missing(report, to);
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

/* --- JSON ------------------------------------------------------------------ */

/*
 * Names of the per-operation fields follow the workload's unit: reads_per_second,
 * ns_per_read, syscalls_per_read; those of ratios the variant they are taken to:
 * ratio_raw_epoll.  What was not measured is null.
 */
static void json_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			fprintf(to, "\\%c", byte);
		else if (byte < 0x20 || byte >= 0x7f)
			fprintf(to, "\\u%04x", byte);
		else
			fputc(byte, to);
	}
	fputc('"', to);
}

static void json_number(FILE *to, double value)
{
	if (isfinite(value))
		fprintf(to, "%.10g", value);
	else
		fputs("null", to);
}

static void json_machine(FILE *to)
{
	struct bench_machine machine;

	bench_machine_get(&machine);
	fputs("  \"machine\": { \"kernel\": ", to);
	json_string(to, machine.kernel);
	fputs(", \"cpu\": ", to);
	json_string(to, machine.cpu);
	fprintf(to, ", \"cores\": %d },\n", machine.cores);
}

/* "raw-epoll": its ratio is called ratio_raw_epoll. */
static void json_ratio(FILE *to, const char *reference, double value)
{
	fputs(", \"ratio_", to);
	for (; *reference != '\0'; reference++)
		fputc(*reference == '-' ? '_' : *reference, to);
	fputs("\": ", to);
	json_number(to, value);
}

/* Variants that could not be measured here. */
static void json_missing(FILE *to, const struct bench_report *report)
{
	fputs("  \"missing\": [", to);
	for (int i = 0; i < report->missing_len; i++) {
		fputs(i > 0 ? ", " : "", to);
		json_string(to, report->missing[i].variant);
	}
	fputs("],\n", to);
}

static void json_result(FILE *to, const struct bench_report *report,
                        const struct bench_result *result)
{
	const char *unit = report->workload->unit;
	struct bench_figures figures;

	bench_figures_get(report, result, &figures);
	fputs("    { \"variant\": ", to);
	json_string(to, result->variant);
	if (result->phase != NULL) {
		fputs(", \"phase\": ", to);
		json_string(to, result->phase);
	}
	fprintf(to, ", \"default\": %s", result->is_default ? "true" : "false");
	fprintf(to, ",\n      \"%ss_per_second\": ", unit);
	json_number(to, figures.rate);
	fprintf(to, ", \"ns_per_%s\": ", unit);
	json_number(to, figures.ns_per_operation);
	fprintf(to, ", \"syscalls_per_%s\": ", unit);
	json_number(to, figures.syscalls_per_operation);
	if (report->workload->tells_bytes) {
		fprintf(to, ", \"bytes_per_%s\": ", unit);
		json_number(to, figures.bytes_per_item);
	}
	for (int i = 0; i < BENCH_REFERENCES && report->workload->references[i]; i++)
		json_ratio(to, report->workload->references[i], figures.ratios[i]);
	fprintf(to, ",\n      \"%ss\": %llu, \"spread\": { \"min\": ", unit,
	        (unsigned long long)result->operations);
	json_number(to, figures.rate_min);
	fputs(", \"max\": ", to);
	json_number(to, figures.rate_max);
	fputs(" } }", to);
}

void bench_report_json(const struct bench_report *report, FILE *to)
{
	unsigned version = xpoll_version();

	fputs("{\n  \"benchmark\": ", to);
	json_string(to, report->workload->name);
	fprintf(to, ",\n  \"version\": \"%u.%u.%u\",\n", version >> 16,
	        version >> 8 & 0xff, version & 0xff);
	fprintf(to, "  \"n\": %d,\n  \"seconds\": ", report->options->n);
	json_number(to, report->options->seconds);
	fprintf(to, ",\n  \"rounds\": %d,\n  \"clock\": \"%s\",\n",
	        report->options->rounds,
	        bench_by_processor(report->workload) ? "processor" : "monotonic");
	json_machine(to);
	json_missing(to, report);
	fputs("  \"results\": [\n", to);
	for (int i = 0; i < report->results_len; i++) {
		json_result(to, report, &report->results[i]);
		fputs(i + 1 < report->results_len ? ",\n" : "\n", to);
	}
	fputs("  ]\n}\n", to);
}
