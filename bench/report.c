/*
 * Computes the results from the rounds, and writes them as a table for people or as JSON into a
 * file.
 *
 * The spread of a row is the distance between the first and the third quartile of its rates, as a
 * part of their median.  A row whose spread exceeds SPREAD_MAX is no result.
 *
 * Rates are medians of the rounds.  So are ratios: each round gives one, of two turns that are a
 * fraction of a second apart, so that other programs of the machine affect both alike; the quotient
 * of two medians would lack that.  System calls per operation are exact: all calls of all rounds
 * divided by all operations.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loop.h"

#define SPREAD_MAX 0.05

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median, and sorts the values. */
static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare_doubles);
	if (count % 2 == 1)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}

/*
 * Returns a quantile of sorted values; part: 0 to 1.  Interpolates between two values if necessary.
 */
static double quantile(const double *values, int count, double part)
{
	double at = part * (count - 1);
	int below = (int)at;

	return below + 1 < count
		? values[below] + (at - below) * (values[below + 1] - values[below])
		: values[below];
}

/*
 * Returns the median ratio of a variant's rates to those of the variant named `variant` in the same
 * phase and round; NAN: that variant was not measured.
 */
static double ratio_to(const struct bench_report *report, const struct bench_result *result,
                       int phase, const char *variant)
{
	double ratios[BENCH_ROUNDS_MAX];
	int rounds = report->options->rounds;

	for (int i = 0; i < report->contenders_len; i++) {
		const struct bench_contender *reference = &report->contenders[i];

		if (strcmp(reference->name, variant) != 0)
			continue;
		for (int k = 0; k < rounds; k++)
			ratios[k] = result->rates[k] / reference->results[phase].rates[k];
		return median(ratios, rounds);
	}
	return NAN;
}

/*
 * --- A row: its columns in the table and in the JSON ----------------------------
 *
 * A new number of each result is added in row_of, and nowhere else.
 */

#define COLUMNS_MAX (5 + BENCH_REFERENCES)

struct column {
	char head[32]; /* in the table: "ns/read" */
	char key[48];  /* in the JSON: "ns_per_read" */
	double value;  /* NAN: there is none */
	int decimals;
};

struct row {
	struct column columns[COLUMNS_MAX];
	int len;
	double rate_min;
	double rate_max;
	double spread;
	double calls_min; /* system calls per operation, of all rounds */
	double calls_max;
};

/*
 * Add a number to a row.  The names in the table and in the JSON have two parts each, one of which
 * is the workload's unit.
 */
static void row_add(struct row *row, double value, int decimals, const char *const head[2],
                    const char *const key[2])
{
	struct column *column = &row->columns[row->len++];

	column->value = value;
	column->decimals = decimals;
	snprintf(column->head, sizeof column->head, "%s%s", head[0], head[1]);
	snprintf(column->key, sizeof column->key, "%s%s", key[0], key[1]);
	for (char *at = column->key; *at != '\0'; at++)
		*at = *at == '-' ? '_' : *at;
}

#define TWO(a, b) ((const char *const[2]){ a, b })

static struct row row_of(const struct bench_report *report,
                         const struct bench_contender *contender, int phase)
{
	const struct bench_workload *workload = report->workload;
	const struct bench_result *result = &contender->results[phase];
	const char *unit = workload->unit;
	double calls = result->syscalls == BENCH_UNKNOWN ? NAN
		: (double)result->syscalls / (double)result->operations;
	int items = workload->phases[phase].whole ? 1 : report->options->n;
	double bytes = result->bytes == 0 ? NAN : (double)result->bytes / items;
	double rates[BENCH_ROUNDS_MAX];
	struct row row = { .len = 0 };
	int rounds = report->options->rounds;
	double rate;

	memcpy(rates, result->rates, sizeof rates);
	rate = median(rates, rounds);
	row.rate_min = rates[0];
	row.rate_max = rates[rounds - 1];
	row.spread = (quantile(rates, rounds, 0.75) - quantile(rates, rounds, 0.25)) / rate;
	row.calls_min = row.calls_max = result->calls[0];
	for (int i = 1; i < rounds; i++) {
		if (result->calls[i] < row.calls_min)
			row.calls_min = result->calls[i];
		if (result->calls[i] > row.calls_max)
			row.calls_max = result->calls[i];
	}
	row_add(&row, rate, 0, TWO(unit, "s/s"), TWO(unit, "s_per_second"));
	row_add(&row, 1e9 / rate, rate > 1e7 ? 1 : 0, TWO("ns/", unit), TWO("ns_per_", unit));
	row_add(&row, calls, 2, TWO("calls/", unit), TWO("syscalls_per_", unit));
	if (workload->tells_wakes)
		row_add(&row, (double)result->wakes / (double)result->operations, 2,
		        TWO("wakes/", unit), TWO("wakes_per_", unit));
	if (workload->tells_bytes)
		row_add(&row, bytes, 0, TWO("bytes", ""), TWO("bytes_per_", unit));
	for (int i = 0; i < BENCH_REFERENCES && workload->references[i] != NULL; i++) {
		const char *name = workload->references[i];
		double ratio = ratio_to(report, result, phase, name);

		row_add(&row, ratio, ratio < 0.1 ? 4 : 2, TWO("x ", name), TWO("ratio_", name));
	}
	return row;
}

