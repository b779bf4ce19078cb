/*
 * System calls for processes by descriptor: see sys/sys.h for the conventions.  None of them reaps
 * a process.
 */
#ifndef XP_LINUX_SYS_PIDFD_H
#define XP_LINUX_SYS_PIDFD_H

#include <stdbool.h>
#include <sys/types.h>

/* Open a pidfd.  -ESRCH: no such process; -ENOSYS: Linux < 5.3; xp_proc_open lists others. */
int xp_sys_pidfd_open(pid_t pid);

/* Returns true if the process has exited and was reaped, so that its ID may be reused. */
bool xp_sys_pidfd_reaped(int pidfd);

/*
 * Store the wait status of a child that has exited and was not reaped, as waitpid(2) would.
 * Returns 0; -ECHILD: not such a child; -ENODATA: not exited.
 */
int xp_sys_pidfd_peek_status(int pidfd, int *status);
/* Like xp_sys_pidfd_peek_status, for a child by its process ID. */
int xp_sys_pid_peek_status(pid_t pid, int *status);
/*
 * Store the wait status of a reaped process.  Returns 0; -ENODATA: not reaped yet.  Linux before
 * 6.15 does not keep the status, so this fails there: depending on the version with -ENOTTY or
 * -EINVAL, or with -ESRCH once the process was reaped.
 */
int xp_sys_pidfd_reaped_status(int pidfd, int *status);

#endif
