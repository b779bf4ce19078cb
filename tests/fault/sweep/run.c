/* Runs a test in its own process, and determines how it ended. */
#include "sweep.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define OUTPUT_MOST 65536
#define OUTPUT_SHOWN 3000
/* Time for the watchdog's output: a debugger prints the stacks slowly. */
#define LAST_WORDS_MS 40000
#define WATCHDOG_NEVER 86400 /* seconds */

struct process {
	pid_t pid;
	int pidfd;
	int output_fd;
	int status;
	bool late;
	size_t len;
	char output[OUTPUT_MOST + 1];
};

static struct process run_process;

/*
 * In the test's process the watchdog never fires: the parent decides how long to wait
 * (run_patience).
 */
XT_WRAP(xt_watchdog_start);
void __wrap_xt_watchdog_start(const char *name, unsigned seconds)
{
	(void)seconds;
	__real_xt_watchdog_start(name, WATCHDOG_NEVER);
}

static void run_child(const struct xt_test *test, int output_fd)
{
	int64_t start = xt_now();

	/* The process group lets the parent kill all processes that the test leaves behind. */
	if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    dup2(output_fd, STDOUT_FILENO) < 0 ||
	    dup2(output_fd, STDERR_FILENO) < 0)
		_exit(90);
	(void)close(output_fd);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	sweep_pause(-1);
	sweep_shared->result = xt_run_one(test);
	sweep_pause(1);
	sweep_count_left();
	sweep_shared->ns = xt_now() - start;
	sweep_shared->ended = true;
	(void)fflush(stdout);
	_exit(0);
}

static void run_start(const struct xt_test *test)
{
	struct process *process = &run_process;
	int ends[2];

	(void)fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) < 0)
		xt_broken("pipe2");
	process->pid = fork();
	if (process->pid < 0)
		xt_broken("fork");
	if (process->pid == 0) {
		(void)close(ends[0]);
		run_child(test, ends[1]);
	}
	(void)close(ends[1]);
	process->output_fd = ends[0];
	process->len = 0;
	process->late = false;
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		xt_broken("pidfd_open");
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* Read the test's output, and keep the last part of it.  Returns false at the end of the output. */
static bool run_read(void)
{
	struct process *process = &run_process;
	ssize_t got;

	if (process->len == OUTPUT_MOST) {
		memmove(process->output, process->output + OUTPUT_MOST / 2,
		        OUTPUT_MOST / 2);
		process->len = OUTPUT_MOST / 2;
	}
	got = read(process->output_fd, process->output + process->len,
	           OUTPUT_MOST - process->len);
	if (got > 0)
		process->len += (size_t)got;
	return got > 0;
}

/*
 * Read output until the process has ended or the time has come.  Returns false if the process still
 * runs.
 */
static bool run_follow(int64_t until_ns)
{
	struct process *process = &run_process;

	for (;;) {
		struct pollfd look[2] = {{process->pidfd, POLLIN, 0},
		                         {process->output_fd, POLLIN, 0}};
		int64_t left_ns = until_ns - xt_now();

		if (left_ns <= 0)
			return false;
		if (poll(look, 2, (int)(left_ns / 1000000) + 1) < 0)
			continue;
		if (look[1].revents && !run_read())
			process->output_fd = -1;
		if (look[0].revents)
			return true;
	}
}

/* Returns how long to wait for a test, in ns, from the time that it took without a fault. */
static int64_t run_patience(const struct sweep_limits *limits)
{
	if (!limits)
		return 5 * XT_SOON;
	return limits->patience * (INT64_C(1000000000) * (XT_SANITIZED ? 8 : 4) +
	                           10 * limits->ns);
}

static void run_finish(const struct sweep_limits *limits)
{
	struct process *process = &run_process;
	int output_fd = process->output_fd;

	if (!run_follow(xt_now() + run_patience(limits))) {
		process->late = true;
		/* SIGALRM makes the test's watchdog print the stacks of all threads. */
		(void)kill(process->pid, SIGALRM);
		(void)run_follow(xt_now() + LAST_WORDS_MS * INT64_C(1000000));
	}
	process->output_fd = output_fd;
	(void)kill(-process->pid, SIGKILL);
	(void)kill(process->pid, SIGKILL);
	while (waitpid(process->pid, &process->status, 0) < 0)
		if (errno != EINTR)
			xt_broken("waitpid");
	/*
	 * Also reap processes that the test has left behind, which have become children of this
	 * one.
	 */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	while (run_read())
		continue;
	process->output[process->len] = '\0';
	(void)close(process->output_fd);
	(void)close(process->pidfd);
}

