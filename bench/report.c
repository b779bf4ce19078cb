/*
 * From the rounds to the numbers, and those as a table for people or as JSON in a file.
 *
 * Rates are medians of the rounds.  So are ratios: each round gives one, of two
 * turns that are a fraction of a second apart, so what else the machine does
 * strikes both alike; the quotient of two medians would lack that.  System calls
 * per operation are exact: all calls of all rounds over all operations.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loop.h"

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median; values are in order afterwards. */
static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare_doubles);
	if (count % 2 == 1)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The numbers of a result that are printed; NAN where there is none. */
struct figures {
	double rate; /* median of the rounds */
	double rate_min;
	double rate_max;
	double ns;     /* for each operation */
	double calls;  /* likewise */
	double bytes;  /* for each of n */
	double ratios[BENCH_REFERENCES];
};

/* To another variant in the same phase. */
static double figures_ratio(const struct bench_report *report,
                            const struct bench_result *result, int phase, const char *variant)
{
	double ratios[BENCH_ROUNDS_MAX];
	int rounds = report->options->rounds;

	for (int i = 0; variant != NULL && i < report->contenders_len; i++) {
		const struct bench_contender *reference = &report->contenders[i];

		if (strcmp(reference->name, variant) != 0)
			continue;
		for (int k = 0; k < rounds; k++)
			ratios[k] = result->rates[k] / reference->results[phase].rates[k];
		return median(ratios, rounds);
	}
	return NAN;
}

static struct figures figures_of(const struct bench_report *report,
                                 const struct bench_contender *contender, int phase)
{
	const struct bench_result *result = &contender->results[phase];
	double rates[BENCH_ROUNDS_MAX];
	int rounds = report->options->rounds;
	struct figures figures;

	memcpy(rates, result->rates, sizeof rates);
	figures.rate = median(rates, rounds);
	figures.rate_min = rates[0];
	figures.rate_max = rates[rounds - 1];
	figures.ns = 1e9 / figures.rate;
	figures.calls = result->syscalls == BENCH_UNKNOWN ? NAN
		: (double)result->syscalls / (double)result->operations;
	figures.bytes = result->bytes == 0 ? NAN : (double)result->bytes / report->options->n;
	for (int i = 0; i < BENCH_REFERENCES; i++)
		figures.ratios[i] = figures_ratio(report, result, phase,
		                                  report->workload->references[i]);
	return figures;
}

/* --- A table --------------------------------------------------------------- */

