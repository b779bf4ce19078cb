/*
 * Send back what arrives, on any number of descriptors: echo-queue.c without
 * tables, and without a test of each event's filter.
 *
 *     echo-udata [FD]...      a terminal or sockets; default 0: the terminal
 *
 * udata comes back with the event, untouched.  Figure 6 of the kqueue paper
 * keeps the function to be called there; here it is the connection, which
 * knows its function.  The loop is one line, whatever there is to be watched.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>

#define EVENTS 64

struct connection {
	void (*ready)(struct connection *);
	int fd;
	char text[4096];
	ssize_t len;
};

static struct xpoll *queue;
static int open_connections;

static void update(struct connection *it, int filter, int flags,
                   void (*ready)(struct connection *))
{
	struct xpoll_event change;

	it->ready = ready;
	xpoll_set(&change, (uint64_t)it->fd, filter, flags, 0, 0, it);
	if (ready != NULL && xpoll_event(queue, &change, 1, NULL, 0, 0) == 0)
		return;
	xpoll_close_fd(it->fd);
	free(it);
	open_connections--;
}

static void readable(struct connection *it);

/* Registered with DISPATCH: each event disables its filter until it is enabled again. */
static void writeable(struct connection *it)
{
	ssize_t len = write(it->fd, it->text, (size_t)it->len);

	update(it, XPOLL_FILT_READ, XPOLL_ENABLE, len == it->len ? readable : NULL);
}

static void readable(struct connection *it)
{
	it->len = read(it->fd, it->text, sizeof it->text);
	update(it, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_ENABLE | XPOLL_DISPATCH,
	       it->len > 0 ? writeable : NULL);
}

static void handle_events(void)
{
	struct xpoll_event events[EVENTS];
	int n = xpoll_event(queue, NULL, 0, events, EVENTS, -1);

	for (int i = 0; i < n; i++) {
		struct connection *it = events[i].udata;

		it->ready(it);
	}
}

static void add(int fd)
{
	struct connection *it = calloc(1, sizeof *it);

	if (it == NULL)
		return;
	it->fd = fd;
	open_connections++;
	update(it, XPOLL_FILT_READ, XPOLL_ADD | XPOLL_DISPATCH, readable);
}

int main(int argc, char **argv)
{
	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("echo-udata");
		return 1;
	}
	if (argc == 1)
		add(STDIN_FILENO);
	for (int i = 1; i < argc; i++)
		add(atoi(argv[i]));
	while (open_connections > 0)
		handle_events();
	xpoll_destroy(queue);
	return 0;
}
