/*
 * xpoll watch: the commands it starts, and the signals that end it.
 *
 * A command must not notice who started it: dispositions, the signal mask and
 * the limit of open files are given back as they were found.
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

static struct xpoll *to_wake;
static volatile sig_atomic_t stopped_by; /* the first signal that came */
static volatile sig_atomic_t stopped_often;
static volatile sig_atomic_t unseen; /* one that our commands did not get; 0 */

/* The signal dispositions and limits that this process was started with. */
static struct sigaction actions[SIGNALS_MAX];
static bool kept[SIGNALS_MAX]; /* actions[i] is filled in */
static sigset_t mask;
static struct rlimit files;

/*
 * The terminal sends its signals to our commands too; what another process
 * sends comes to us alone.
 */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (stopped_by == 0)
		stopped_by = number;
	stopped_often++;
	if (info->si_code <= 0)
		unseen = number;
	xpoll_wake(to_wake);
}

static void set_action(int number, const struct sigaction *action)
{
	if (number < SIGNALS_MAX && !kept[number])
		kept[number] = sigaction(number, NULL, &actions[number]) == 0;
	(void)sigaction(number, action, NULL);
}

void watch_signals_open(struct watch *w)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	/* Without SA_RESTART: also a write to a full pipe is to end. */
	struct sigaction ours = { .sa_flags = SA_SIGINFO, .sa_sigaction = on_signal };
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	struct rlimit raised;
	sigset_t wanted;

	to_wake = w->queue;
	sigemptyset(&wanted);
	(void)sigprocmask(SIG_BLOCK, &wanted, &mask);
	for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
		struct sigaction now;

		/* nohup(1) means it. */
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			continue;
		set_action(ending[i], &ours);
		sigaddset(&wanted, ending[i]);
	}
	set_action(SIGCHLD, &plain); /* else nobody could wait for our commands */
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
		if (kept[number])
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
	int number = unseen;

	if (number != 0 && (w->child != 0 || w->runner != 0)) {
		unseen = 0;
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

/* The child: wait for the gate, become the command, or print why not. */
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
	/* A signal in the child before its actions are restored would be lost. */
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
	/* Nothing comes if it worked: exec closes the other end. */
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
