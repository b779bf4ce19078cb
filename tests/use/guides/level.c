/* choosing-a-mode.md, "Level": data that was not read is reported again. */
#include "drive.h"

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fds[2], conn;

	drive_pipe(fds);
	CHECK(watch(queue, fds[0], &conn) == 0);
	CHECK(drive_events(queue, &event) == 0);
	drive_write(fds[1], 5000);
	CHECK(drive_events(queue, &event) == 1 && event.udata == &conn);
	on_readable(fds[0]);
	CHECK(drive_events(queue, &event) == 1);
	on_readable(fds[0]);
	CHECK(drive_events(queue, &event) == 0);
	xpoll_destroy(queue);
	return 0;
}
