/*
 * runner: runs the tests of a folder one after the other, without a shell and
 * without CTest, and prints a table of them.
 *
 *   runner FOLDER [TEST...]
 *
 * FOLDER/tests.list has a line for each test, as CMake writes it:
 *
 *   NAME SECONDS [VARIABLE=value...] PROGRAM [ARGUMENT...]
 *
 * TEST is a part of a test's name.  What a test prints is shown if it fails.  As
 * process 1, of a system that has nothing else, it takes the folder /tests, and
 * ends the system at the end.  Ends with 0 if no test failed.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 64, OUTPUT = 1 << 20, REASONS = 256, ROWS = 64 };
enum result { PASSED, FAILED, SKIPPED };

/* A row of the table: numbers of tests by suite and back end, and by reason of a skip. */
struct row {
	char name[64];
	int count[3];
};
struct reason {
	char text[128];
	int count;
};

static struct row rows[ROWS];
static int row_count;
static struct reason reasons[REASONS];
static int reason_count;
static char failed[1 << 16]; /* names of failed tests, one in each line */
static char output[OUTPUT];
static size_t output_length;

static double seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The test contract.close.kqueue.threads belongs to the row "contract kqueue threads". */
static struct row *row_of(const char *name)
{
	char text[sizeof rows[0].name];
	size_t suite = strcspn(name, ".");
	const char *topic = name[suite] ? name + suite + 1 : "";
	const char *rest = topic + strcspn(topic, ".");
	int next = 0;

	(void)snprintf(text, sizeof text, "%.*s%s", (int)suite, name, rest);
	while (next < row_count && strcmp(rows[next].name, text) != 0)
		next++;
	if (next == ROWS)
		return &rows[ROWS - 1];
	if (next == row_count) {
		(void)snprintf(rows[next].name, sizeof rows[next].name, "%s", text);
		row_count++;
	}
	return &rows[next];
}

static void count_reason(const char *text, size_t length)
{
	int next = 0;

	if (length >= sizeof reasons[0].text)
		length = sizeof reasons[0].text - 1;
	while (next < reason_count && (strncmp(reasons[next].text, text, length) != 0 ||
	                               reasons[next].text[length]))
		next++;
	if (next == REASONS)
		return;
	if (next == reason_count) {
		memcpy(reasons[next].text, text, length);
		reason_count++;
	}
	reasons[next].count++;
}

/* Count the lines "  skip  CASE: REASON", or "skip: REASON" of a whole program. */
static void count_reasons(void)
{
	for (char *line = output; line && *line;) {
		char *end = strchr(line, '\n');
		size_t length = end ? (size_t)(end - line) : strlen(line);
		char *colon = memchr(line, ':', length);

		if (colon && length > 8 && colon + 2 < line + length &&
		    (strncmp(line, "  skip  ", 8) == 0 || colon == line + 4) &&
		    (strncmp(line, "skip", 4) == 0 || strncmp(line, "SKIP", 4) == 0 ||
		     line[0] == ' '))
			count_reason(colon + 2, (size_t)(line + length - colon - 2));
		line = end ? end + 1 : NULL;
	}
}

static void start(const char *folder, char **words, int fd)
{
	char path[1024];
	int null = open("/dev/null", O_RDONLY);

	(void)setsid();
	(void)dup2(null, 0);
	(void)dup2(fd, 1);
	(void)dup2(fd, 2);
	for (int other = 3; other < 64; other++)
		close(other);
	while (*words && strchr(*words, '='))
		(void)putenv(*words++);
	if (!*words)
		_exit(2);
	(void)snprintf(path, sizeof path, "%s/%s", folder, *words);
	*words = path; /* an absolute path, because some tests start their own program again */
	(void)execv(path, words);
	perror(path);
	_exit(2);
}

/* Read the output of a test, waiting for it at most this long. */
static void take_output(int fd, int milliseconds)
{
	struct pollfd asked = {.fd = fd, .events = POLLIN};
	char rest[512];

	while (poll(&asked, 1, milliseconds) > 0) {
		bool room = output_length < sizeof output - 1;
		ssize_t got = read(fd, room ? output + output_length : rest,
		                   room ? sizeof output - 1 - output_length : sizeof rest);

		if (got <= 0) {
			if (milliseconds > 0)
				(void)poll(NULL, 0, milliseconds);
			return;
		}
		if (room)
			output_length += (size_t)got;
		milliseconds = 0;
	}
}

