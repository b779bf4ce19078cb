/* Reading /proc about other processes. */
#ifndef XP_SYS_PROCFS_H
#define XP_SYS_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Called with each number; false ends the walk. */
typedef bool xp_procfs_visit(void *context, pid_t number);

/*
 * The threads of a process, or the children of all its threads.  A list that
 * changes meanwhile may be given in part.  0, or -ESRCH, -ENOENT (no /proc, or
 * a kernel that does not list children), -EMFILE, -ENFILE.
 */
int xp_procfs_threads(pid_t pid, xp_procfs_visit *visit, void *context);
int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context);

struct xp_procfs_signals {
	uint64_t blocked; /* bit N - 1: all these threads block signal N */
	bool asleep;      /* all of them sleep */
};

/*
 * Store what all threads of this process except the calling one have in common.  Returns 0, or like
 * xp_procfs_threads.
 */
int xp_procfs_signals(struct xp_procfs_signals *others);

/*
 * Store the wait status of a zombie.  -ESRCH: there is no such zombie; -EACCES: no permission to
 * read it.
 */
int xp_procfs_zombie_status(pid_t pid, int *status);

/*
 * A directory of /proc that stands for this process and no other one: what is read by it fails
 * once the process was reaped, even if another one has its number by then.  -ESRCH: there is no
 * such process, or the number is that of a thread; -ENOENT: no /proc; -EMFILE, -ENFILE.
 */
int xp_procfs_open(pid_t pid);
/*
 * Returns 0: the process of this directory has not exited; 1: it has, and was not reaped; *status
 * is its wait status, or -1 if the caller has no permission; -ESRCH: it was reaped.
 */
int xp_procfs_ended(int proc_fd, int *status);
/* Returns true if the descriptor is such a directory. */
bool xp_procfs_is_dir(int fd);

/*
 * Returns when a process started, on the monotonic clock, rounded down to the system's ticks of a
 * hundredth of a second; negative: unknown.
 */
int64_t xp_procfs_started(pid_t pid);

#endif
