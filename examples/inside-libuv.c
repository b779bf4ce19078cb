/*
 * A queue inside libuv's loop: an echo server that waits with xpoll, in a program whose loop
 * is libuv's.
 *
 *     inside-libuv [PORT]
 *
 * The queue is one descriptor for the loop.  When it is readable take what there is, without
 * waiting; the loop serves its own between two rounds.  Here SIGINT and SIGTERM are the loop's.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>
#include <xpoll.h>

#include "loopback.h"

struct connection {
	int fd, waits; /* waits for room */
	struct loopback_text text;
};

static struct xpoll *queue;
static int listener;

static int change(int fd, int filter, int flags, void *udata)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, filter, flags, 0, 0, udata);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

static void connection_close(struct connection *it)
{
	xpoll_close_fd(it->fd);
	free(it);
}

static void connection_open(int fd)
{
	struct connection *it = fd < 0 ? NULL : calloc(1, sizeof *it);

	if (it == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	it->fd = fd;
	if (change(fd, XPOLL_FILT_READ, XPOLL_ADD, it) < 0 ||
	    change(fd, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_DISABLE, it) < 0)
		connection_close(it);
}

/* READ or WRITE is enabled, never both: events of one array name it once at most. */
static void connection_serve(struct connection *it)
{
	int waits = loopback_echo(it->fd, &it->text);

	if (waits < 0) {
		connection_close(it);
	} else if (waits != it->waits) {
		it->waits = waits;
		change(it->fd, waits ? XPOLL_FILT_READ : XPOLL_FILT_WRITE, XPOLL_DISABLE, NULL);
		change(it->fd, waits ? XPOLL_FILT_WRITE : XPOLL_FILT_READ, XPOLL_ENABLE, NULL);
	}
}

static void queue_is_readable(uv_poll_t *handle, int status, int wanted)
{
	struct xpoll_event events[64];
	int count = xpoll_event(queue, NULL, 0, events, 64, 0);

	(void)handle, (void)status, (void)wanted;
	for (int i = 0; i < count; i++)
		if (events[i].udata == NULL)
			connection_open(loopback_accept(listener));
		else
			connection_serve(events[i].udata);
}

static void on_signal(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uv_signal_t interrupt, term;
	uv_poll_t poll;
	int fd;

	queue = xpoll_open(NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = xpoll_fd(queue);
	if (fd < 0) {
		perror("inside-libuv");
		return 1;
	}
	uv_poll_init(loop, &poll, fd);
	uv_poll_start(&poll, UV_READABLE, queue_is_readable);
	uv_signal_init(loop, &interrupt);
	uv_signal_start(&interrupt, on_signal, SIGINT);
	uv_signal_init(loop, &term);
	uv_signal_start(&term, on_signal, SIGTERM);
	listener = loopback_listen(argc > 1 ? argv[1] : "0");
	if (listener < 0 || change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL) < 0)
		return 1;
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
