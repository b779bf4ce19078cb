/*
 * Step 3: the echo server by four threads that share one queue.
 *
 *     ./pool [PORT]           then: nc 127.0.0.1 PORT
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
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
		perror("pool");
		exit(1);
	}
	printf("listening on 127.0.0.1 port %d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static struct xpoll *queue;
static int listener;

static int change(int fd, int flags)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, XPOLL_FILT_READ, flags, 0, 0, NULL);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* In dispatch mode the descriptor is ours until we enable it again. */
static void serve(int fd)
{
	char text[4096];
	ssize_t len = read(fd, text, sizeof text);

	if (len <= 0 || write(fd, text, (size_t)len) < len)
		xpoll_close_fd(fd);
	else
		change(fd, XPOLL_ENABLE);
}

static void *work(void *unused)
{
	struct xpoll_event event;

	for (;;) {
		if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
			continue;
		if ((int)event.ident != listener) {
			serve((int)event.ident);
			continue;
		}
		int fd = accept(listener, NULL, NULL);

		change(listener, XPOLL_ENABLE);
		if (fd >= 0 && change(fd, XPOLL_ADD | XPOLL_DISPATCH) < 0)
			close(fd);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	listener = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	queue = xpoll_open(NULL);
	signal(SIGPIPE, SIG_IGN);
	if (queue == NULL || change(listener, XPOLL_ADD | XPOLL_DISPATCH) < 0) {
		perror("pool");
		return 1;
	}
	for (int i = 1; i < 4; i++)
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	work(NULL); /* the fourth */
	return 0;
}
