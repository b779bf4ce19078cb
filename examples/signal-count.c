/*
 * Signals as events, beside what else they do: Figure 7 of the kqueue paper.
 *
 *     signal-count            then: kill -HUP PID
 *
 * The queue observes and never consumes.  SIGHUP would end the program, so it
 * is ignored first, and counted all the same.  SIGTERM and Ctrl-C still end it.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <xpoll.h>

int main(void)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event event;

	signal(SIGHUP, SIG_IGN);
	xpoll_set(&event, SIGHUP, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	if (xpoll_event(queue, &event, 1, NULL, 0, 0) < 0) {
		perror("signal-count: SIGHUP");
		return 1;
	}
	printf("process %d waits for signal %d\n", (int)getpid(), SIGHUP);
	do {
		fflush(stdout);
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) == 1)
			printf("signal %" PRIu64 " delivered %" PRId64 " times\n",
			       event.ident, event.data);
	} while (!ferror(stdout));
	xpoll_destroy(queue);
	return 1;
}
