/*
 * Rivals that are programs: asking a process to work, and looking at the processor
 * time it has used.
 */
#include "loop.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define FOLDER_VARIABLE "XPOLL_BENCH_PEERS"
#define PROGRAMS_MAX   4
#define ENOUGH_NS       5000000 /* for one phase of a pass */
#define WARM_UP_NS      500000000
#define COUNT_MAX       65536 /* in one question */

extern char **environ;

static struct program {
	const char *name; /* NULL: not started */
	pid_t pid;
	clockid_t clock;
	FILE *questions;
	FILE *answers;
} program_table[PROGRAMS_MAX];

/* 0 or -ENOENT. */
static int program_path(const char *name, char path[PATH_MAX])
{
	const char *folder = getenv(FOLDER_VARIABLE);
	int len = folder == NULL ? -1 : snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return len < 0 || len >= PATH_MAX || access(path, X_OK) < 0 ? -ENOENT : 0;
}

bool program_find(const char *name)
{
	char path[PATH_MAX];

	return program_path(name, path) == 0;
}

static void program_end(struct program *program)
{
	if (program->questions != NULL)
		(void)fclose(program->questions);
	if (program->answers != NULL)
		(void)fclose(program->answers);
	if (program->pid > 0) {
		(void)kill(program->pid, SIGKILL);
		while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
			; /* it has been killed: this ends */
	}
	memset(program, 0, sizeof *program);
}

void program_end_all(void)
{
	for (int i = 0; i < PROGRAMS_MAX; i++)
		program_end(&program_table[i]);
}

/* Wait for a line; 0 or -errno. */
static int program_expect(struct program *program, const char *expected)
{
	char line[64];

	for (;;) {
		if (fgets(line, sizeof line, program->answers) != NULL)
			break;
		if (ferror(program->answers) == 0 || !bench_goes_on(errno))
			return ferror(program->answers) != 0 ? -errno : -EPIPE;
		clearerr(program->answers);
	}
	return strncmp(line, expected, strlen(expected)) == 0 ? 0 : -EPROTO;
}

static int program_ask(struct program *program, int active, uint64_t count)
{
	if (fprintf(program->questions, "%d %llu\n", active,
	            (unsigned long long)count) < 0 ||
	    fflush(program->questions) != 0)
		return -errno;
	return program_expect(program, "done");
}

/* A socket is both its input and its output. */
static int program_spawn(struct program *program, char *const arguments[])
{
	posix_spawn_file_actions_t actions;
	int ends[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	program->questions = fdopen(ends[0], "w");
	program->answers = fdopen(fcntl(ends[0], F_DUPFD_CLOEXEC, 0), "r");
	error = posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 2 && error == 0; fd++)
		error = posix_spawn_file_actions_adddup2(&actions, ends[1], fd);
	if (error == 0)
		error = posix_spawn(&program->pid, arguments[0], &actions, NULL, arguments,
		                    environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	return program->questions == NULL || program->answers == NULL ? -ENOMEM : -error;
}

static int64_t program_now_ns(const struct program *program)
{
	struct timespec now = { 0, 0 };

	(void)clock_gettime(program->clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A machine that compiles while it runs takes its time to be fast. */
static int program_warm_up(struct program *program, const struct bench_workload *workload)
{
	int64_t start_ns = bench_now_ns();
	int rc = 0;

	for (int i = 0; rc == 0 && bench_now_ns() - start_ns < WARM_UP_NS; i++) {
		rc = program_ask(program, workload->active[i], 256);
		if (workload->phases == NULL || workload->phases[i + 1] == NULL)
			i = -1;
		bench_signals_progress();
	}
	return rc;
}

static int program_start(struct program *program, const struct bench_way *way)
{
	char path[PATH_MAX];
	char n[16];
	char token[] = "looptest";
	char serve[] = "serve";
	char *arguments[] = { path, way->workload->rings ? token : serve, n, NULL };
	int rc = program_path(way->program, path);

	if (rc < 0)
		return rc;
	snprintf(n, sizeof n, "%d", way->options->n);
	program->name = way->program;
	rc = program_spawn(program, arguments);
	if (rc == 0)
		rc = program_expect(program, "ready");
	if (rc == 0)
		rc = -clock_getcpuclockid(program->pid, &program->clock);
	if (rc == 0)
		rc = program_warm_up(program, way->workload);
	if (rc < 0)
		program_end(program);
	return rc;
}

/* One phase, in questions that grow until they are worth asking. */
static int program_phase(struct program *program, int active, struct bench_sample *sample)
{
	uint64_t count = 1024;
	int64_t start_ns = program_now_ns(program);
	int64_t spent_ns;
	int rc;

	sample->syscalls = BENCH_UNKNOWN;
	do {
		rc = program_ask(program, active, count);
		sample->operations += count;
		spent_ns = program_now_ns(program) - start_ns;
		if (spent_ns < ENOUGH_NS / 2 && count < COUNT_MAX)
			count *= 2;
		bench_signals_progress();
	} while (rc == 0 && spent_ns < ENOUGH_NS);
	sample->elapsed_ns = (uint64_t)spent_ns;
	return rc;
}

/* It stays for the next round. */
static int64_t program_step(void *opened, int phase)
{
	struct bench_turn *turn = opened;
	struct program *program = program_table;
	int rc = 0;

	while (program->name != NULL && strcmp(program->name, turn->way->program) != 0)
		program++;
	if (program->name == NULL)
		rc = program_start(program, turn->way);
	if (rc == 0)
		rc = program_phase(program, turn->way->workload->active[phase], turn->sample);
	return rc < 0 ? rc : (int64_t)turn->sample->operations;
}

const struct bench_ops program_ops = { .step = program_step };
