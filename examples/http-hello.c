/*
 * A web server that says hello: one thread in level mode, or a pool of threads
 * around one queue in dispatch mode.
 *
 *     http-hello [--threads N] [PORT]
 *
 * With XPOLL_DISPATCH an event goes to exactly one thread and disables itself:
 * that thread owns the connection until it enables a filter again.  So no
 * connection needs a lock, and whoever owns it may free it.  Enabling rides
 * along with the next wait of the thread, in the same call.
 *
 * GET and keep-alive, pipelined requests, slow readers.  Ends on SIGINT, SIGTERM.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xpoll.h>

#include "loopback.h"

#define FDS         65536
#define BATCH       16
#define THREADS_MAX 64

/* What a connection may wait for besides a filter; filters are negative. */
enum { WANT_NOTHING, WANT_CLOSE };

#define HEAD "\r\nServer: xpoll\r\nContent-Type: text/plain\r\nContent-Length: "

static const char reply_hello[] =
	"HTTP/1.1 200 OK" HEAD "14\r\n\r\nHello, xpoll!\n";
static const char reply_method[] =
	"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET" HEAD "0\r\nConnection: close\r\n\r\n";
static const char reply_too_large[] =
	"HTTP/1.1 431 Request Header Fields Too Large" HEAD "0\r\nConnection: close\r\n\r\n";

struct connection {
	int fd;
	int last;                 /* close the connection when everything was sent */
	size_t in_len, out_len, out_sent;
	char in[2048], out[2048]; /* in ends with a NUL */
};

static struct xpoll *queue;
static _Atomic(struct connection *) connections[FDS]; /* indexed by descriptor */
static int listener;
static int mode_flags; /* XPOLL_DISPATCH, or 0 for level mode */
static atomic_bool stopping;

