/*
 * A file that appears complete or not at all.
 *
 * It is written beside its final name and renamed when done.  Opening happens
 * before the measurement, so a name that cannot be written costs no minute of
 * waiting.  What is no regular file (/dev/null, a fifo) is written directly;
 * a symbolic link is followed, not replaced.
 *
 * And the progress bar on stderr, when that is a terminal; else nothing at all.
 * It is drawn between measurements, never during one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

static int output_complain(const struct bench_report *report, const char *path,
                           int error)
{
	bench_complain(report->workload, "--json %s: cannot write: %s", path,
	               strerror(error));
	return 2;
}

static void output_free(struct bench_output *output)
{
	free(output->path);
	free(output->part);
	memset(output, 0, sizeof *output);
}

/* Open what output->path names now, or path.PID.part in its place; 0 or -errno. */
static int output_open_path(struct bench_output *output)
{
	size_t size = strlen(output->path) + 32;
	int flags = O_WRONLY | O_CLOEXEC;
	struct stat status;
	bool there = stat(output->path, &status) == 0;
	int fd;

	if ((!there && errno != ENOENT) || (there && access(output->path, W_OK) < 0))
		return -errno;
	if (there && S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!there || S_ISREG(status.st_mode)) {
		output->part = malloc(size);
		if (output->part == NULL)
			return -ENOMEM;
		snprintf(output->part, size, "%s.%ld.part", output->path, (long)getpid());
		flags |= O_CREAT | O_EXCL;
	}
	fd = open(output->part != NULL ? output->part : output->path, flags, 0666);
	output->file = fd < 0 ? NULL : fdopen(fd, "w");
	return output->file == NULL ? -errno : 0;
}

int bench_output_open(struct bench_output *output, const struct bench_report *report)
{
	const char *wanted = report->options->json;
	int rc;

	memset(output, 0, sizeof *output);
	if (wanted == NULL)
		return 0;
	if (strcmp(wanted, "-") == 0) {
		output->file = stdout;
		return 0;
	}
	output->path = realpath(wanted, NULL); /* follows a link to its file */
	if (output->path == NULL && errno == ENOENT)
		output->path = strdup(wanted); /* there is no such file yet */
	rc = output->path == NULL ? -errno : output_open_path(output);
	if (rc == 0)
		return 0;
	output_free(output);
	return output_complain(report, wanted, -rc);
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
	if (error == 0 && output->part != NULL && rename(output->part, output->path) < 0)
		error = errno;
	if (error == 0) {
		output_free(output);
		return 0;
	}
	bench_output_abandon(output);
	(void)output_complain(report, report->options->json, error);
	return 1;
}

void bench_output_abandon(struct bench_output *output)
{
	if (output->file != NULL && output->file != stdout)
		(void)fclose(output->file);
	if (output->part != NULL)
		(void)unlink(output->part);
	output_free(output);
}

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
