/*
 * The counts of XPOLL_NOTE_COUNT, on systems other than Linux and the BSDs: the bytes that can be
 * read, by ioctl(2).  No call of these systems returns how many can be written, or the number of
 * connections that wait at a listener.
 */
#include <errno.h>
#include <sys/ioctl.h>
#ifdef __sun
#include <sys/filio.h>
#endif

#include "sys/libcall.h"
#include "sys/pollbits.h"
#include "sys/sys.h"

#if XP_POLL_LACKS_RDHUP
/* Kernels without POLLRDHUP do not show a half-close before all data was read. */
bool xp_sys_half_closed(int fd)
{
	(void)fd;
	return false;
}
#endif

int64_t xp_sys_unread(int fd)
{
	int count = 0;
	int rc = xp_sys_is_listener(fd) ? -EINVAL : XP_LIBCALL(ioctl(fd, FIONREAD, &count));

	return rc < 0 ? rc : count;
}

/*
 * These systems have no call that returns the length of a listener's queue.  The queue calls this
 * only for readable sockets, and a readable listener has at least one connection, so return 1.
 */
int64_t xp_sys_backlog(int fd)
{
	return xp_sys_is_listener(fd) ? 1 : -EINVAL;
}

int64_t xp_sys_socket_room(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

int64_t xp_sys_pipe_room(int fd)
{
	(void)fd;
	return -ENOTSUP;
}
