/*
 * Send back what arrives, on any number of descriptors: echo-poll.c converted
 * line by line, as Figure 5 of the kqueue paper does it.
 *
 *     echo-queue [FD]...      a terminal or sockets; default 0: the terminal
 *
 * Changes are collected and go to the queue with the next wait, so they cost
 * no call of their own; and a wait looks only at the descriptors that are ready.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xpoll.h>

#define FDS    1024
#define EVENTS 64

static struct xpoll *queue;
static struct xpoll_event changes[FDS];
static struct buffer {
	char text[4096];
	ssize_t len;
} buffers[FDS];
static int nchanges, wanted;

static void update_fd(int fd, int filter, int action)
{
	wanted += (action == XPOLL_ADD) - (action == XPOLL_DELETE);
	xpoll_set(&changes[nchanges++], (uint64_t)fd, filter, action, 0, 0, NULL);
}

static void readable_fd(int fd)
{
	buffers[fd].len = read(fd, buffers[fd].text, sizeof buffers[fd].text);
	update_fd(fd, XPOLL_FILT_READ, XPOLL_DELETE);
	if (buffers[fd].len > 0)
		update_fd(fd, XPOLL_FILT_WRITE, XPOLL_ADD);
}

static void writeable_fd(int fd)
{
	ssize_t len = write(fd, buffers[fd].text, (size_t)buffers[fd].len);

	update_fd(fd, XPOLL_FILT_WRITE, XPOLL_DELETE);
	if (len == buffers[fd].len)
		update_fd(fd, XPOLL_FILT_READ, XPOLL_ADD);
}

static int handle_events(void)
{
	struct xpoll_event events[EVENTS];
	int n = xpoll_event(queue, changes, nchanges, events, EVENTS, -1);

	nchanges = 0;
	for (int i = 0; i < n; i++) {
		if (events[i].flags & XPOLL_ERROR)
			wanted--; /* the descriptor could not be registered */
		else if (events[i].filter == XPOLL_FILT_WRITE)
			writeable_fd((int)events[i].ident);
		else
			readable_fd((int)events[i].ident);
	}
	return n;
}

int main(int argc, char **argv)
{
	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("echo-queue");
		return 1;
	}
	if (argc == 1)
		update_fd(STDIN_FILENO, XPOLL_FILT_READ, XPOLL_ADD);
	for (int i = 1; i < argc && i < FDS; i++)
		update_fd(atoi(argv[i]) % FDS, XPOLL_FILT_READ, XPOLL_ADD);
	while (wanted > 0)
		if (handle_events() < 0)
			return 1;
	xpoll_destroy(queue);
	return 0;
}
