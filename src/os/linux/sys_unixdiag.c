/*
 * How many connections wait in a UNIX-domain listener.  Nothing but the
 * kernel's socket diagnosis knows; it is asked by the socket's inode.
 */
#include "os/linux/sys_linux.h"
#include "os/sys.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include "os/linux/sys_netlink.h"
#include "os/rawcall.h"

struct unix_question {
	struct nlmsghdr header;
	struct unix_diag_req request;
};

union unix_answer {
	struct nlmsghdr header;
	char bytes[512];
};

static int64_t unix_queue_in(union unix_answer *answer, int size)
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

/* The answer to a request is there when its sending returns. */
static int64_t unix_ask(int diag_fd, ino_t inode)
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
	return rc < 0 ? rc : unix_queue_in(&answer, length);
}

int64_t xp_sys_unix_backlog(int fd)
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
	count = unix_ask(diag_fd, status.st_ino);
	xp_sys_close(diag_fd);
	return count;
}
