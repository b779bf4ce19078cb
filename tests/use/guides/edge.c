/* choosing-a-mode.md, "Edge": one event for new activity, none for data that was left. */
#include "drive.h"

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fds[2], conn;

	drive_pipe(fds);
	CHECK(watch(queue, fds[0], &conn) == 0);
	drive_write(fds[1], 5000);
	CHECK(drive_events(queue, &event) == 1 && event.udata == &conn);
	CHECK(drive_events(queue, &event) == 0);
	CHECK(on_readable(fds[0]) == 0);
	drive_write(fds[1], 1);
	CHECK(drive_events(queue, &event) == 1);
	close(fds[1]);
	CHECK(drive_events(queue, &event) == 1);
	CHECK(on_readable(fds[0]) == -1);
	xpoll_destroy(queue);
	return 0;
}
