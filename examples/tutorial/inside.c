/*
 * Step 6: a queue inside a loop that is not yours.  This one is a loop on poll(2) that
 * repeats what is typed; the queue adds a timer to it.
 *
 *     ./inside [MILLISECONDS] then type; end with Ctrl-D
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>

static int64_t ticks;

/* Whenever the queue's descriptor is readable: take what there is, and do not wait. */
static void queue_is_readable(struct xpoll *queue)
{
	struct xpoll_event events[16];
	int count = xpoll_event(queue, NULL, 0, events, 16, 0);

	for (int i = 0; i < count; i++)
		ticks += events[i].data;
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct pollfd watched[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
		                     { .events = POLLIN } };
	struct xpoll_event timer;
	char text[512];

	xpoll_set(&timer, 1, XPOLL_FILT_TIMER, XPOLL_ADD, XPOLL_NOTE_MSECONDS,
	          argc > 1 ? atoi(argv[1]) : 1000, NULL);
	watched[1].fd = xpoll_fd(queue);
	if (watched[1].fd < 0 || xpoll_event(queue, &timer, 1, NULL, 0, 0) < 0) {
		perror("inside");
		xpoll_destroy(queue);
		return 1;
	}
	while (poll(watched, 2, -1) >= 0) {
		if (watched[1].revents != 0)
			queue_is_readable(queue);
		if (watched[0].revents != 0) {
			ssize_t len = read(STDIN_FILENO, text, sizeof text);

			if (len <= 0)
				break;
			printf("after %" PRId64 " ticks: %.*s", ticks, (int)len, text);
			fflush(stdout);
		}
	}
	xpoll_destroy(queue);
	return 0;
}
