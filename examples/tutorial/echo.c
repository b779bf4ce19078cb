/*
 * Step 1: an echo server.  One thread serves every client.
 *
 *     ./echo [PORT]           then: nc 127.0.0.1 PORT
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xpoll.h>

static int listen_on(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		perror("echo");
		exit(1);
	}
	printf("listening on 127.0.0.1 port %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

/* Wait for data, or for a connection, on this descriptor from now on. */
static int watch(struct xpoll *queue, int fd)
{
	struct xpoll_event add;

	xpoll_set(&add, (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0, NULL);
	return xpoll_event(queue, &add, 1, NULL, 0, 0);
}

int main(int argc, char **argv)
{
	int listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	struct xpoll *queue = xpoll_open(NULL);
	struct xpoll_event events[64];
	char text[4096];

	signal(SIGPIPE, SIG_IGN); /* a client that has gone is no reason to end */
	if (queue == NULL || watch(queue, listener) < 0) {
		perror("echo");
		return 1;
	}
	for (;;) {
		int count = xpoll_event(queue, NULL, 0, events, 64, -1);

		for (int i = 0; i < count; i++) {
			int fd = (int)events[i].ident;

			if (fd == listener) {
				int client = accept(listener, NULL, NULL);

				if (client >= 0 && watch(queue, client) < 0)
					close(client);
				continue;
			}
			ssize_t len = read(fd, text, sizeof text);

			if (len <= 0 || write(fd, text, (size_t)len) < len)
				xpoll_close_fd(fd); /* the client has gone */
		}
	}
}
