/*
 * The functions of the C library that this one stands in front of.
 *
 * Until real_init they are bare system calls, so that a constructor of another
 * library may poll before ours has run.  All are called through these pointers,
 * never by name: by name we would reach ourselves.
 */
#ifndef DROPIN_REAL_H
#define DROPIN_REAL_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>

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
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned, unsigned, int);
	int (*unshare)(int);
	int (*epoll_create)(int);
	int (*epoll_create1)(int);

	/* NULL before real_init, and where the C library has none. */
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *,
	                 const sigset_t *, size_t);
	void (*closefrom)(int);
	int (*fclose)(FILE *);
	int (*pclose)(FILE *);
	FILE *(*freopen)(const char *, const char *, FILE *);
	FILE *(*freopen64)(const char *, const char *, FILE *);
	int (*closedir)(DIR *);
};

extern struct real real;

/* Look all of them up.  Not async-signal-safe; called once, at the start. */
void real_init(void);

#endif
