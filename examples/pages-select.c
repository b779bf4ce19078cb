/*
 * A server on select(2): a line is a request, the answer is a page, then the end.
 *
 *     pages-select [-d] MILLISECONDS [PORT]
 *
 * A connection that is silent for that long is closed.  With -d the server becomes a daemon, and
 * its process id is printed.  pages-queue.c is the same program on a queue.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "loopback.h"

#define TICK_US 50000 /* period of the checks for timeouts */

struct conn {
	struct conn *next;
	int fd, answering;
	size_t sent;
	int64_t last; /* time of the last event, in milliseconds */
};

static struct conn *conns;
static char page[4 << 20];
static int listener;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void conn_open(int fd)
{
	struct conn *it = fd < 0 || fd >= FD_SETSIZE ? NULL : calloc(1, sizeof *it);

	if (it == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	it->fd = fd;
	it->last = now_ms();
	it->next = conns;
	conns = it;
}

/* Serve a ready connection.  Returns -1 if it is to be closed. */
static int conn_serve(struct conn *it)
{
	char text[4096];
	ssize_t len;

	if (it->answering)
		len = write(it->fd, page + it->sent, sizeof page - it->sent);
	else
		len = read(it->fd, text, sizeof text);
	it->last = now_ms();
	if (len <= 0)
		return len < 0 && errno == EAGAIN ? 0 : -1;
	if (it->answering)
		it->sent += (size_t)len;
	else
		it->answering = memchr(text, '\n', (size_t)len) != NULL;
	return it->sent < sizeof page ? 0 : -1;
}

static int pass(int64_t idle_ms)
{
	struct timeval tick = { .tv_usec = TICK_US };
	int64_t now;
	int max = listener;
	fd_set sets[2];

	FD_ZERO(&sets[0]);
	FD_ZERO(&sets[1]);
	FD_SET(listener, &sets[0]);
	for (struct conn *it = conns; it != NULL; it = it->next) {
		FD_SET(it->fd, &sets[it->answering]);
		max = it->fd > max ? it->fd : max;
	}
	if (select(max + 1, &sets[0], &sets[1], NULL, &tick) < 0)
		return -1;
	now = now_ms();
	for (struct conn **at = &conns, *it; (it = *at) != NULL;) {
		if (FD_ISSET(it->fd, &sets[it->answering]) ? conn_serve(it) == 0
		                                           : now - it->last < idle_ms) {
			at = &it->next;
			continue;
		}
		*at = it->next;
		close(it->fd);
		free(it);
	}
	if (FD_ISSET(listener, &sets[0]))
		conn_open(loopback_accept(listener));
	return 0;
}

int main(int argc, char **argv)
{
	int daemon = argc > 1 && strcmp(argv[1], "-d") == 0;
	int64_t idle_ms = argc > 1 + daemon ? atoi(argv[1 + daemon]) : 0;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	listener = idle_ms > 0 ? loopback_listen(argc > 2 + daemon ? argv[2 + daemon] : "0") : -1;
	if (listener < 0) {
		fprintf(stderr, "usage: pages-select [-d] MILLISECONDS [PORT]\n");
		return 1;
	}
	if (daemon && (pid = fork()) != 0) {
		printf("process %ld\n", (long)pid);
		return pid < 0;
	}
	memset(page, '.', sizeof page);
	while (pass(idle_ms) == 0)
		;
	return 1;
}
