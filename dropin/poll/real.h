/*
 * Pointers to the C library's functions that this library replaces, apart from those in
 * common/real.h.  Before real_init the members `poll`, `ppoll`, `select`, `pselect` and `unshare`
 * make bare system calls.
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

/* musl does not declare freopen64, or only as a macro, but programs built for glibc call it. */
#undef freopen64
FILE *freopen64(const char *path, const char *mode, FILE *stream);

/*
 * Each member calls the C library's function of the same name; poll_chk and ppoll_chk call
 * __poll_chk and __ppoll_chk.
 */
struct real {
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *,
	             const sigset_t *);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *,
	               const struct timespec *, const sigset_t *);
	int (*unshare)(int);

	/* The following are NULL before real_init, and if the C library lacks the function. */
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

/*
 * Look up these functions and those of common/real.h.  Not async-signal-safe.  Called at the start,
 * or by constructors of other libraries that close a stream or directory before (files.c).
 */
void real_init(void);

#endif
