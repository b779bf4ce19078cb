/*
 * A server on a queue: a line is a request, the answer is a page, then the end.
 *
 *     pages-queue [-d] MILLISECONDS [PORT]
 *
 * A connection that is silent for that long is closed.  With -d the server becomes a daemon, and
 * its process id is printed.  pages-select.c is the same program on select(2).
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xpoll.h>

#include "loopback.h"

struct conn {
	struct conn *next, *prev;
	int fd, answering;
	size_t sent;
	int64_t last; /* time of the last event, in milliseconds */
};

static struct conn conns = { &conns, &conns, -1, 0, 0, 0 }; /* in the order of `last` */
static char page[4 << 20];
static struct xpoll *queue;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Call at each event of a connection: moves it to the end of the list. */
static void conn_touch(struct conn *it)
{
	it->next->prev = it->prev;
	it->prev->next = it->next;
	it->last = now_ms();
	it->next = &conns;
	it->prev = conns.prev;
	it->prev->next = it;
	conns.prev = it;
}

static void conn_close(struct conn *it)
{
	it->next->prev = it->prev;
	it->prev->next = it->next;
	xpoll_close_fd(it->fd);
	free(it);
}

static void conn_open(int fd)
{
	struct conn *it = fd < 0 ? NULL : calloc(1, sizeof *it);

	if (it == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	it->fd = fd;
	it->next = it->prev = it;
	conn_touch(it);
	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, it) < 0 ||
	    xpoll_ctl(queue, XPOLL_ADD | XPOLL_DISABLE, POLLOUT, fd, it) < 0)
		conn_close(it);
}

/*
 * Disable READ and enable WRITE.  They pass NULL, because both leave the pointer that ADD stored.
 */
static void conn_answer(struct conn *it)
{
	it->answering = 1;
	xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, it->fd, NULL);
	xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, it->fd, NULL);
}

/* Serve one event.  Returns -1 if the connection is to be closed. */
static int conn_serve(struct conn *it)
{
	char text[4096];
	ssize_t len;

	if (it->answering)
		len = write(it->fd, page + it->sent, sizeof page - it->sent);
	else
		len = read(it->fd, text, sizeof text);
	conn_touch(it);
	if (len <= 0)
		return len < 0 && errno == EAGAIN ? 0 : -1;
	if (it->answering)
		it->sent += (size_t)len;
	else if (memchr(text, '\n', (size_t)len) != NULL)
		conn_answer(it);
	return it->sent < sizeof page ? 0 : -1;
}

/*
 * Returns the milliseconds until the first connection has been silent for too long; -1 if there is
 * none.
 */
static int time_left(int64_t idle_ms)
{
	int64_t left = conns.next->last + idle_ms - now_ms();

	if (conns.next == &conns)
		return -1;
	return left > 0 ? (int)left : 0;
}

int main(int argc, char **argv)
{
	int daemon = argc > 1 && strcmp(argv[1], "-d") == 0;
	int64_t idle_ms = argc > 1 + daemon ? atoi(argv[1 + daemon]) : 0;
	int listener;
	void *data;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	listener = idle_ms > 0 ? loopback_listen(argc > 2 + daemon ? argv[2 + daemon] : "0") : -1;
	if (listener < 0) {
		fprintf(stderr, "usage: pages-queue [-d] MILLISECONDS [PORT]\n");
		return 1;
	}
	if (daemon && (pid = fork()) != 0) {
		printf("process %ld\n", (long)pid);
		return pid < 0;
	}
	memset(page, '.', sizeof page);
	/* Open the queue after fork(2), because a child cannot use its parent's queue. */
	queue = xpoll_create(1000);
	if (queue == NULL || xpoll_ctl(queue, XPOLL_ADD, POLLIN, listener, NULL) < 0) {
		perror("pages-queue");
		return 1;
	}
	while (xpoll_wait(queue, time_left(idle_ms)) >= 0) {
		while (xpoll_revents(queue, &data) != 0)
			if (data == NULL)
				conn_open(loopback_accept(listener));
			else if (conn_serve(data) < 0)
				conn_close(data);
		while (time_left(idle_ms) == 0)
			conn_close(conns.next);
	}
	return 1;
}
