/* retrofit-poll.md, step 6: both directions are registered once, and one is switched. */
#include <sys/socket.h>

#include "drive.h"

static int revents(struct xpoll *queue, void *conn)
{
	void *data = NULL;
	int bits = xpoll_wait(queue, 0) > 0 ? xpoll_revents(queue, &data) : 0;

	CHECK(bits == 0 || data == conn);
	return bits;
}

int main(void)
{
	struct xpoll *queue = drive_open();
	int fds[2], conn;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	CHECK(conn_watch(queue, fds[0], &conn) == 0);
	CHECK(revents(queue, &conn) == 0);
	CHECK(conn_want_write(queue, fds[0], true) == 0);
	CHECK(revents(queue, &conn) == POLLOUT);
	CHECK(conn_want_write(queue, fds[0], false) == 0);
	CHECK(revents(queue, &conn) == 0);
	drive_write(fds[1], 1);
	CHECK(revents(queue, &conn) == POLLIN);
	xpoll_destroy(queue);
	return 0;
}
