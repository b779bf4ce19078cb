/* choosing-a-mode.md, "One-shot": the end of a connect, and then no registration. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "drive.h"

static int connecting(int listener)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(listener, (struct sockaddr *)&address, size) == 0);
	CHECK(listen(listener, 8) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK(connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);
	return fd;
}

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fd = connecting(socket(AF_INET, SOCK_STREAM, 0)), conn;

	CHECK(watch_connect(queue, fd, &conn) == 0);
	CHECK(xpoll_event(queue, NULL, 0, &event, 1, -1) == 1);
	CHECK(event.filter == XPOLL_FILT_WRITE && event.udata == &conn);
	CHECK(drive_events(queue, &event) == 0);
	xpoll_set(&event, (uint64_t)fd, XPOLL_FILT_WRITE, XPOLL_ENABLE, 0, 0, NULL);
	CHECK(xpoll_event(queue, &event, 1, NULL, 0, 0) == -1 && errno == ENOENT);
	xpoll_destroy(queue);
	return 0;
}
