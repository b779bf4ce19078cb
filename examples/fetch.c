/*
 * A client with timeouts: ask several servers of this machine at once, and wait for each no
 * longer than MILLISECONDS.
 *
 *     fetch MILLISECONDS PORT...
 *
 * A request has a timer of its own, whose ident is the request's number.  WRITE is ready when
 * connect(2) has succeeded or failed; it is needed once, so it is ONESHOT.  Ends with 0 if every
 * server has answered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xpoll.h>

#define REQUESTS 256

struct request {
	const char *port;
	int fd; /* -1: it has ended */
	size_t len;
};

static struct xpoll *queue;
static struct request requests[REQUESTS];
static int left, failed;

static int change(uint64_t ident, int filter, int flags, int64_t data, struct request *it)
{
	struct xpoll_event event;

	xpoll_set(&event, ident, filter, flags, 0, data, it);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* End a request.  error: why it failed; NULL: the answer is complete. */
static void finish(struct request *it, const char *error)
{
	if (error != NULL)
		printf("%s: %s\n", it->port, error);
	else
		printf("%s: %zu bytes\n", it->port, it->len);
	failed += error != NULL;
	left--;
	/* Fails with ENOENT if the timer has expired, because it is ONESHOT. */
	(void)change((uint64_t)(it - requests), XPOLL_FILT_TIMER, XPOLL_DELETE, 0, NULL);
	if (it->fd >= 0)
		xpoll_close_fd(it->fd);
	it->fd = -1;
}

static void start(struct request *it, int64_t timeout_ms)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_port = htons((uint16_t)atoi(it->port));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	it->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (it->fd < 0 || fcntl(it->fd, F_SETFL, O_NONBLOCK) < 0 ||
	    (connect(it->fd, (struct sockaddr *)&address, sizeof address) < 0 &&
	     errno != EINPROGRESS) ||
	    change((uint64_t)it->fd, XPOLL_FILT_WRITE, XPOLL_ADD | XPOLL_ONESHOT, 0, it) < 0 ||
	    change((uint64_t)(it - requests), XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_ONESHOT,
	           timeout_ms, it) < 0)
		finish(it, strerror(errno));
}

static void ask(struct request *it)
{
	static const char text[] = "GET / HTTP/1.0\r\n\r\n";

	if (write(it->fd, text, sizeof text - 1) < 0 ||
	    change((uint64_t)it->fd, XPOLL_FILT_READ, XPOLL_ADD, 0, it) < 0)
		finish(it, strerror(errno));
}

static void take(struct request *it)
{
	char text[4096];
	ssize_t len = read(it->fd, text, sizeof text);

	if (len > 0)
		it->len += (size_t)len;
	else if (len == 0)
		finish(it, NULL);
	else if (errno != EAGAIN)
		finish(it, strerror(errno));
}

int main(int argc, char **argv)
{
	struct xpoll_event events[64];

	queue = xpoll_open(NULL);
	if (queue == NULL) {
		perror("fetch");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	if (argc < 3 || argc - 2 > REQUESTS) {
		fprintf(stderr, "usage: fetch MILLISECONDS PORT...\n");
		xpoll_destroy(queue);
		return 2;
	}
	left = argc - 2;
	for (int i = 0; i < argc - 2; i++) {
		requests[i].port = argv[i + 2];
		start(&requests[i], atoi(argv[1]));
	}
	while (left > 0) {
		int count = xpoll_event(queue, NULL, 0, events, 64, -1);

		for (int i = 0; i < count; i++) {
			struct request *it = events[i].udata;

			if (it->fd < 0)
				continue; /* an earlier event of this array has ended the request */
			if (events[i].filter == XPOLL_FILT_TIMER)
				finish(it, "timeout");
			else if (events[i].filter == XPOLL_FILT_WRITE)
				ask(it);
			else
				take(it);
		}
	}
	xpoll_destroy(queue);
	return failed > 0;
}
