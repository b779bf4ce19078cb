/*
 * Run a command, and print what it and the processes that it makes do; end with
 * its status.
 *
 *     process-follower COMMAND [ARGUMENT...]
 *
 * Where the system does not permit following processes, only the end of the command
 * is printed.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xpoll.h>

static int follow(struct xpoll *queue, pid_t pid, uint32_t notes)
{
	struct xpoll_event add;

	xpoll_set(&add, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD, notes, 0, NULL);
	return xpoll_event(queue, &add, 1, NULL, 0, 0);
}

/*
 * Fork a child that runs the command once the queue follows it.  Returns its ID; -1: that failed.
 */
static pid_t start(struct xpoll *queue, char **command)
{
	int gate[2];
	pid_t pid = pipe(gate) < 0 ? -1 : fork();
	char none;

	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &none, 1) == 0 && close(gate[0]) == 0)
			execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || (follow(queue, pid, XPOLL_NOTE_EXIT | XPOLL_NOTE_EXEC |
	                       XPOLL_NOTE_TRACK) < 0 &&
	                follow(queue, pid, XPOLL_NOTE_EXIT) < 0))
		return -1;
	close(gate[0]);
	close(gate[1]);
	return pid;
}

/* Print an event.  Returns by how much the number of live processes changes. */
static int print(const struct xpoll_event *event)
{
	int status = (int)event->data;

	if (event->fflags & XPOLL_NOTE_CHILD)
		printf("%" PRIu64 ": made by %" PRId64 "\n", event->ident, event->data);
	if (event->fflags & XPOLL_NOTE_EXEC)
		printf("%" PRIu64 ": exec\n", event->ident);
	if (event->fflags & XPOLL_NOTE_STATUS_UNKNOWN)
		printf("%" PRIu64 ": ended\n", event->ident);
	else if (event->fflags & XPOLL_NOTE_EXIT)
		printf("%" PRIu64 ": %s %d\n", event->ident,
		       WIFSIGNALED(status) ? "signal" : "exit",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return ((event->fflags & XPOLL_NOTE_CHILD) != 0) - ((event->flags & XPOLL_EOF) != 0);
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event event;
	int alive = 1, status = 0;
	pid_t pid = argc > 1 ? start(queue, argv + 1) : -1;

	if (pid < 0) {
		perror(argc > 1 ? argv[1] : "usage: process-follower COMMAND [ARGUMENT...]");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* write each line at once, into a pipe, too */
	while (alive > 0) {
		int count = xpoll_event(queue, NULL, 0, &event, 1, -1);

		if (count == 1)
			alive += print(&event);
		else if (count < 0 && errno != EINTR)
			return 1;
	}
	waitpid(pid, &status, 0);
	xpoll_destroy(queue);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
