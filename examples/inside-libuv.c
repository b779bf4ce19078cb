/*
 * A queue inside libuv's loop: an echo server that waits with xpoll (guest.c), in a program
 * whose loop is libuv's.
 *
 *     inside-libuv [PORT]
 *
 * The queue is one descriptor for the loop.  When it is readable, take what there is, without
 * waiting; between two rounds the loop serves its own handles.  Here the loop handles SIGINT and
 * SIGTERM.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <uv.h>

#include "guest.h"

static void queue_is_readable(uv_poll_t *handle, int status, int wanted)
{
	(void)handle, (void)status, (void)wanted;
	guest_serve();
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
	int fd = guest_open(argc > 1 ? argv[1] : "0");

	if (fd < 0)
		return 1;
	uv_poll_init(loop, &poll, fd);
	uv_poll_start(&poll, UV_READABLE, queue_is_readable);
	uv_signal_init(loop, &interrupt);
	uv_signal_start(&interrupt, on_signal, SIGINT);
	uv_signal_init(loop, &term);
	uv_signal_start(&term, on_signal, SIGTERM);
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
