/*
 * Tick a hundred times a second and count hang-ups, until SIGTERM.
 *
 *     timers-and-signals      then: kill -HUP PID
 *
 * The queue observes signals and never consumes them.  Both of these would end the
 * program, so they are ignored first, and delivered all the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <xpoll.h>

enum { TICK };

int main(void)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event changes[3], event;
	int64_t ticks = 0, hang_ups = 0;

	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	xpoll_set(&changes[0], SIGHUP, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	xpoll_set(&changes[1], SIGTERM, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	xpoll_set(&changes[2], TICK, XPOLL_FILT_TIMER, XPOLL_ADD, XPOLL_NOTE_MSECONDS, 10, NULL);
	if (xpoll_event(queue, changes, 3, NULL, 0, 0) < 0) {
		perror("timers-and-signals");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* write each line at once, into a pipe, too */
	for (;;) {
		int count = xpoll_event(queue, NULL, 0, &event, 1, -1);

		if (count < 0 && errno != EINTR)
			return 1;
		if (count < 1)
			continue;
		/* data is the number of expirations or signals since the last event */
		if (event.filter == XPOLL_FILT_TIMER) {
			printf("ticks: %" PRId64 "\n", ticks += event.data);
		} else if (event.ident == SIGHUP) {
			printf("hang-ups: %" PRId64 "\n", hang_ups += event.data);
		} else {
			printf("end\n");
			xpoll_destroy(queue);
			return 0;
		}
	}
}
