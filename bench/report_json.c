/*
 * The report as JSON for programs.  Names of the per-operation fields follow
 * the workload's unit: reads_per_second, ns_per_read, syscalls_per_read; those
 * of ratios the variant they are taken to: ratio_raw_epoll.  What was not
 * measured is null.
 */
#include <math.h>
#include <stdio.h>

#include <xpoll.h>

#include "bench.h"

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
