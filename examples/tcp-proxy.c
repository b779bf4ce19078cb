/*
 * Pass connections on to another port of this machine, in both directions.
 *
 *     tcp-proxy TARGET [PORT] then connect to PORT; 0, or none, is any port
 *
 * A connection is two pipes, one for each direction.  A pipe waits for its source while it is
 * empty, and for its target while it is not: READ of one descriptor or WRITE of the other is
 * enabled, never both, so that a slow reader slows its writer down.  An end of file is passed
 * on by shutdown(2); when both directions have ended, so has the connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xpoll.h>

#include "loopback.h"

struct link;

struct direction {
	struct link *link;
	int from, to, ended;
	size_t sent, len;
	char text[16384];
};

struct link {
	struct direction there, back;
	struct link *next_dead;
};

static struct xpoll *queue;
static struct link *dead; /* links to free after this array of events, which may point to them */

static int change(int fd, int filter, int flags, void *udata)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, filter, flags, 0, 0, udata);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

static void link_close(struct link *it)
{
	xpoll_close_fd(it->there.from);
	xpoll_close_fd(it->there.to);
	it->there.from = -1;
	it->next_dead = dead;
	dead = it;
}

static int direction_open(struct direction *it, struct link *link, int from, int to)
{
	it->link = link;
	it->from = from;
	it->to = to;
	return change(from, XPOLL_FILT_READ, XPOLL_ADD, it) < 0 ||
	       change(to, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_DISABLE, it) < 0 ? -1 : 0;
}

static void link_open(int client, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct link *it = calloc(1, sizeof *it);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (client < 0 || it == NULL || server < 0 || fcntl(server, F_SETFL, O_NONBLOCK) < 0 ||
	    (connect(server, (struct sockaddr *)&address, sizeof address) < 0 &&
	     errno != EINPROGRESS)) {
		if (client >= 0)
			close(client);
		if (server >= 0)
			close(server);
		free(it);
		return;
	}
	/*
	 * Until the server's socket is connected, write(2) fails with EAGAIN; if connect(2) fails,
	 * read(2) returns its error.
	 */
	if (direction_open(&it->there, it, client, server) < 0 ||
	    direction_open(&it->back, it, server, client) < 0)
		link_close(it);
}

/* Read and write as far as possible.  Returns -1 if the connection is to be closed. */
static int direction_serve(struct direction *it)
{
	ssize_t len;

	if (it->sent == it->len) {
		len = read(it->from, it->text, sizeof it->text);
		if (len < 0)
			return errno == EAGAIN ? 0 : -1;
		it->sent = 0;
		it->len = (size_t)len;
		it->ended = len == 0;
	}
	len = it->ended ? 0 : write(it->to, it->text + it->sent, it->len - it->sent);
	if (len < 0 && errno != EAGAIN)
		return -1;
	it->sent += len > 0 ? (size_t)len : 0;
	change(it->from, XPOLL_FILT_READ,
	       it->sent == it->len && !it->ended ? XPOLL_ENABLE : XPOLL_DISABLE, NULL);
	change(it->to, XPOLL_FILT_WRITE, it->sent < it->len ? XPOLL_ENABLE : XPOLL_DISABLE, NULL);
	return it->ended && (shutdown(it->to, SHUT_WR) < 0 ||
	                     (it->link->there.ended && it->link->back.ended)) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct xpoll_event events[64];
	int listener, count;

	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("tcp-proxy");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (argc < 2 || (listener = loopback_listen(argc > 2 ? argv[2] : "0")) < 0 ||
	    change(listener, XPOLL_FILT_READ, XPOLL_ADD, NULL) < 0 ||
	    change(SIGTERM, XPOLL_FILT_SIGNAL, XPOLL_ADD, NULL) < 0) {
		fprintf(stderr, "usage: tcp-proxy TARGET [PORT]\n");
		return 1;
	}
	while ((count = xpoll_event(queue, NULL, 0, events, 64, -1)) >= 0 || errno == EINTR) {
		for (int i = 0; i < count; i++) {
			struct direction *it = events[i].udata;

			if (events[i].filter == XPOLL_FILT_SIGNAL)
				return 0;
			if (it == NULL)
				link_open(loopback_accept(listener), atoi(argv[1]));
			else if (it->link->there.from >= 0 && direction_serve(it) < 0)
				link_close(it->link);
		}
		for (struct link *it; (it = dead) != NULL; free(it))
			dead = it->next_dead;
	}
	return 1;
}
