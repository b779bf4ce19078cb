/*
 * Processes by descriptor.  Like all of sys/sys.h: results >= 0 or a negative
 * errno value, no cancellation points, and nothing here reaps.
 */
#ifndef XP_LINUX_SYS_PIDFD_H
#define XP_LINUX_SYS_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

/* -ESRCH: no such process; -ENOSYS: the kernel lacks it (Linux < 5.3). */
int xp_sys_pidfd_open(pid_t pid);

/* Has it ended and been reaped, so that its number may be another's? */
bool xp_sys_pidfd_reaped(int pidfd);

/*
 * The wait status, as waitpid(2) would give it: 0 and *status is set.  Of a
 * child that has ended and was not reaped; -ECHILD: it is none.
 */
int xp_sys_wait_status(int pidfd, int *status);
/* The same of a child by its number. */
int xp_sys_child_status(pid_t pid, int *status);
/* The wait status of a reaped process; -ENODATA: not reaped yet; -ENOTTY: Linux < 6.15. */
int xp_sys_pidfd_status(int pidfd, int *status);

#endif
