/*
 * The kind of file that a descriptor refers to, as far as waiting is concerned.
 */
#ifndef XP_SYS_FDKIND_H
#define XP_SYS_FDKIND_H

#include <stdbool.h>

enum xp_fd_kind {
	XP_KIND_UNKNOWN, /* not queried yet */
	XP_KIND_REGULAR,
	XP_KIND_DIRECTORY,
	XP_KIND_CLEARED,      /* a report takes away what it reports: see xp_fd_poll_clears */
	XP_KIND_OTHER,
	XP_KIND_CAN_PROBE = 8, /* flag of the kinds that follow */
	XP_KIND_SOCKET = 8,
	XP_KIND_FIFO,
	XP_KIND_TTY,
	XP_KIND_COUNTER,   /* eventfd, timerfd */
};

/* Up to three system calls; never XP_KIND_UNKNOWN.  -EBADF: not open; -ENOMEM. */
int xp_fd_kind(int fd);

/* For xp_fd_kind: returns the kind of a file for which fstat(2) reports no type. */
int xp_fd_kind_anonymous(int fd);

/*
 * For xp_fd_kind: returns true if poll(2) clears what it reports about this regular file.  That is
 * so for mount tables, sysctls, PSI triggers and others of Linux's /proc.
 */
bool xp_fd_poll_clears(int fd);

/*
 * Returns true if any thread may poll such a file at any time without an effect.  Not so for
 * performance counters, mount tables and files of /proc/sys, whose readiness a poll consumes, nor
 * for a signalfd, whose readiness depends on the calling thread.  Only kinds known to be harmless
 * return true.
 */
static inline bool xp_kind_can_probe(enum xp_fd_kind kind)
{
	return kind & XP_KIND_CAN_PROBE;
}

#endif
