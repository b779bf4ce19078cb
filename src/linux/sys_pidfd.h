/*
 * Processes by descriptor.  The conventions are those of sys/sys.h: results >= 0 or a negative
 * errno value, no cancellation points.  Nothing here reaps a process.
 */
#ifndef XP_LINUX_SYS_PIDFD_H
#define XP_LINUX_SYS_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

/* Open a pidfd.  -ESRCH: no such process; -ENOSYS: the kernel lacks it (Linux < 5.3). */
int xp_sys_pidfd_open(pid_t pid);

/* Returns true if the process has exited and been reaped, so that its ID may be reused. */
bool xp_sys_pidfd_reaped(int pidfd);

/*
 * Store the wait status of a child that has exited and was not reaped, like waitpid(2).  Returns 0;
 * -ECHILD: it is not such a child.
 */
int xp_sys_wait_status(int pidfd, int *status);
/* The same for a child by its process ID. */
int xp_sys_child_status(pid_t pid, int *status);
/* Store the wait status of a reaped process; -ENODATA: not reaped yet; -ENOTTY: Linux < 6.15. */
int xp_sys_pidfd_status(int pidfd, int *status);

#endif
