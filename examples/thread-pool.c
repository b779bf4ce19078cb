/*
 * The echo server by a pool of threads that share one queue.
 *
 *     thread-pool [PORT]
 *
 * In dispatch mode an event goes to one thread, and there is no other event for
 * its connection until that thread enables it again: so no connection is in two
 * threads, and none needs a lock.  Ends on SIGINT and SIGTERM.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include <xpoll.h>

#include "loopback.h"

#define THREADS 4
#define FDS     1024
#define ADD     (XPOLL_ADD | XPOLL_DISPATCH)

static struct xpoll *queue;
static struct loopback_text texts[FDS]; /* indexed by descriptor */
static int listener;
static atomic_bool ending;

static int change(int ident, int filter, int flags)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)ident, filter, flags, 0, 0, NULL);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* Registers READ last, because another thread may own the connection from then on. */
static void accept_one(void)
{
	int fd = loopback_accept(listener);

	/* Without a free descriptor, accept again only once a connection is closed. */
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		change(listener, XPOLL_FILT_READ, XPOLL_ENABLE);
	if (fd >= FDS ||
	    (fd >= 0 && (change(fd, XPOLL_FILT_WRITE, ADD | XPOLL_DISABLE) < 0 ||
	                 change(fd, XPOLL_FILT_READ, ADD) < 0)))
		xpoll_close_fd(fd);
}

static void serve(int fd)
{
	int more = loopback_echo(fd, &texts[fd]);
	int next = more ? XPOLL_FILT_WRITE : XPOLL_FILT_READ;

	if (more >= 0 && change(fd, next, XPOLL_ENABLE) == 0)
		return;
	texts[fd].sent = texts[fd].len = 0;
	xpoll_close_fd(fd);
	change(listener, XPOLL_FILT_READ, XPOLL_ENABLE); /* a descriptor is free again */
}

static void *work(void *unused)
{
	struct xpoll_event event;

	while (!ending)
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
			continue;
		else if (event.filter == XPOLL_FILT_SIGNAL)
			ending = true;
		else if (event.ident == (uint64_t)listener)
			accept_one();
		else
			serve((int)event.ident);
	xpoll_wake(queue); /* one wake ends one wait: pass it on to the next thread */
	return unused;
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGPIPE, SIGINT, SIGTERM };
	pthread_t threads[THREADS];

	queue = xpoll_open(NULL);
	for (int i = 0; i < 3; i++)
		signal(signals[i], SIG_IGN); /* the queue delivers ignored signals, too */
	if (queue == NULL) {
		perror("thread-pool");
		return 1;
	}
	if (change(SIGINT, XPOLL_FILT_SIGNAL, XPOLL_ADD) < 0 ||
	    change(SIGTERM, XPOLL_FILT_SIGNAL, XPOLL_ADD) < 0 ||
	    (listener = loopback_listen(argc > 1 ? argv[1] : "0")) < 0 ||
	    change(listener, XPOLL_FILT_READ, ADD) < 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	xpoll_destroy(queue);
	return 0;
}
