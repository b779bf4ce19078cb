/* Reads states of processes and threads from Linux's /proc. */
#ifndef XP_SYS_PROCFS_H
#define XP_SYS_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Called with each ID of a list: the threads of a process, or the children of one thread.  Returns
 * false to skip the rest of this list.
 */
typedef bool xp_procfs_visit(void *context, pid_t number);

/*
 * Call `visit` with the ID of each thread of a process, or of each child of all its threads.  A
 * thread or child that begins or ends meanwhile may be missing.  Returns 0; -ENOENT, -ESRCH: no
 * such process; -ENOENT also without a /proc of this PID namespace, or if the kernel does not list
 * children; -EMFILE, -ENFILE.
 */
int xp_procfs_threads(pid_t pid, xp_procfs_visit *visit, void *context);
int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context);

struct xp_procfs_signals {
	/* bit N - 1 is set if all threads but the calling one block signal N */
	uint64_t others_blocked;
	bool others_asleep;      /* all threads but the calling one sleep */
};

/*
 * Read the states of all threads of this process except the calling one.  Errors are those of
 * xp_procfs_threads.
 */
int xp_procfs_signals(struct xp_procfs_signals *others);

/*
 * Store the wait status of a process that has exited and was not reaped.  -ESRCH: there is no such
 * zombie; -EACCES: no permission to read its status.
 */
int xp_procfs_zombie_status(pid_t pid, int *status);

/*
 * Open the directory of a process in /proc.  Reading files in it fails once the process was reaped,
 * even if another process has the ID by then.  -ESRCH: no such process, or the ID of a thread other
 * than the first; -ENOENT: no /proc of this PID namespace; -EMFILE, -ENFILE.
 */
int xp_procfs_open(pid_t pid);
/*
 * Returns 0: the process of this directory has not exited, or that is unknown for lack of
 * descriptors; 1: the process has exited and was not reaped, and *status is its wait status, or -1
 * if the caller has no permission; -ESRCH: the process was reaped.
 */
int xp_procfs_ended(int proc_fd, int *status);
/*
 * Returns true if fd refers to a directory.  For the descriptor of a process this shows that
 * xp_procfs_open opened it, and that it is no pidfd.
 */
bool xp_procfs_is_dir(int fd);

/*
 * Returns the time at which a process started, on the monotonic clock in nanoseconds, rounded down
 * to the kernel's ticks of mostly a hundredth of a second; negative: unknown.
 */
int64_t xp_procfs_start_time(pid_t pid);

#endif
