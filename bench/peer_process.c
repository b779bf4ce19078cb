/*
 * Asking a process to work, and looking at the processor time it has used.
 */
#include "peer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define FOLDER_VARIABLE "XPOLL_BENCH_PEERS"
#define PROCESSES_MAX   4
#define ENOUGH_NS       5000000 /* for one phase of a pass */
#define WARM_UP_NS      500000000
#define COUNT_MAX       65536 /* in one question */

extern char **environ;

struct process {
	const char *name; /* NULL: not started */
	const struct bench_workload *workload;
	pid_t pid;
	clockid_t clock;
	FILE *questions;
	FILE *answers;
};

static struct process process_table[PROCESSES_MAX];

/* 0 or -ENOENT. */
static int process_path(const char *name, char path[PATH_MAX])
{
	const char *folder = getenv(FOLDER_VARIABLE);
	int len = folder == NULL ? -1 : snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return len < 0 || len >= PATH_MAX || access(path, X_OK) < 0 ? -ENOENT : 0;
}

bool process_find(const char *name)
{
	char path[PATH_MAX];

	return process_path(name, path) == 0;
}

static void process_end(struct process *process)
{
	if (process->questions != NULL)
		(void)fclose(process->questions);
	if (process->answers != NULL)
		(void)fclose(process->answers);
	if (process->pid > 0) {
		(void)kill(process->pid, SIGKILL);
		while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
			; /* it has been killed: this ends */
	}
	memset(process, 0, sizeof *process);
}

void process_end_all(void)
{
	for (int i = 0; i < PROCESSES_MAX; i++)
		process_end(&process_table[i]);
}

/* Wait for a line; 0 or -errno. */
static int process_expect(struct process *process, const char *expected)
{
	char line[64];

	for (;;) {
		if (fgets(line, sizeof line, process->answers) != NULL)
			break;
		if (ferror(process->answers) == 0 || !bench_goes_on(errno))
			return ferror(process->answers) != 0 ? -errno : -EPIPE;
		clearerr(process->answers);
	}
	return strncmp(line, expected, strlen(expected)) == 0 ? 0 : -EPROTO;
}

static int process_ask(struct process *process, int active, uint64_t count)
{
	if (fprintf(process->questions, "%d %llu\n", active,
	            (unsigned long long)count) < 0 ||
	    fflush(process->questions) != 0)
		return -errno;
	return process_expect(process, "done");
}

static int process_spawn(struct process *process, char *const arguments[],
                         const int questions[2], const int answers[2])
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return -error;
	error = posix_spawn_file_actions_adddup2(&actions, questions[0], 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, answers[1], 1);
	if (error == 0)
		error = posix_spawn(&process->pid, arguments[0], &actions, NULL,
		                    arguments, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int process_connect(struct process *process, char *const arguments[])
{
	int questions[2];
	int answers[2];
	int rc;

	if (pipe2(questions, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(answers, O_CLOEXEC) < 0) {
		rc = -errno;
		close(questions[0]);
		close(questions[1]);
		return rc;
	}
	rc = process_spawn(process, arguments, questions, answers);
	close(questions[0]);
	close(answers[1]);
	process->questions = fdopen(questions[1], "w");
	process->answers = fdopen(answers[0], "r");
	if (rc == 0 && (process->questions == NULL || process->answers == NULL))
		rc = -ENOMEM;
	return rc;
}

static int64_t process_now_ns(const struct process *process)
{
	struct timespec now = { 0, 0 };

	(void)clock_gettime(process->clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A machine that compiles while it runs takes its time to be fast. */
static int process_warm_up(struct process *process)
{
	const int *active = process->workload->programs;
	int64_t start_ns = bench_now_ns();
	int rc = 0;

	for (int i = 0; rc == 0 && bench_now_ns() - start_ns < WARM_UP_NS; i++) {
		rc = process_ask(process, active[i % process->workload->programs_len], 256);
		bench_signals_progress();
	}
	return rc;
}

static int process_start(struct process *process, const struct bench_way *way)
{
	char path[PATH_MAX];
	char n[16];
	char token[] = "looptest";
	char serve[] = "serve";
	char *arguments[] = { path, way->workload->rings ? token : serve, n, NULL };
	int rc = process_path(way->program, path);

	if (rc < 0)
		return rc;
	snprintf(n, sizeof n, "%d", way->n);
	process->name = way->program;
	process->workload = way->workload;
	rc = process_connect(process, arguments);
	if (rc == 0)
		rc = process_expect(process, "ready");
	if (rc == 0)
		rc = -clock_getcpuclockid(process->pid, &process->clock);
	if (rc == 0)
		rc = process_warm_up(process);
	if (rc < 0)
		process_end(process);
	return rc;
}

static int process_open(void *setup, const struct bench_way *way, void **opened)
{
	int rc = -ENOMEM;

	(void)setup;
	for (int i = 0; i < PROCESSES_MAX; i++) {
		struct process *process = &process_table[i];

		if (process->name == NULL)
			rc = process_start(process, way);
		else if (strcmp(process->name, way->program) == 0)
			rc = 0;
		else
			continue;
		*opened = process;
		break;
	}
	return rc;
}

static void process_close(void *opened)
{
	(void)opened; /* it stays for the next round */
}

/* One phase, in questions that grow until they are worth asking. */
static int process_phase(struct process *process, int active, struct bench_sample *sample)
{
	uint64_t count = 1024;
	int64_t start_ns = process_now_ns(process);
	int64_t spent_ns;
	int rc;

	do {
		rc = process_ask(process, active, count);
		sample->operations += count;
		spent_ns = process_now_ns(process) - start_ns;
		if (spent_ns < ENOUGH_NS / 2 && count < COUNT_MAX)
			count *= 2;
		bench_signals_progress();
	} while (rc == 0 && spent_ns < ENOUGH_NS);
	sample->elapsed_ns = (uint64_t)spent_ns;
	sample->syscalls = BENCH_UNKNOWN;
	return rc;
}

static int process_pass(void *opened, struct bench_sample *samples)
{
	struct process *process = opened;
	int rc = 0;

	for (int i = 0; i < process->workload->programs_len && rc == 0; i++) {
		memset(&samples[i], 0, sizeof samples[i]);
		rc = process_phase(process, process->workload->programs[i], &samples[i]);
	}
	return rc;
}

const struct bench_ops process_ops = {
	.open = process_open,
	.pass = process_pass,
	.close = process_close,
};
