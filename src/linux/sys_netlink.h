/* Netlink sockets: the kernel reports in datagrams. */
#ifndef XP_LINUX_SYS_NETLINK_H
#define XP_LINUX_SYS_NETLINK_H

#include <stddef.h>
#include <stdint.h>

struct sock_fprog;

/*
 * Open a socket that receives a multicast group of a netlink family through a filter.  -ENOTSUP: no
 * such family; -EPERM: not permitted.
 */
int xp_sys_netlink_open(int family, uint32_t groups,
                        const struct sock_fprog *filter);

/* Enlarge the receive buffer, as far as permitted. */
void xp_sys_netlink_reserve(int fd, int bytes);

/* Send a datagram to the kernel.  -ECONNREFUSED: it does not listen in this namespace. */
int xp_sys_netlink_send(int fd, const void *datagram, size_t size);

/* Most datagrams that one call receives. */
enum { XP_NETLINK_MOST = 32 };

/*
 * Receive up to `most` datagrams, each into `size` bytes of `buffers`.  Returns their number and
 * stores their lengths; 0 for one that the kernel did not send.  A smaller number than `most` does
 * not mean that there are no more.  -EAGAIN: there is none now; -ENOBUFS: some were lost.
 */
int xp_sys_netlink_receive(int fd, void *buffers, size_t size, int lengths[], int most);

#endif
