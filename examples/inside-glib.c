/*
 * A queue inside GLib's main loop: an echo server that waits with xpoll, in a program whose
 * loop is GLib's.
 *
 *     inside-glib [PORT]
 *
 * The queue is one descriptor for the loop.  When it is readable take what there is, without
 * waiting; the loop serves its own between two rounds.  Here SIGINT and SIGTERM are the loop's.
 */
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
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

static gboolean queue_is_readable(gint fd, GIOCondition condition, gpointer unused)
{
	struct xpoll_event events[64];
	int count = xpoll_event(queue, NULL, 0, events, 64, 0);

	(void)fd, (void)condition, (void)unused;
	for (int i = 0; i < count; i++)
		if (events[i].udata == NULL)
			connection_open(loopback_accept(listener));
		else
			connection_serve(events[i].udata);
	return G_SOURCE_CONTINUE;
}

static gboolean on_signal(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	int fd;

	queue = xpoll_open(NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = xpoll_fd(queue);
	if (fd < 0) {
		perror("inside-glib");
		return 1;
	}
	g_unix_fd_add(fd, G_IO_IN, queue_is_readable, NULL);
	g_unix_signal_add(SIGINT, on_signal, loop);
	g_unix_signal_add(SIGTERM, on_signal, loop);
	listener = loopback_listen(argc > 1 ? argv[1] : "0");
	if (listener < 0 || change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL) < 0)
		return 1;
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return 0;
}
