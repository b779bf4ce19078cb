/*
 * Send each datagram back to where it came from, from several ports at once.
 *
 *     udp-echo PORT...        0 is any port; each port that is used is printed
 *
 * One event of a socket means that there is at least one datagram.  The sockets are
 * non-blocking and a few datagrams are taken for each event: a busy port keeps the others
 * waiting for a moment only, and level mode reports the rest again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <xpoll.h>

#define AT_ONCE 16

static int change(struct xpoll *queue, int ident, int filter)
{
	struct xpoll_event add;

	xpoll_set(&add, (uint64_t)ident, filter, XPOLL_ADD, 0, 0, NULL);
	return xpoll_event(queue, &add, 1, NULL, 0, 0);
}

/* Open a socket on 127.0.0.1 and register it.  Returns its descriptor; -1 with errno. */
static int open_port(struct xpoll *queue, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	address.sin_port = htons((uint16_t)atoi(port));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	printf("listening on 127.0.0.1 port %d\n", ntohs(address.sin_port));
	return change(queue, fd, XPOLL_FILT_READ);
}

static void answer(int fd)
{
	char text[65536];
	struct sockaddr_storage peer;

	for (int i = 0; i < AT_ONCE; i++) {
		socklen_t size = sizeof peer;
		ssize_t len = recvfrom(fd, text, sizeof text, 0, (struct sockaddr *)&peer, &size);

		if (len < 0)
			return; /* no datagram is left, or an earlier answer failed */
		/*
		 * An answer that does not fit into the socket's buffer is dropped, as datagrams may
		 * be.
		 */
		(void)sendto(fd, text, (size_t)len, 0, (struct sockaddr *)&peer, size);
	}
}

int main(int argc, char **argv)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event events[16];

	if (queue == NULL) {
		perror("udp-echo");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, SIG_IGN); /* the queue delivers ignored signals, too */
	if (argc < 2 || change(queue, SIGTERM, XPOLL_FILT_SIGNAL) < 0) {
		fprintf(stderr, "usage: udp-echo PORT...\n");
		xpoll_destroy(queue);
		return 1;
	}
	for (int i = 1; i < argc; i++)
		if (open_port(queue, argv[i]) < 0) {
			perror(argv[i]);
			xpoll_destroy(queue);
			return 1;
		}
	for (;;) {
		int count = xpoll_event(queue, NULL, 0, events, 16, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].filter == XPOLL_FILT_SIGNAL) {
				xpoll_destroy(queue);
				return 0;
			}
			answer((int)events[i].ident);
		}
		if (count < 0 && errno != EINTR)
			return 1;
	}
}
