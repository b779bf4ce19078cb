/* errors.md: the status of a change. */
#include <errno.h>

#include "drive.h"

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fds[2], conn;

	drive_pipe(fds);
	CHECK(add_reader(queue, fds[0], &conn) == 0);
	drive_write(fds[1], 1);
	CHECK(drive_events(queue, &event) == 1 && event.udata == &conn);
	close(fds[1]);
	CHECK(add_reader(queue, fds[1], &conn) == EBADF); /* and prints it */
	CHECK(add_reader(NULL, fds[0], &conn) == -1);
	xpoll_destroy(queue);
	return 0;
}
