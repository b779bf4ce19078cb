/*
 * A queue inside GLib's main loop: an echo server that waits with xpoll (guest.c), in a program
 * whose loop is GLib's.
 *
 *     inside-glib [PORT]
 *
 * The queue is one descriptor for the loop.  When it is readable, take what there is, without
 * waiting; between two rounds the loop serves its own sources.  Here the loop handles SIGINT and
 * SIGTERM.
 */
#include <glib-unix.h>

#include "guest.h"

static gboolean queue_is_readable(gint fd, GIOCondition condition, gpointer unused)
{
	(void)fd, (void)condition, (void)unused;
	guest_serve();
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
	int fd = guest_open(argc > 1 ? argv[1] : "0");

	if (fd < 0)
		return 1;
	g_unix_fd_add(fd, G_IO_IN, queue_is_readable, NULL);
	g_unix_signal_add(SIGINT, on_signal, loop);
	g_unix_signal_add(SIGTERM, on_signal, loop);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return 0;
}
