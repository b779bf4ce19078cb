/*
 * An echo server: one thread, level mode, the event level.
 *
 *     echo-server [PORT]
 *
 * A connection is watched either for reading, while its buffer is empty, or for
 * writing, while its peer is slower than we are.  Both filters are registered
 * once; then they are only enabled and disabled, which costs no system call.
 * End of file needs no special case: the buffer is empty whenever we read, so
 * when read(2) returns 0 everything was sent back.  Ends on SIGINT and SIGTERM.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <xpoll.h>

#include "loopback.h"

#define FDS   65536
#define BATCH 64

struct connection {
	int fd, waits; /* true: some of `text` waits until fd is writable */
	struct loopback_text text;
};

static struct xpoll *queue;
static struct connection *connections[FDS]; /* indexed by descriptor */
static int listener;
static volatile sig_atomic_t stopping;

static void on_signal(int number)
{
	(void)number;
	stopping = 1;
	xpoll_wake(queue); /* may be called here: it is async-signal-safe */
}

static int change(int fd, int filter, int flags, void *udata)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, filter, flags, 0, 0, udata);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

static void connection_close(struct connection *it)
{
	connections[it->fd] = NULL;
	xpoll_close_fd(it->fd);
	free(it);
	change(listener, XPOLL_FILT_READ, XPOLL_ENABLE, NULL); /* a descriptor is free again */
}

static void connection_open(int fd)
{
	struct connection *it = fd < FDS ? calloc(1, sizeof *it) : NULL;

	if (it == NULL) {
		close(fd);
		return;
	}
	it->fd = fd;
	connections[fd] = it;
	if (change(fd, XPOLL_FILT_READ, XPOLL_ADD, it) < 0 ||
	    change(fd, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_DISABLE, it) < 0)
		connection_close(it);
}

/* Serve one event.  Returns -1 if the connection is to be closed. */
static int connection_serve(struct connection *it)
{
	int more = loopback_echo(it->fd, &it->text);
	int wanted = more ? XPOLL_FILT_WRITE : XPOLL_FILT_READ;
	int other = more ? XPOLL_FILT_READ : XPOLL_FILT_WRITE;

	if (more < 0 || more == it->waits)
		return more < 0 ? -1 : 0;
	it->waits = more;
	change(it->fd, other, XPOLL_DISABLE, NULL);
	return change(it->fd, wanted, XPOLL_ENABLE, NULL);
}

static void accept_one(void)
{
	/* Accept one connection per event: level mode reports the listener again for the others. */
	int fd = loopback_accept(listener);

	if (fd >= 0)
		connection_open(fd);
	else if (errno == EMFILE || errno == ENFILE) /* stop until a connection is closed */
		change(listener, XPOLL_FILT_READ, XPOLL_DISABLE, NULL);
}

static void serve(const struct xpoll_event *event)
{
	struct connection *it = event->udata;

	if (it == NULL)
		accept_one();
	else if (connection_serve(it) < 0)
		connection_close(it);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct xpoll_event events[BATCH];
	int count = 0;

	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("echo-server");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	listener = loopback_listen(argc > 1 ? argv[1] : "0");
	if (listener < 0)
		return 1;
	change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL);
	while (!stopping && (count >= 0 || errno == EINTR)) {
		count = xpoll_event(queue, NULL, 0, events, BATCH, -1);
		for (int i = 0; i < count; i++)
			serve(&events[i]);
	}
	for (int fd = 0; fd < FDS; fd++)
		if (connections[fd] != NULL)
			connection_close(connections[fd]);
	xpoll_close_fd(listener);
	xpoll_destroy(queue);
	return stopping ? 0 : 1;
}
