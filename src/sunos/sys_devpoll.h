/*
 * /dev/poll, of Solaris 7 and later and of illumos: see sys/sys.h for the conventions.  The device
 * has a set of descriptors that is changed by write(2) and polled by ioctl(2).
 */
#ifndef XP_SUNOS_SYS_DEVPOLL_H
#define XP_SUNOS_SYS_DEVPOLL_H

#include <poll.h>
#include <stdint.h>
#include <sys/devpoll.h>

/* Open a device with an empty set; close-on-exec. */
int xp_sys_devpoll_open(void);

/*
 * Add descriptors to the set, or remove them (POLLREMOVE).  If a descriptor is in the set, the new
 * events are added to those that the set has for it.  -EINVAL: more records than the limit of open
 * files.
 */
int xp_sys_devpoll_write(int device, const struct pollfd *fds, int count);

/* Returns 1 if the descriptor is in the set, 0 if not. */
int xp_sys_devpoll_has(int device, int fd);

/*
 * Poll the set (now), or wait until deadline_ns (wait, a cancellation point).  Returns the number
 * of results, up to cap; -EINVAL: cap is not below the limit of open files.
 */
int xp_sys_devpoll_now(int device, struct pollfd *fds, int cap);
int xp_sys_devpoll_wait(int device, struct pollfd *fds, int cap,
                        int64_t deadline_ns);

/* Returns those of the requested bits that this kernel supports. */
short xp_sys_devpoll_bits(uint32_t bits);

#endif