/* Right-aligned, after a space: with some decimals; 1234567.8 as 1,234,568; NAN as -. */
static void table_cell(FILE *to, int width, double value, int decimals)
{
	char digits[32];
	char text[48];
	int len = snprintf(digits, sizeof digits, "%.*f", decimals, value);
	int whole = (int)strcspn(digits, ".");
	int at = 0;

	for (int i = 0; i < len; i++) {
		if (decimals == 0 && i > 0 && i < whole && (whole - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	fprintf(to, " %*s", width, isnan(value) ? "-" : text);
}

static int table_ratio_width(const char *reference)
{
	int len = (int)strlen(reference) + 2;

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
	        report->workload->by_clock ? "" : ", processor time");
	fprintf(to, "%s, %s, %d cores\n", machine.kernel, machine.cpu, machine.cores);
}

static void table_columns(const struct bench_workload *workload, const char *phase, FILE *to)
{
	const char *const *references = workload->references;
	int len = (int)strlen(workload->unit);

	fprintf(to, "\n%-14s %*ss/s %*s%s %*s%s", phase != NULL ? phase : "variant",
	        8, workload->unit, 9 - len, "ns/", workload->unit, 11 - len, "calls/",
	        workload->unit);
	for (int i = 0; i < BENCH_REFERENCES && references[i] != NULL; i++)
		fprintf(to, " %*s%s", table_ratio_width(references[i]) - (int)strlen(references[i]),
		        "x ", references[i]);
	fprintf(to, "%s spread\n", workload->tells_bytes ? "  bytes" : "");
}

static void table_row(const struct bench_report *report,
                      const struct bench_contender *contender, int phase, FILE *to)
{
	const struct bench_workload *workload = report->workload;
	const char *const *references = workload->references;
	struct figures figures = figures_of(report, contender, phase);
	char name[sizeof contender->name + 2];

	snprintf(name, sizeof name, "%s%s", contender->name, contender->is_default ? " *" : "");
	fprintf(to, "%-14s", name);
	table_cell(to, 11, figures.rate, 0);
	table_cell(to, 9, figures.ns, figures.ns >= 100 ? 0 : 1);
	table_cell(to, 11, figures.calls, 2);
	for (int i = 0; i < BENCH_REFERENCES && references[i] != NULL; i++)
		table_cell(to, table_ratio_width(references[i]), figures.ratios[i],
		           figures.ratios[i] < 0.1 ? 4 : 2);
	if (workload->tells_bytes)
		table_cell(to, 6, figures.bytes, 0);
	fprintf(to, " %4.0f %%\n",
	        100 * (figures.rate_max - figures.rate_min) / figures.rate);
}

/* In one line: libraries by their packages, then programs. */
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
	const char *const *phases = report->workload->phases;
	bool has_default = false;

	table_head(report, to);
	for (int phase = 0; phase < report->phases_len; phase++) {
		table_columns(report->workload, phases != NULL ? phases[phase] : NULL, to);
		for (int i = 0; i < report->contenders_len; i++) {
			table_row(report, &report->contenders[i], phase, to);
			has_default = has_default || report->contenders[i].is_default;
		}
	}
	if (has_default)
		fputs("\n* the back end that xpoll chooses here\n", to);
	table_missing(report, to);
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

/* After a comma: "START_END": text. */
static void json_name(FILE *to, const char *start, const char *end)
{
	fprintf(to, ", \"%s", start);
	for (; *end != '\0'; end++)
		fputc(*end == '-' ? '_' : *end, to);
	fputs("\": ", to);
}

static void json_field(FILE *to, const char *start, const char *end, double value)
{
	json_name(to, start, end);
	if (isfinite(value))
		fprintf(to, "%.10g", value);
	else
		fputs("null", to);
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
	json_field(to, "seconds", "", options->seconds);
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
	const char *const *references = workload->references;
	struct figures figures = figures_of(report, contender, phase);

	fputs("    { \"variant\": ", to);
	json_string(to, contender->name);
	if (workload->phases != NULL) {
		json_name(to, "phase", "");
		json_string(to, workload->phases[phase]);
	}
	fprintf(to, ", \"default\": %s", contender->is_default ? "true" : "false");
	json_field(to, workload->unit, "s_per_second", figures.rate);
	json_field(to, "ns_per_", workload->unit, figures.ns);
	json_field(to, "syscalls_per_", workload->unit, figures.calls);
	if (workload->tells_bytes)
		json_field(to, "bytes_per_", workload->unit, figures.bytes);
	for (int i = 0; i < BENCH_REFERENCES && references[i] != NULL; i++)
		json_field(to, "ratio_", references[i], figures.ratios[i]);
	json_field(to, workload->unit, "s", (double)contender->results[phase].operations);
	fprintf(to, ",\n      \"spread\": { \"min\": %.10g", figures.rate_min);
	json_field(to, "max", "", figures.rate_max);
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
 * It appears complete or not at all: it is written beside its final name and renamed
 * when done.  Opening happens before the measurement, so a name that cannot be written
 * costs no minute of waiting.  What is no regular file (/dev/null, a fifo) is written
 * directly; a symbolic link is followed, not replaced.
 */
static int output_complain(const struct bench_report *report, const char *path, int error)
{
	bench_complain(report->workload, "--json %s: cannot write: %s", path, strerror(error));
	return 2;
}

/* Open what output->path names now, or path.PID.part in its place; 0 or -errno. */
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
		rc = errno != ENOENT ? -errno : 0; /* there is no such file yet */
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
		return 0; /* stdout is checked where the process ends */
	errno = EIO; /* for an error that an earlier write met */
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

/* --- A bar, on stderr if that is a terminal; drawn between measurements ---------- */

#define BAR_WIDTH 24

static bool progress_drawn;

void bench_progress_show(double fraction, int64_t start_ns, const char *doing)
{
	int full = (int)(fraction * BAR_WIDTH);
	double spent = (double)(bench_now_ns() - start_ns) / 1e9;
	int left = fraction > 0 ? (int)(spent / fraction - spent + 0.5) : 0;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3d%%  ", (int)(fraction * 100));
	if (fraction > 0)
		fprintf(stderr, "%d:%02d left  ", left / 60, left % 60);
	fputs(doing, stderr);
	fflush(stderr);
	progress_drawn = true;
}

void bench_progress_clear(void)
{
	if (!progress_drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_drawn = false;
}
