/* Netlink sockets: the kernel reports in datagrams. */
#ifndef XP_LINUX_SYS_NETLINK_H
#define XP_LINUX_SYS_NETLINK_H

#include <stddef.h>
#include <stdint.h>

struct sock_fprog;

/*
 * A socket that hears a multicast group of a netlink family through a filter.
 * -ENOTSUP: no such family; -EPERM: not for us.
 */
int xp_sys_netlink_open(int family, uint32_t groups,
                        const struct sock_fprog *filter);

/* Room for what was not read yet: as much of it as one may have. */
void xp_sys_netlink_reserve(int fd, int bytes);

/* To the kernel.  -ECONNREFUSED: it does not listen in this namespace. */
int xp_sys_netlink_send(int fd, const void *datagram, size_t size);

/* Datagrams that are received in one go, at most. */
enum { XP_NETLINK_MOST = 32 };

/*
 * Up to `most` datagrams from the kernel, each into `size` bytes of `buffers`: how many, and
 * their lengths, 0 for one from somebody else.  A short count need not mean that there are
 * no more.  -EAGAIN: there is none now; -ENOBUFS: some were lost.
 */
int xp_sys_netlink_receive(int fd, void *buffers, size_t size, int lengths[], int most);

#endif
