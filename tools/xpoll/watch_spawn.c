/*
 * xpoll watch: starts commands, and handles the signals that end it.
 *
 * A command starts with the signal dispositions, the signal mask and the limit of open files that
 * xpoll watch itself was started with.
 *
 * A child that was forked waits at the pipe `gate` for a byte before it executes its program, so
 * that it can be registered before; by the pipe `failure` it sends the errno value if exec fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch.h"

#define SIGNALS_MAX 128

static struct xpoll *to_wake; /* the queue that the signal handler wakes */
static volatile sig_atomic_t stopped_by; /* the first signal that came to end us; 0: none */
static volatile sig_atomic_t stopped_often; /* number of such signals */
static volatile sig_atomic_t not_forwarded; /* the last signal to pass on; 0: none */

/* The dispositions, mask and limit that this process was started with. */
static struct sigaction actions[SIGNALS_MAX];
static bool saved[SIGNALS_MAX]; /* actions[i] is filled in */
static sigset_t mask;
static struct rlimit files;

/*
 * Handler of the signals that end this command.  A signal of the terminal also goes to the commands
 * that we have started; one that a process has sent (si_code <= 0) comes to us alone.
 */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (stopped_by == 0)
		stopped_by = number;
	stopped_often++;
	if (info->si_code <= 0)
		not_forwarded = number;
	xpoll_wake(to_wake);
}

/* Set a disposition, and remember the first one for signals_restore. */
static void set_action(int number, const struct sigaction *action)
{
	if (number < SIGNALS_MAX && !saved[number])
		saved[number] = sigaction(number, NULL, &actions[number]) == 0;
	(void)sigaction(number, action, NULL);
}

void watch_signals_open(struct watch *w)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	/* Without SA_RESTART, so that the signal also ends a write to a full pipe. */
	struct sigaction ours = { .sa_flags = SA_SIGINFO, .sa_sigaction = on_signal };
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	struct rlimit raised;
	sigset_t wanted;

	to_wake = w->queue;
	sigemptyset(&wanted);
	(void)sigprocmask(SIG_BLOCK, &wanted, &mask);
	for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
		struct sigaction now;

		/* Leave a signal that is ignored, as nohup(1) arranges for SIGHUP. */
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			continue;
		set_action(ending[i], &ours);
		sigaddset(&wanted, ending[i]);
	}
	set_action(SIGCHLD, &plain); /* if it is ignored, waitpid(2) cannot reap our commands */
	(void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	raised = files;
	raised.rlim_cur = raised.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &raised);
}

static void signals_restore(void)
{
	for (int number = 1; number < SIGNALS_MAX; number++)
		if (saved[number])
			(void)sigaction(number, &actions[number], NULL);
}

void watch_signals_close(void)
{
	signals_restore();
}

void watch_signal_ignore(int number)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t wanted;

	/* Ignoring SIGCHLD would lose the exit codes of our commands. */
	set_action(number, number == SIGCHLD ? &plain : &ignore);
	sigemptyset(&wanted);
	sigaddset(&wanted, number);
	(void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
}

int watch_stopped(const struct watch *w)
{
	int number = not_forwarded;

	if (number != 0 && (w->child != 0 || w->runner != 0)) {
		not_forwarded = 0;
		if (w->child != 0)
			(void)kill(w->child, number);
		if (w->runner != 0)
			(void)kill(w->runner, number);
	}
	return stopped_by;
}

bool watch_stopped_twice(void)
{
	return stopped_often > 1;
}

static void close_pair(int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

/* In the child: wait for a byte of `gate`, execute argv, and send errno if that fails. */
static _Noreturn void become(const struct watch *w, char *const argv[], int gate,
                             int failure)
{
	char byte;
	int error;

	if (read(gate, &byte, 1) != 1)
		_exit(127);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (w->json) /* standard output is for the objects alone */
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	signals_restore();
	tool_restore_signals();
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	execvp(argv[0], argv);
	error = errno;
	(void)!write(failure, &error, sizeof error);
	_exit(127);
}

int watch_spawn(const struct watch *w, char *const argv[], struct watch_spawned *spawned)
{
	int gate[2], failure[2];
	sigset_t all, old;
	int error;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(failure, O_CLOEXEC) < 0) {
		error = errno;
		close_pair(gate);
		errno = error;
		return -1;
	}
	/* Block signals: the child would lose those that come before it restores dispositions. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	spawned->pid = fork();
	error = errno;
	if (spawned->pid == 0) {
		close(gate[1]);
		become(w, argv, gate[0], failure[1]);
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	close(gate[0]);
	close(failure[1]);
	spawned->gate = gate[1];
	spawned->failure = failure[0];
	if (spawned->pid < 0) {
		close(gate[1]);
		close(failure[0]);
	}
	errno = error;
	return spawned->pid < 0 ? -1 : 0;
}

int watch_spawn_go(struct watch_spawned *spawned)
{
	int error = 0;

	(void)!write(spawned->gate, "", 1);
	close(spawned->gate);
	/* If exec succeeds, it closes the other end, so read(2) returns 0 and error stays 0. */
	while (read(spawned->failure, &error, sizeof error) < 0 && errno == EINTR)
		;
	close(spawned->failure);
	return error;
}

void watch_spawn_cancel(struct watch_spawned *spawned)
{
	close(spawned->gate);
	close(spawned->failure);
	(void)watch_reap(spawned->pid);
}

int watch_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