static void on_signal(int number)
{
	(void)number;
	stopping = true;
	xpoll_wake(queue);
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

/* Registers READ last, because another thread may own the connection from then on. */
static void connection_open(int fd)
{
	struct connection *it = fd < FDS ? calloc(1, sizeof *it) : NULL;

	if (it == NULL) {
		close(fd);
		return;
	}
	it->fd = fd;
	connections[fd] = it;
	if (change(fd, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_DISABLE | mode_flags, it) < 0 ||
	    change(fd, XPOLL_FILT_READ, XPOLL_ADD | mode_flags, it) < 0)
		connection_close(it);
}

static void connection_reply(struct connection *it, const char *reply, int last)
{
	size_t len = strlen(reply);

	memcpy(it->out + it->out_len, reply, len);
	it->out_len += len;
	it->last = last;
}

/* Answer the complete requests in `in`, as long as their answers fit into `out`. */
static void connection_answer(struct connection *it)
{
	const char *end;

	while (!it->last && it->out_len + 256 <= sizeof it->out &&
	       (end = strstr(it->in, "\r\n\r\n")) != NULL) {
		size_t len = (size_t)(end - it->in) + 4;
		const char *close_it = strstr(it->in, "\r\nConnection: close\r\n");
		const char *old = strstr(it->in, " HTTP/1.0\r\n");

		if (strncmp(it->in, "GET ", 4) == 0)
			connection_reply(it, reply_hello, (close_it != NULL && close_it < end) ||
			                                          (old != NULL && old < end));
		else
			connection_reply(it, reply_method, 1);
		it->in_len -= len;
		memmove(it->in, it->in + len, it->in_len + 1);
	}
	if (!it->last && it->out_len == 0 && it->in_len == sizeof it->in - 1)
		connection_reply(it, reply_too_large, 1);
}

/* Send and answer until nothing is left or the socket is full.  Returns what to wait for. */
static int connection_go_on(struct connection *it)
{
	for (;;) {
		ssize_t len;

		connection_answer(it);
		if (it->out_len == 0)
			return it->last ? WANT_CLOSE : XPOLL_FILT_READ;
		len = write(it->fd, it->out + it->out_sent, it->out_len - it->out_sent);
		if (len < 0)
			return errno == EAGAIN || errno == EINTR ? XPOLL_FILT_WRITE : WANT_CLOSE;
		it->out_sent += (size_t)len;
		if (it->out_sent < it->out_len)
			return XPOLL_FILT_WRITE;
		it->out_sent = it->out_len = 0;
	}
}

static int connection_read(struct connection *it)
{
	ssize_t len = read(it->fd, it->in + it->in_len, sizeof it->in - 1 - it->in_len);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return XPOLL_FILT_READ;
	if (len <= 0)
		return WANT_CLOSE;
	it->in_len += (size_t)len;
	it->in[it->in_len] = '\0';
	return connection_go_on(it);
}

/* Returns false if no descriptor is free: then stop until a connection is closed. */
static bool accept_all(void)
{
	int fd;

	while ((fd = loopback_accept(listener)) >= 0)
		connection_open(fd);
	return errno != EMFILE && errno != ENFILE;
}

/* Serve one event.  Returns what to wait for: a filter, or WANT_NOTHING or WANT_CLOSE. */
static int serve(const struct xpoll_event *event)
{
	struct connection *it = event->udata;

	if (it == NULL)
		return accept_all() ? XPOLL_FILT_READ : WANT_NOTHING;
	if (event->flags & XPOLL_ERROR) /* the filter could not be enabled */
		return WANT_CLOSE;
	return event->filter == XPOLL_FILT_READ ? connection_read(it) : connection_go_on(it);
}

/* Store the changes, two at most, that enable the filter `want`.  Returns their number. */
static int rearm(const struct xpoll_event *event, int want, struct xpoll_event *changes)
{
	int count = 0;

	/* In dispatch mode the event has disabled its filter. */
	if (mode_flags == 0 && want != event->filter)
		xpoll_set(&changes[count++], event->ident, event->filter, XPOLL_DISABLE, 0, 0,
		          event->udata);
	if (want != WANT_NOTHING && (mode_flags != 0 || want != event->filter))
		xpoll_set(&changes[count++], event->ident, want, XPOLL_ENABLE, 0, 0,
		          event->udata);
	return count;
}

static void *work(void *unused)
{
	struct xpoll_event changes[2 * BATCH];
	struct xpoll_event events[BATCH];
	int nchanges = 0;

	while (!stopping) {
		int count = xpoll_event(queue, changes, nchanges, events, BATCH, -1);

		nchanges = 0;
		for (int i = 0; i < count; i++) {
			int want = serve(&events[i]);

			if (want == WANT_CLOSE)
				connection_close(events[i].udata);
			else
				nchanges += rearm(&events[i], want, &changes[nchanges]);
		}
	}
	xpoll_wake(queue); /* one wake ends one wait: pass it on to the next thread */
	return unused;
}

static int run(int threads)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	pthread_t ids[THREADS_MAX];
	int started = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (change(listener, XPOLL_FILT_READ, XPOLL_ADD | mode_flags, NULL) < 0)
		return 1;
	while (started < threads - 1 && pthread_create(&ids[started], NULL, work, NULL) == 0)
		started++;
	work(NULL);
	while (started > 0)
		pthread_join(ids[--started], NULL);
	for (int fd = 0; fd < FDS; fd++)
		if (connections[fd] != NULL)
			connection_close(connections[fd]);
	return 0;
}

int main(int argc, char **argv)
{
	int threads = 1;
	int result;

	if (argc > 2 && strcmp(argv[1], "--threads") == 0) {
		threads = atoi(argv[2]);
		mode_flags = XPOLL_DISPATCH;
		argc -= 2;
		argv += 2;
	}
	if (argc > 2 || threads < 1 || threads > THREADS_MAX) {
		fprintf(stderr, "usage: http-hello [--threads N] [PORT]\n");
		return 2;
	}
	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("http-hello");
		return 1;
	}
	listener = loopback_listen(argc > 1 ? argv[1] : "8080");
	if (listener < 0)
		return 1;
	result = run(threads);
	xpoll_close_fd(listener);
	xpoll_destroy(queue);
	return result;
}
