/*
 * How much can be read or written, as Linux says.  Each of these is one or
 * two system calls.
 */
#include "os/linux/sys_linux.h"
#include "os/sys.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int64_t ask(int fd, unsigned long what)
{
	int saved = errno;
	int count = 0;
	int rc = ioctl(fd, what, &count);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc < 0 ? rc : count;
}

int64_t xp_sys_unread(int fd)
{
	return ask(fd, FIONREAD);
}

/* Of a socket that is not TCP's. */
static int64_t other_backlog(int fd)
{
	int64_t count;

	if (!xp_sys_is_listener(fd))
		return -EINVAL;
	count = xp_sys_unix_backlog(fd);
	/* Others do not say; one is there, or was a moment ago. */
	return count < 1 ? 1 : count;
}

int64_t xp_sys_backlog(int fd)
{
	struct tcp_info info = {0};

	if (xp_sys_option(fd, IPPROTO_TCP, TCP_INFO, &info, sizeof info) < 0)
		return other_backlog(fd);
	if (info.tcpi_state != TCP_LISTEN)
		return -EINVAL;
	/* For a listener this field is its queue. */
	return info.tcpi_unacked < 1 ? 1 : info.tcpi_unacked;
}

int64_t xp_sys_socket_room(int fd)
{
	int64_t unsent = ask(fd, SIOCOUTQ);
	int size = 0;
	int rc = xp_sys_option(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);

	if (rc < 0 || unsent < 0)
		return rc < 0 ? rc : unsent;
	return unsent < size ? size - unsent : 0;
}

int64_t xp_sys_unsent(int fd)
{
	int64_t unsent = ask(fd, SIOCOUTQ);

	/* A pipe has one buffer for both ends. */
	return unsent == -ENOTTY ? ask(fd, FIONREAD) : unsent;
}
