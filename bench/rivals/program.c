/*
 * Rivals that are programs: each turn starts one, which measures itself and prints the number of
 * operations and the processor time.
 */
#include <limits.h>
#include <stdlib.h>

#include "loop.h"

/*
 * Limits of the time of one run in milliseconds.  The watchdog requires some progress from time to
 * time.
 */
#define RUN_MS_MAX 1000
#define RUN_MS_MIN 20

/* Store the path of the program of this name.  Returns 0 or -ENOENT. */
static int program_path(const char *name, char path[PATH_MAX])
{
	const char *folder = getenv("XPOLL_BENCH_PEERS");
	int len = folder == NULL ? -1 : snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return len < 0 || len >= PATH_MAX || access(path, X_OK) < 0 ? -ENOENT : 0;
}

bool program_find(const char *name)
{
	char path[PATH_MAX];

	return program_path(name, path) == 0;
}

/* Read the line that the program prints.  Returns the number of operations, or -errno. */
static int program_read(FILE *from, struct bench_sample *sample)
{
	unsigned operations;
	unsigned long long ns;
	char line[64];

	while (fgets(line, sizeof line, from) == NULL) {
		if (feof(from) != 0 || !bench_goes_on(errno))
			return feof(from) != 0 ? -EPIPE : -errno;
		clearerr(from);
	}
	if (sscanf(line, "%u %llu", &operations, &ns) != 2 || operations == 0 || ns == 0)
		return -EPROTO;
	sample->elapsed_ns = ns;
	sample->syscalls = BENCH_UNKNOWN;
	return (int)operations;
}

/* Returns how long one run of the program takes in this turn, in milliseconds. */
static int program_ms(const struct bench_turn *turn)
{
	const struct bench_phase *phases = turn->way->workload->phases;
	const struct bench_options *options = turn->way->options;
	int len = 1;
	double ms;

	while (len < BENCH_PHASES_MAX && phases[len].name != NULL)
		len++;
	ms = options->seconds / options->rounds * 1000 / len;
	return ms < RUN_MS_MIN ? RUN_MS_MIN : ms > RUN_MS_MAX ? RUN_MS_MAX : (int)ms;
}

static int program_run(struct bench_turn *turn)
{
	const struct bench_workload *workload = turn->way->workload;
	const struct bench_options *options = turn->way->options;
	char command[PATH_MAX + 64];
	char path[PATH_MAX];
	FILE *from;
	int status;
	int rc = program_path(turn->way->program, path);

	if (rc < 0)
		return rc;
	snprintf(command, sizeof command, "exec '%s' %s %d %d %d", path,
	         workload->rings ? "looptest" : "serve", options->n, turn->phase->value,
	         program_ms(turn));
	from = popen(command, "re");
	if (from == NULL)
		return -errno;
	rc = program_read(from, turn->sample);
	do
		status = pclose(from);
	while (status < 0 && errno == EINTR);
	return rc < 0 ? rc : status != 0 ? -ECHILD : rc;
}

const struct bench_ops program_ops = { .passes = true, .run = program_run };
