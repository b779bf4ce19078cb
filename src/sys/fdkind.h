/*
 * The kinds of files that the queue waits for in different ways, and the kind of a descriptor's
 * file.
 */
#ifndef XP_SYS_FDKIND_H
#define XP_SYS_FDKIND_H

#include <stdbool.h>

enum xp_fd_kind {
	XP_KIND_UNKNOWN, /* the file was not queried yet */
	XP_KIND_REGULAR,
	XP_KIND_DIRECTORY,
	/*
	 * a regular file of Linux's /proc or cgroup2: poll(2) may clear the bits that it returns,
	 * for example those of a mount table, so a later poll(2) lacks them (xp_fd_poll_clears)
	 */
	XP_KIND_CLEARED,
	XP_KIND_OTHER,
	/*
	 * a flag, no kind: set in each value below and in none above; poll(2) of such a file
	 * changes nothing
	 */
	XP_KIND_CAN_PROBE = 8,
	XP_KIND_SOCKET = 8,
	XP_KIND_FIFO,
	XP_KIND_TTY,
	XP_KIND_COUNTER,   /* eventfd, timerfd */
};

/*
 * Returns the kind of the descriptor's file, never XP_KIND_UNKNOWN, by up to three system calls.
 * -EBADF: fd is not open; -ENOMEM.
 */
int xp_fd_kind(int fd);

/*
 * Called by xp_fd_kind for a file for which fstat(2) reports no type, such as an eventfd: returns
 * its kind.
 */
int xp_fd_kind_anonymous(int fd);

/*
 * Called by xp_fd_kind for a regular file: returns true if poll(2) clears the condition that it
 * reports.  True for all files of Linux's /proc and cgroup2 file systems, because mount tables,
 * sysctls and PSI triggers are such files.
 */
bool xp_fd_poll_clears(int fd);

/*
 * Returns true if any thread may poll a file of this kind at any time without an effect.  False for
 * performance counters, mount tables and files of /proc/sys, because a poll consumes their
 * readiness; for a signalfd, whose readiness depends on the calling thread; and for each kind not
 * known to be harmless.
 */
static inline bool xp_kind_can_probe(enum xp_fd_kind kind)
{
	return kind & XP_KIND_CAN_PROBE;
}

#endif
