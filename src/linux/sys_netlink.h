/*
 * System calls for netlink sockets, by which the kernel sends reports as datagrams: see sys/sys.h
 * for the conventions.
 */
#ifndef XP_LINUX_SYS_NETLINK_H
#define XP_LINUX_SYS_NETLINK_H

#include <stddef.h>
#include <stdint.h>

struct sock_fprog;

/*
 * Open a socket that receives the multicast groups (bits) of a netlink family through a BPF filter.
 * -ENOTSUP: no such family; -EPERM: not permitted.
 */
int xp_sys_netlink_open(int family, uint32_t groups,
                        const struct sock_fprog *filter);

/* Enlarge the receive buffer to `bytes`, as far as permitted. */
void xp_sys_netlink_reserve(int fd, int bytes);

/* Send a datagram to the kernel.  -ECONNREFUSED: the kernel has no listener in this namespace. */
int xp_sys_netlink_send(int fd, const void *datagram, size_t size);

/* Most datagrams that one call of xp_sys_netlink_receive receives. */
enum { XP_NETLINK_MOST = 32 };

/*
 * Receive up to `most` datagrams, each into `size` bytes of `buffers`.  Returns their number, and
 * stores their lengths; the length 0 marks a datagram that the kernel did not send.  There may be
 * more even if the number is below `most`.  -EAGAIN: there is none now; -ENOBUFS: some were lost.
 */
int xp_sys_netlink_receive(int fd, void *buffers, size_t size, int lengths[], int most);

#endif
