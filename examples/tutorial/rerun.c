/*
 * Step 4: files and processes.  Run a command now, and again after each change of a file.
 *
 *     ./rerun FILE COMMAND [ARGUMENT...]
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xpoll.h>

static struct xpoll *queue;

static int add(int ident, int filter, uint32_t notes)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)ident, filter, XPOLL_ADD | XPOLL_CLEAR, notes, 0, NULL);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* Start the command, and ask for an event when it has ended. */
static void start(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (pid < 0 || add(pid, XPOLL_FILT_PROC, XPOLL_NOTE_EXIT) < 0)
		perror("rerun");
}

int main(int argc, char **argv)
{
	int file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
	int running = 1, changed = 0;
	struct xpoll_event event;

	queue = xpoll_open(NULL);
	if (file < 0 || add(file, XPOLL_FILT_VNODE, XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE) < 0) {
		perror(argc > 2 ? argv[1] : "usage: rerun FILE COMMAND [ARGUMENT...]");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	start(argv + 2);
	for (;;) {
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
			continue;
		if (event.filter == XPOLL_FILT_PROC) {
			printf("exit status %d\n", WEXITSTATUS((int)event.data));
			waitpid((pid_t)event.ident, NULL, 0); /* the queue reaps no child */
			running = 0;
		} else if (event.fflags & XPOLL_NOTE_DELETE) {
			break;
		} else {
			changed = 1;
		}
		if (changed && !running) {
			start(argv + 2);
			changed = 0;
			running = 1;
		}
	}
	printf("%s was deleted\n", argv[1]);
	xpoll_close_fd(file);
	xpoll_destroy(queue);
	return 0;
}
