/* choosing-a-mode.md, "Dispatch": no event until ENABLE, not even the end of file. */
#include "drive.h"

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fds[2], conn;

	drive_pipe(fds);
	CHECK(watch(queue, fds[0], &conn) == 0);
	drive_write(fds[1], 1);
	CHECK(drive_events(queue, &event) == 1 && event.udata == &conn);
	drive_write(fds[1], 1);
	close(fds[1]);
	CHECK(drive_events(queue, &event) == 0);
	CHECK(release(queue, fds[0]) == 0);
	CHECK(drive_events(queue, &event) == 1 && (event.flags & XPOLL_EOF) != 0);
	CHECK(drive_events(queue, &event) == 0);
	xpoll_destroy(queue);
	return 0;
}
