/* The functions that this library exports in place of the C library's. */
#ifndef DROPIN_EXPORT_H
#define DROPIN_EXPORT_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/real.h"

/* The return address: identifies the call site in the program. */
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* No header of the C library declares these, without _FORTIFY_SOURCE. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms,
                      size_t size);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       size_t size);

/* For the benchmark: returns the number of system calls made with sets. */
EXPORT uint64_t xpoll_poll_syscalls(void);

#endif
