/* Netlink sockets.  None of these calls blocks or is a cancellation point. */
#include "linux/sys_netlink.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sys/rawcall.h"
#include "sys/sys.h"

static int set_option(int fd, int option, const void *value, socklen_t size)
{
	return (int)xp_rawcall(SYS_setsockopt, fd, SOL_SOCKET, option, (long)value,
	                       size, 0);
}

int xp_sys_netlink_open(int family, uint32_t groups,
                        const struct sock_fprog *filter)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = groups,
	};
	int fd = (int)xp_rawcall(SYS_socket, AF_NETLINK,
	                         SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	                         family, 0, 0, 0);
	int rc;

	if (fd == -EPROTONOSUPPORT || fd == -EAFNOSUPPORT)
		return -ENOTSUP;
	if (fd < 0)
		return fd == -EACCES ? -EPERM : fd;
	rc = set_option(fd, SO_ATTACH_FILTER, filter, sizeof *filter);
	if (rc == 0)
		rc = (int)xp_rawcall(SYS_bind, fd, (long)&address,
		                     sizeof address, 0, 0, 0);
	if (rc < 0) {
		xp_sys_close(fd);
		return rc == -EACCES ? -EPERM : rc;
	}
	return fd;
}

void xp_sys_netlink_reserve(int fd, int bytes)
{
	/*
	 * SO_RCVBUFFORCE may exceed the system's limit, but needs a capability: else use SO_RCVBUF.
	 */
	if (set_option(fd, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)set_option(fd, SO_RCVBUF, &bytes, sizeof bytes);
}

int xp_sys_netlink_send(int fd, const void *datagram, size_t size)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	return (int)xp_rawcall(SYS_sendto, fd, (long)datagram, (long)size,
	                       MSG_DONTWAIT, (long)&kernel, sizeof kernel);
}

/*
 * 32-bit systems on which all times have 64 bits have only SYS_recvmmsg_time64.  The two calls
 * differ in the timeout, which is not used.
 */
#ifndef SYS_recvmmsg
#define SYS_recvmmsg SYS_recvmmsg_time64
#endif

/* struct mmsghdr of recvmmsg(2), so that no declaration of the C library is needed. */
struct netlink_message {
	struct msghdr header;
	unsigned length;
};

int xp_sys_netlink_receive(int fd, void *buffers, size_t size, int lengths[], int most)
{
	struct netlink_message messages[XP_NETLINK_MOST];
	struct sockaddr_nl from[XP_NETLINK_MOST] = {{0}};
	struct iovec parts[XP_NETLINK_MOST];
	int rc;

	for (int i = 0; i < most; i++) {
		parts[i] = (struct iovec){(char *)buffers + (size_t)i * size, size};
		messages[i].header = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof from[i],
			.msg_iov = &parts[i],
			.msg_iovlen = 1,
		};
	}
	rc = (int)xp_rawcall(SYS_recvmmsg, fd, (long)messages, most, MSG_DONTWAIT, 0, 0);
	/* Only the kernel's datagrams have the sender 0. */
	for (int i = 0; i < most && i < rc; i++)
		lengths[i] = from[i].nl_pid != 0 ? 0 : (int)messages[i].length;
	return rc;
}