/* --- A table --------------------------------------------------------------- */

/*
 * Print a cell: with the column's decimals, and large numbers with separators, such as 1,234,568;
 * NAN as "-".
 */
static void table_cell(FILE *to, const struct column *column)
{
	char digits[32];
	char text[48];
	int len = snprintf(digits, sizeof digits, "%.*f", column->decimals, column->value);
	int whole = (int)strcspn(digits, ".");
	int width = (int)strlen(column->head);
	int at = 0;

	for (int i = 0; i < len; i++) {
		if (column->decimals == 0 && i > 0 && i < whole && (whole - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	fprintf(to, " %*s", width < 11 ? 11 : width, isnan(column->value) ? "-" : text);
}

static void table_head(const struct bench_report *report, FILE *to)
{
	const struct bench_options *options = report->options;
	struct bench_machine machine;
	char turn[32];

	bench_machine_get(&machine);
	if (options->operations > 0)
		snprintf(turn, sizeof turn, "%d operations", options->operations);
	else
		snprintf(turn, sizeof turn, "%.2f s", options->seconds / options->rounds);
	fprintf(to, "%s: %d %s, %d x %s per variant, median of the rounds%s\n",
	        report->workload->name, options->n, report->workload->items,
	        options->rounds, turn,
	        report->workload->by_clock ? "" : ", processor time");
	fprintf(to, "%s, %s, %d cores\n", machine.kernel, machine.cpu, machine.cores);
}

static void table_phase(const struct bench_report *report, int phase, FILE *to)
{
	const char *name_of_phase = report->workload->phases[phase].name;

	fprintf(to, "\n%-14s", name_of_phase != NULL ? name_of_phase : "variant");
	for (int i = 0; i < report->contenders_len; i++) {
		const struct bench_contender *contender = &report->contenders[i];
		struct row row = row_of(report, contender, phase);
		char name[sizeof contender->name + 2];

		for (int k = 0; k < row.len && i == 0; k++)
			fprintf(to, " %11s", row.columns[k].head);
		snprintf(name, sizeof name, "%s%s", contender->name,
		         contender->is_default ? " *" : "");
		fprintf(to, "%s%-14s", i == 0 ? " spread\n" : "", name);
		for (int k = 0; k < row.len; k++)
			table_cell(to, &row.columns[k]);
		fprintf(to, " %4.1f %%%s\n", 100 * row.spread,
		        row.spread > SPREAD_MAX ? ": no result" : "");
	}
}

/*
 * Print the missing variants in one line: libraries with the names of their packages, then
 * programs.
 */
static void table_missing(const struct bench_report *report, FILE *to)
{
	for (int i = 0; i < report->missing_len; i++) {
		const struct bench_library *library = report->missing[i].library;

		fprintf(to, "%s%s", i == 0 ? "not here, so not measured: " : ", ",
		        report->missing[i].variant);
		if (library != NULL)
			fprintf(to, " (Debian: %s)", library->package);
	}
	if (report->missing_len > 0)
		fputc('\n', to);
}

void bench_report_table(const struct bench_report *report, FILE *to)
{
	bool has_default = false;

	table_head(report, to);
	for (int phase = 0; phase < report->phases_len; phase++)
		table_phase(report, phase, to);
	for (int i = 0; i < report->contenders_len; i++)
		has_default = has_default || report->contenders[i].is_default;
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
	table_missing(report, to);
}

/* --- JSON ------------------------------------------------------------------ */

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

static void json_number(FILE *to, const char *key, double value)
{
	if (isfinite(value))
		fprintf(to, ", \"%s\": %.10g", key, value);
	else
		fprintf(to, ", \"%s\": null", key);
}

static void json_head(const struct bench_report *report, FILE *to)
{
	const struct bench_options *options = report->options;
	struct bench_machine machine;
	unsigned version = xpoll_version();

	fputs("{\n  \"benchmark\": ", to);
	json_string(to, report->workload->name);
	fputs(", \"summary\": ", to);
	json_string(to, report->workload->summary);
	fprintf(to, ",\n  \"version\": \"%u.%u.%u\",\n  \"n\": %d", version >> 16,
	        version >> 8 & 0xff, version & 0xff, options->n);
	json_number(to, "seconds", options->seconds);
	fprintf(to, ",\n  \"rounds\": %d,\n  \"clock\": \"%s\",\n", options->rounds,
	        report->workload->by_clock ? "monotonic" : "processor");
	bench_machine_get(&machine);
	fputs("  \"machine\": { \"kernel\": ", to);
	json_string(to, machine.kernel);
	fputs(", \"cpu\": ", to);
	json_string(to, machine.cpu);
	fprintf(to, ", \"cores\": %d },\n  \"missing\": [", machine.cores);
	for (int i = 0; i < report->missing_len; i++) {
		fputs(i > 0 ? ", " : "", to);
		json_string(to, report->missing[i].variant);
	}
	fputs("],\n", to);
}

static void json_result(FILE *to, const struct bench_report *report,
                        const struct bench_contender *contender, int phase)
{
	const struct bench_workload *workload = report->workload;
	struct row row = row_of(report, contender, phase);

	fputs("    { \"variant\": ", to);
	json_string(to, contender->name);
	if (workload->phases[phase].name != NULL) {
		fputs(", \"phase\": ", to);
		json_string(to, workload->phases[phase].name);
	}
	fprintf(to, ", \"default\": %s", contender->is_default ? "true" : "false");
	for (int i = 0; i < row.len; i++)
		json_number(to, row.columns[i].key, row.columns[i].value);
	fprintf(to, ", \"%ss\": %llu,\n      \"spread\": { \"min\": %.10g", workload->unit,
	        (unsigned long long)contender->results[phase].operations, row.rate_min);
	json_number(to, "max", row.rate_max);
	json_number(to, "quartiles", row.spread);
	fprintf(to, ", \"result\": %s },\n      \"syscalls\": { \"min\": ",
	        row.spread > SPREAD_MAX ? "false" : "true");
	fprintf(to, isfinite(row.calls_min) ? "%.10g" : "null", row.calls_min);
	json_number(to, "max", row.calls_max);
	fputs(" } }", to);
}

void bench_report_json(const struct bench_report *report, FILE *to)
{
	json_head(report, to);
	fputs("  \"results\": [\n", to);
	for (int i = 0; i < report->contenders_len; i++) {
		for (int phase = 0; phase < report->phases_len; phase++) {
			fputs(i + phase > 0 ? ",\n" : "", to);
			json_result(to, report, &report->contenders[i], phase);
		}
	}
	fputs("\n  ]\n}\n", to);
}

/* --- The file ------------------------------------------------------------------ */

/*
 * The report's file appears complete or not at all: it is written under another name and renamed at
 * the end.  It is opened before the measurement, so a name that cannot be written is reported at
 * once.  A file that is not regular (/dev/null, a FIFO) is written directly; a symbolic link is
 * followed, not replaced.
 */
static int output_complain(const struct bench_report *report, const char *path, int error)
{
	bench_complain(report->workload, "--json %s: cannot write: %s", path, strerror(error));
	return 2;
}

/*
 * Open the file output->path if it is not regular; otherwise path.PID.part, which replaces it
 * later.  Returns 0 or -errno.
 */
static int output_open_path(struct bench_output *output)
{
	int flags = O_WRONLY | O_CLOEXEC;
	struct stat status;
	bool there = stat(output->path, &status) == 0;
	int fd;

	if ((!there && errno != ENOENT) || (there && access(output->path, W_OK) < 0))
		return -errno;
	if (there && S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!there || S_ISREG(status.st_mode)) {
		snprintf(output->part, sizeof output->part, "%s.%ld.part", output->path,
		         (long)getpid());
		flags |= O_CREAT | O_EXCL;
	}
	fd = open(output->part[0] != '\0' ? output->part : output->path, flags, 0666);
	output->file = fd < 0 ? NULL : fdopen(fd, "w");
	return output->file == NULL ? -errno : 0;
}

int bench_output_open(struct bench_output *output, const struct bench_report *report)
{
	const char *wanted = report->options->json;
	int rc = 0;

	*output = (struct bench_output){ 0 };
	if (wanted == NULL)
		return 0;
	if (strcmp(wanted, "-") == 0) {
		output->file = stdout;
		return 0;
	}
	if (realpath(wanted, output->path) == NULL) { /* follows a link to its file */
		rc = errno != ENOENT ? -errno : 0; /* ENOENT: the file does not exist yet */
		snprintf(output->path, sizeof output->path, "%s", wanted);
	}
	if (rc == 0)
		rc = output_open_path(output);
	return rc < 0 ? output_complain(report, wanted, -rc) : 0;
}

int bench_output_commit(struct bench_output *output, const struct bench_report *report)
{
	int error = 0;

	if (output->file == NULL || output->file == stdout)
		return 0; /* errors of stdout are reported when the process exits */
	errno = EIO; /* the error of an earlier write is not known */
	if (ferror(output->file) != 0 || fflush(output->file) != 0)
		error = errno;
	if (fclose(output->file) != 0 && error == 0)
		error = errno;
	output->file = NULL;
	if (error == 0 && output->part[0] != '\0' && rename(output->part, output->path) < 0)
		error = errno;
	if (error == 0)
		return 0;
	bench_output_abandon(output);
	(void)output_complain(report, report->options->json, error);
	return 1;
}

void bench_output_abandon(struct bench_output *output)
{
	if (output->file != NULL && output->file != stdout)
		(void)fclose(output->file);
	if (output->part[0] != '\0')
		(void)unlink(output->part);
}