/* Wait for a test, at most this many seconds.  Returns its wait status; -1: it took too long. */
static int wait_for(pid_t child, int fd, double limit)
{
	double end = seconds_now() + limit;
	bool late = false;

	for (;;) {
		int status;
		/*
		 * As process 1 the runner also gets orphaned children of other processes: reap
		 * them, too.
		 */
		pid_t got = waitpid(getpid() == 1 ? -1 : child, &status, WNOHANG);

		if (got == child) {
			take_output(fd, 0);
			(void)kill(-child, SIGKILL);
			return late ? -1 : status;
		}
		if (got > 0)
			continue;
		if (!late && seconds_now() > end) {
			late = true;
			(void)kill(-child, SIGKILL);
			(void)kill(child, SIGKILL);
		}
		take_output(fd, 5);
	}
}

static enum result run(const char *folder, char **words, double limit)
{
	int ends[2];
	int status;

	output_length = 0;
	if (pipe(ends) < 0)
		return FAILED;
	(void)fflush(NULL);
	pid_t child = fork();

	if (child == 0)
		start(folder, words, ends[1]);
	close(ends[1]);
	status = child < 0 ? -1 : wait_for(child, ends[0], limit);
	close(ends[0]);
	output[output_length] = '\0';
	if (status == -1)
		printf("    not over after %.0f seconds\n", limit);
	else if (WIFSIGNALED(status))
		printf("    ended by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == 0)
		return PASSED;
	else if (WEXITSTATUS(status) == 77)
		return SKIPPED;
	return FAILED;
}

/* Run the test of one line of the list. */
static void run_line(const char *folder, char *line)
{
	static const char *const names[] = {"passed", "FAILED", "skipped"};
	char *words[WORDS + 1] = {NULL};
	int count = 0;
	double begin = seconds_now();

	for (char *word = strtok(line, " \n"); word && count < WORDS;
	     word = strtok(NULL, " \n"))
		words[count++] = word;
	if (count < 3)
		return;
	enum result result = run(folder, words + 2, strtod(words[1], NULL));

	printf("%-50s %s %.1f s\n", words[0], names[result], seconds_now() - begin);
	row_of(words[0])->count[result]++;
	count_reasons();
	if (result == FAILED) {
		printf("%s\n", output);
		(void)snprintf(failed + strlen(failed), sizeof failed - strlen(failed),
		               "  %s\n", words[0]);
	}
	(void)fflush(stdout);
}

static bool selected(const char *line, char **wanted)
{
	char name[128] = "";

	if (!*wanted)
		return true;
	(void)sscanf(line, "%127s", name);
	for (; *wanted; wanted++)
		if (strstr(name, *wanted))
			return true;
	return false;
}

/* Print the table.  Returns the number of failed tests. */
static int print_table(void)
{
	struct row sum = {.name = "all"};
	struct utsname system;

	(void)uname(&system);
	printf("\n%-36s %8s %8s %8s\n", "", "passed", "failed", "skipped");
	for (int next = 0; next <= row_count; next++) {
		struct row *row = next < row_count ? &rows[next] : &sum;

		printf("%-36s %8d %8d %8d\n", row->name, row->count[PASSED],
		       row->count[FAILED], row->count[SKIPPED]);
		for (int kind = 0; kind < 3 && row != &sum; kind++)
			sum.count[kind] += row->count[kind];
	}
	printf("\nskipped, tests and cases of tests:\n");
	for (int next = 0; next < reason_count; next++)
		printf("%6d  %s\n", reasons[next].count, reasons[next].text);
	if (failed[0])
		printf("\nfailed:\n%s", failed);
	printf("\n%s %s %s: %d passed, %d failed, %d skipped\n", system.sysname,
	       system.release, system.machine, sum.count[PASSED], sum.count[FAILED],
	       sum.count[SKIPPED]);
	return sum.count[FAILED];
}

static int run_folder(const char *folder, char **wanted)
{
	char path[1024];
	char line[4096];

	(void)snprintf(path, sizeof path, "%s/tests.list", folder);
	FILE *list = fopen(path, "r");

	if (!list) {
		perror(path);
		return 2;
	}
	while (fgets(line, sizeof line, list))
		if (selected(line, wanted))
			run_line(folder, line);
	(void)fclose(list);
	return print_table() > 0;
}

int main(int argc, char **argv)
{
#ifdef RUNNER_INIT
	if (getpid() == 1) {
		init_begin();
		(void)run_folder("/tests", argv + argc);
		init_end();
	}
#endif
	if (argc < 2) {
		fprintf(stderr, "usage: runner FOLDER [TEST...]\n");
		return 2;
	}
	return run_folder(argv[1], argv + 2);
}
