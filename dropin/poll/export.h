/* For the files that export functions in place of the C library's. */
#ifndef DROPIN_EXPORT_H
#define DROPIN_EXPORT_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/real.h"

/* The return address, which identifies the place in the program that calls: see sites.h. */
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* The C library's headers declare these only for programs compiled with _FORTIFY_SOURCE. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms,
                      size_t size);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count,
                       const struct timespec *timeout, const sigset_t *mask,
                       size_t size);

/* For the benchmark: returns the number of system calls that calls with a set have made. */
EXPORT uint64_t xpoll_poll_syscalls(void);

#endif