/*
 * Returns true if some thread sleeps where only an event ends the sleep, and no thread is inside a
 * function of the library that does work.
 */
static bool run_waits_for_events(void)
{
	static const char *const working[] = {
		"xpoll_ctl", "xpoll_destroy", "xpoll_close_fd", "xp_quiesce",
		"xpoll_aio", "xpoll_reinit",
	};

	for (size_t i = 0; i < sizeof working / sizeof *working; i++)
		if (strstr(run_process.output, working[i]))
			return false;
	return true;
}

static enum sweep_verdict run_verdict(const struct xt_test *test,
                                      const struct sweep_limits *limits)
{
	struct sweep_shared *shared = sweep_shared;
	int kind = atomic_load(&shared->failed) - 1;
	bool lax = atomic_load(&shared->lax) ||
	           (kind >= 0 && sweep_may_notice(test->name, kind));

	if (atomic_load(&shared->found))
		return SWEEP_BAD;
	if (run_process.late) {
		(void)snprintf(shared->finding, sizeof shared->finding, "stuck");
		return lax && run_waits_for_events() ? SWEEP_STUCK : SWEEP_FAILED;
	}
	if (!shared->ended || run_process.status != 0)
		(void)snprintf(shared->finding, sizeof shared->finding,
		               "ended by %s %d",
		               WIFSIGNALED(run_process.status) ? "signal"
		                                               : "exit code",
		               WIFSIGNALED(run_process.status)
		                   ? WTERMSIG(run_process.status)
		                   : WEXITSTATUS(run_process.status));
	else if (shared->fds > limits->fds)
		(void)snprintf(shared->finding, sizeof shared->finding,
		               "%d descriptors are left",
		               shared->fds - limits->fds);
	else if (shared->blocks > limits->blocks)
		(void)snprintf(shared->finding, sizeof shared->finding,
		               "%d blocks of memory are left",
		               shared->blocks - limits->blocks);
	else if (shared->result == 1 && !lax && kind >= 0)
		(void)snprintf(shared->finding, sizeof shared->finding,
		               "the test fails");
	else
		return kind < 0 ? SWEEP_NOT_REACHED : SWEEP_FINE;
	return shared->result == 1 ? SWEEP_FAILED : SWEEP_BAD;
}

static void run_tell(const struct xt_test *test)
{
	struct sweep_shared *shared = sweep_shared;
	int kind = atomic_load(&shared->failed) - 1;
	size_t skip = run_process.len > OUTPUT_SHOWN
	                  ? run_process.len - OUTPUT_SHOWN
	                  : 0;

	printf("%s: %s, when call %d (%s) fails with %d\n"
	       "  again: --backend %s --mode %s --seed %ju --fault %d:%d %s\n",
	       test->name, shared->finding, shared->target,
	       kind < 0 ? "none" : sweep_kind_name((enum sweep_kind)kind),
	       shared->error, xt_backend, xt_threads ? "threads" : "single",
	       (uintmax_t)xt_chosen_seed, shared->target, shared->error,
	       test->name);
	for (const char *at = run_process.output + skip; *at;) {
		size_t length = strcspn(at, "\n");

		printf("  | %.*s\n", (int)length, at);
		at += length + (at[length] == '\n');
	}
}

enum sweep_verdict sweep_run(const struct xt_test *test, int target, int error,
                             const struct sweep_limits *limits)
{
	struct sweep_shared *shared = sweep_shared;
	enum sweep_verdict verdict;

	memset(shared, 0, offsetof(struct sweep_shared, kinds));
	shared->test = test->name;
	shared->file = test->file;
	shared->target = target;
	shared->error = error;
	run_start(test);
	run_finish(limits);
	if (!limits) {
		if (shared->ended && shared->result != 1)
			return shared->result == 0 ? SWEEP_FINE : SWEEP_SKIPPED;
		/* This is only a note: the test's own suite shows why the test fails. */
		printf("  note  %s fails without a fault\n", test->name);
		return SWEEP_FAILED;
	}
	verdict = run_verdict(test, limits);
	if (verdict == SWEEP_BAD || verdict == SWEEP_FAILED)
		run_tell(test);
	return verdict;
}
