/* Both levels from C11: each reports a byte in a pipe.  The exit code is 0 if they do. */
#include <unistd.h>
#include <xpoll.h>

static int poll_like(struct xpoll *queue, int fd)
{
	void *data = NULL;

	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, &fd) < 0)
		return 1;
	if (xpoll_wait(queue, 1000) != 1)
		return 2;
	return xpoll_revents(queue, &data) == POLLIN && data == &fd ? 0 : 3;
}

static int event_level(struct xpoll *queue, int fd)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0, NULL);
	if (xpoll_event(queue, &event, 1, &event, 1, 1000000000) != 1)
		return 4;
	return event.ident == (uint64_t)fd && event.filter == XPOLL_FILT_READ ? 0 : 5;
}

int main(void)
{
	int fds[2];

	if (pipe(fds) < 0 || write(fds[1], "x", 1) != 1)
		return 6;
	struct xpoll *queue = xpoll_create(1);
	if (queue == NULL || xpoll_version() != XPOLL_VERSION)
		return 7;

	int failed = poll_like(queue, fds[0]);
	if (failed == 0)
		failed = event_level(queue, fds[0]);
	xpoll_destroy(queue);
	return failed;
}
