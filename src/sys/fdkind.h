/*
 * The kind of file that a descriptor refers to, as far as waiting is concerned.
 */
#ifndef XP_SYS_FDKIND_H
#define XP_SYS_FDKIND_H

#include <stdbool.h>

enum xp_fd_kind {
	XP_KIND_UNKNOWN, /* not looked up yet */
	XP_KIND_REGULAR,
	XP_KIND_DIRECTORY,
	XP_KIND_CLEARED,      /* a report takes away what it reports: see xp_fd_poll_clears */
	XP_KIND_OTHER,
	XP_KIND_CAN_PROBE = 8, /* a bit of those that follow */
	XP_KIND_SOCKET = 8,
	XP_KIND_FIFO,
	XP_KIND_TTY,
	XP_KIND_COUNTER,   /* eventfd, timerfd */
};

/* Up to three system calls; never XP_KIND_UNKNOWN.  -EBADF: not open; -ENOMEM. */
int xp_fd_kind(int fd);

/* For xp_fd_kind: the same of a file that has no type for fstat(2). */
int xp_fd_kind_anonymous(int fd);

/*
 * For xp_fd_kind: does this regular file report what is new since poll(2) was called
 * last?  Mount tables, sysctls, PSI triggers and others of Linux's /proc do.
 */
bool xp_fd_poll_clears(int fd);

/*
 * May poll(2) look at such a file at any time, from any thread, and change
 * nothing?  Not on perf descriptors, mount tables and /proc/sys files, where
 * looking consumes the readiness, nor on signalfd, which answers for the
 * calling thread.  Only kinds known to be harmless are.
 */
static inline bool xp_kind_can_probe(enum xp_fd_kind kind)
{
	return kind & XP_KIND_CAN_PROBE;
}

#endif
