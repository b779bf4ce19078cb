/* choosing-a-mode.md, "Changing the mode": an ADD does not end edge mode, this does. */
#include "drive.h"

int main(void)
{
	struct xpoll *queue = drive_open();
	struct xpoll_event event;
	int fds[2], conn;

	drive_pipe(fds);
	CHECK(xpoll_ctl(queue, XPOLL_ADD | XPOLL_CLEAR, POLLIN, fds[0], NULL) == 0);
	drive_write(fds[1], 1);
	CHECK(drive_events(queue, &event) == 1);
	CHECK(xpoll_ctl(queue, XPOLL_ADD, POLLIN, fds[0], NULL) == 0);
	CHECK(drive_events(queue, &event) == 1); /* an ADD checks the condition again */
	CHECK(drive_events(queue, &event) == 0);
	CHECK(edge_to_level(queue, fds[0], &conn) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(drive_events(queue, &event) == 1 && event.udata == &conn);
	xpoll_destroy(queue);
	return 0;
}
