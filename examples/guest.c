/* The echo server of guest.h. */
#include "guest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>

#include "loopback.h"

struct connection {
	int fd, waits; /* true: some of `text` waits until fd is writable */
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

/*
 * Serve one event.  Only one of READ and WRITE is enabled, so an array of events names the
 * connection at most once.
 */
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

void guest_serve(void)
{
	struct xpoll_event events[64];
	int count = xpoll_event(queue, NULL, 0, events, 64, 0);

	for (int i = 0; i < count; i++)
		if (events[i].udata == NULL)
			connection_open(loopback_accept(listener));
		else
			connection_serve(events[i].udata);
}

int guest_open(const char *port)
{
	int fd;

	queue = xpoll_open(NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = xpoll_fd(queue);
	if (fd < 0) {
		perror("xpoll_fd");
		return -1;
	}
	listener = loopback_listen(port);
	if (listener < 0 || change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL) < 0)
		return -1;
	return fd;
}
