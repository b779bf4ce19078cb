/*
 * Step 2: timers and signals.
 *
 *     ./ticks [MILLISECONDS]  then: kill -HUP PID; kill -TERM PID
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <xpoll.h>

enum { TICK, DEADLINE }; /* a timer's ident is any number that you like */

int main(int argc, char **argv)
{
	int64_t period = argc > 1 ? atoi(argv[1]) : 1000;
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event changes[4], event;

	signal(SIGHUP, SIG_IGN); /* or the signal would end the program, as ever */
	signal(SIGTERM, SIG_IGN);
	xpoll_set(&changes[0], TICK, XPOLL_FILT_TIMER, XPOLL_ADD, XPOLL_NOTE_MSECONDS, period,
	          NULL);
	xpoll_set(&changes[1], DEADLINE, XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_ONESHOT,
	          XPOLL_NOTE_SECONDS, 3600, NULL);
	xpoll_set(&changes[2], SIGHUP, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	xpoll_set(&changes[3], SIGTERM, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, NULL);
	if (xpoll_event(queue, changes, 4, NULL, 0, 0) < 0) {
		perror("ticks");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
			continue; /* interrupted by a signal that is not registered */
		if (event.filter == XPOLL_FILT_TIMER && event.ident == TICK)
			printf("%" PRId64 " tick(s)\n", event.data);
		else if (event.filter == XPOLL_FILT_SIGNAL && event.ident == SIGHUP)
			printf("%" PRId64 " hang-up(s): reload the configuration here\n",
			       event.data);
		else
			break;
	}
	printf("%s\n", event.ident == SIGTERM ? "terminated" : "an hour is over");
	xpoll_destroy(queue);
	return 0;
}
