/*
 * The functions of the C library that this library replaces: those of common/real.h, and these.
 * Before real_init they are system calls.
 */
#ifndef DROPIN_REAL_H
#define DROPIN_REAL_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>

#include "common/real.h"

/* musl declares only freopen, but has a symbol of this name. */
#ifdef freopen64
#undef freopen64
FILE *freopen64(const char *path, const char *mode, FILE *stream);
#endif

struct real {
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *,
	             const sigset_t *);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *,
	               const struct timespec *, const sigset_t *);
	int (*unshare)(int);

	/* NULL before real_init, and if the C library lacks the function. */
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *,
	                 const sigset_t *, size_t);
	int (*pclose)(FILE *);
	FILE *(*freopen)(const char *, const char *, FILE *);
	FILE *(*freopen64)(const char *, const char *, FILE *);
	int (*closedir)(DIR *);
	int (*prctl)(int, ...);
};

extern struct real real;

/* Look up these functions and the common ones.  Not async-signal-safe; called at the start. */
void real_init(void);

#endif
