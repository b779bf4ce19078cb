/*
 * How much can be read from or written to a descriptor.  Most functions make one or two system
 * calls.
 */
#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "linux/sys_netlink.h"
#include "sys/libcall.h"
#include "sys/rawcall.h"

/* Returns the number of bytes that the ioctl(2) `what` reports, or a negative errno value. */
static int64_t query_number(int fd, unsigned long what)
{
	int count = 0;
	long rc = xp_rawcall_3(SYS_ioctl, fd, (long)what, (long)&count);

	return rc < 0 ? rc : count;
}

int64_t xp_sys_unread(int fd)
{
	return query_number(fd, FIONREAD);
}

/* The backlog of a UNIX domain listener, by sock_diag(7), which finds the socket by its inode. */

struct unix_question {
	struct nlmsghdr header;
	struct unix_diag_req request;
};

union unix_answer {
	struct nlmsghdr header;
	char bytes[512];
};

/* Returns the length of the accept queue that the kernel's answer contains; -ENOENT: none. */
static int64_t unix_backlog_in(union unix_answer *answer, int size)
{
	struct unix_diag_msg *message = NLMSG_DATA(&answer->header);
	struct rtattr *part = (struct rtattr *)(uintptr_t)(message + 1);
	int left = size - (int)NLMSG_LENGTH(sizeof *message);

	if (left < 0 || answer->header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
		const struct unix_diag_rqlen *lengths = RTA_DATA(part);

		if (part->rta_type == UNIX_DIAG_RQLEN)
			return lengths->udiag_rqueue;
	}
	return -ENOENT;
}

/*
 * Query the backlog of a UNIX domain socket.  The kernel's answer can be read as soon as the
 * request was sent.
 */
static int64_t unix_query_backlog(int diag_fd, ino_t inode)
{
	struct unix_question question = {
		.header = {
			.nlmsg_len = sizeof question,
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.request = {
			.sdiag_family = AF_UNIX,
			.udiag_states = UINT32_MAX,
			.udiag_ino = (uint32_t)inode,
			.udiag_show = UDIAG_SHOW_RQLEN,
			.udiag_cookie = {UINT32_MAX, UINT32_MAX},
		},
	};
	union unix_answer answer;
	int length = 0;
	int rc = xp_sys_netlink_send(diag_fd, &question, sizeof question);

	if (rc >= 0)
		rc = xp_sys_netlink_receive(diag_fd, &answer, sizeof answer, &length, 1);
	return rc < 0 ? rc : unix_backlog_in(&answer, length);
}

/* Returns the backlog of a UNIX domain listener, or a negative errno value. */
static int64_t unix_backlog(int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);
	int64_t count;
	int diag_fd;

	if (rc < 0)
		return rc;
	diag_fd = (int)xp_rawcall(SYS_socket, AF_NETLINK,
	                          SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	                          NETLINK_SOCK_DIAG, 0, 0, 0);
	if (diag_fd < 0)
		return diag_fd;
	count = unix_query_backlog(diag_fd, status.st_ino);
	xp_sys_close(diag_fd);
	return count;
}

/* Returns the backlog of a socket other than TCP; -EINVAL: not a listener. */
static int64_t non_tcp_backlog(int fd)
{
	int64_t count;

	if (!xp_sys_is_listener(fd))
		return -EINVAL;
	count = unix_backlog(fd);
	/*
	 * Families other than UNIX report no number, and a UNIX listener's queue may be empty by
	 * now: return 1, because the contract is at least one.
	 */
	return count < 1 ? 1 : count;
}

int64_t xp_sys_backlog(int fd)
{
	struct tcp_info info = {0};

	if (xp_sys_option(fd, IPPROTO_TCP, TCP_INFO, &info, sizeof info) < 0)
		return non_tcp_backlog(fd);
	if (info.tcpi_state != TCP_LISTEN)
		return -EINVAL;
	/* For a listener the kernel stores the length of the accept queue in this field. */
	return info.tcpi_unacked < 1 ? 1 : info.tcpi_unacked;
}

int64_t xp_sys_socket_room(int fd)
{
	int64_t unsent = query_number(fd, SIOCOUTQ);
	int size = 0;
	int rc = xp_sys_option(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);

	if (rc < 0 || unsent < 0)
		return rc < 0 ? rc : unsent;
	return unsent < size ? size - unsent : 0;
}

int64_t xp_sys_unsent(int fd)
{
	int64_t unsent = query_number(fd, SIOCOUTQ);

	/*
	 * ENOTTY: a pipe, whose ends share one buffer, so the unsent bytes are those that no read
	 * has taken yet.
	 */
	return unsent == -ENOTTY ? query_number(fd, FIONREAD) : unsent;
}

int64_t xp_sys_pipe_size(int fd)
{
	return XP_LIBCALL(fcntl(fd, F_GETPIPE_SZ));
}

int64_t xp_sys_pipe_room(int fd)
{
	int64_t unread = xp_sys_unread(fd);
	int64_t size = xp_sys_pipe_size(fd);

	if (size < 0)
		return size;
	return unread < 0 ? unread : unread < size ? size - unread : 0;
}
