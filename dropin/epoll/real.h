/*
 * Pointers to the C library's functions that files.c and polling.c replace.  The pointers to
 * close(2) and the other functions that close descriptors are in common/real.h.
 */
#ifndef EP_REAL_H
#define EP_REAL_H

#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/types.h>
#include <time.h>

#include "common/real.h"

/*
 * Each member points to the C library's function of the same name.  The symbol in the C library may
 * have another name, such as __select50 for select on NetBSD.
 */
struct ep_real {
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
	               const sigset_t *);
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*write)(int, const void *, size_t);
	int (*dup)(int);
	int (*fcntl)(int, int, ...);
};

/*
 * Returns the C library's functions.  Looks them up first if this library's constructor has not run
 * yet.
 */
const struct ep_real *ep_real(void);

#endif
