/*
 * /dev/poll, of Solaris 7 and later and of illumos: see sys.h for the
 * conventions.  A set of numbers that is changed by write(2) and asked by
 * ioctl(2).
 */
#ifndef XP_SUNOS_SYS_DEVPOLL_H
#define XP_SUNOS_SYS_DEVPOLL_H

#include <poll.h>
#include <stdint.h>
#include <sys/devpoll.h>

/* An empty set; close-on-exec. */
int xp_sys_devpoll_open(void);

/*
 * Put numbers into the set, or take them out (POLLREMOVE).  The events of one
 * that is there already are ORed.  -EINVAL: more than the limit of descriptors.
 */
int xp_sys_devpoll_write(int device, const struct pollfd *fds, int count);

/* Is this number in the set? */
int xp_sys_devpoll_has(int device, int fd);

/*
 * Look, or wait until deadline_ns; the latter is a cancellation point.  How
 * many there are, up to cap; -EINVAL: cap is not below the limit of descriptors.
 */
int xp_sys_devpoll_now(int device, struct pollfd *fds, int cap);
int xp_sys_devpoll_wait(int device, struct pollfd *fds, int cap,
                        int64_t deadline_ns);

/* These bits, without those that this kernel has no word for. */
short xp_sys_devpoll_bits(uint32_t bits);

#endif
