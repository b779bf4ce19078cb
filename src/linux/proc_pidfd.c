/*
 * The exit of a process by pidfd_open(2): a descriptor of any visible process, which becomes
 * readable when the process has exited.  Nothing here reaps a process.
 *
 * If a sandbox refuses pidfd_open(2) or an old kernel lacks it, the descriptor is the directory of
 * the process in /proc, which proc_trace.c checks at intervals (POLL_EVERY_NS).
 */
#include <errno.h>
#include <stdatomic.h>

#include "linux/sys_pidfd.h"
#include "base/assert.h"
#include "sys/procfs.h"
#include "sys/sys.h"
#include "source/proc_state.h"

/* pidfd_open(2) has failed at least once, so descriptors may be directories of /proc */
static atomic_bool refused;

bool xp_proc_is_unpollable(int fd)
{
	return atomic_load_explicit(&refused, memory_order_relaxed) && xp_procfs_is_dir(fd);
}

/*
 * Open the process's directory in /proc in place of a pidfd, which the kernel has refused: from now
 * on xp_proc_is_unpollable tests each descriptor.  -ENOTSUP: there is no /proc of this PID
 * namespace either.
 */
static int open_proc_dir(pid_t pid)
{
	int fd;

	atomic_store(&refused, true);
	fd = xp_procfs_open(pid);
	return fd == -ENOENT ? -ENOTSUP : fd;
}

/*
 * xp_proc_outcome with a directory of /proc.  For a child the status is waitid(2)'s, which is used
 * only if the directory then shows that the zombie is still the same process.
 */
static enum xp_proc_outcome proc_dir_outcome(int fd, pid_t pid, int *status)
{
	int seen, waited;
	int rc = xp_procfs_ended(fd, &seen);

	if (rc == 0)
		return XP_PROC_LIVES;
	if (rc > 0 && xp_sys_pid_peek_status(pid, &waited) == 0 && xp_procfs_ended(fd, &seen) > 0)
		*status = waited;
	else if (rc > 0 && seen >= 0)
		*status = seen;
	else
		return XP_PROC_ENDED;
	return XP_PROC_STATUS;
}

int xp_proc_open(pid_t pid)
{
	int fd = xp_sys_pidfd_open(pid);

	switch (fd) {
	case -EINVAL: /* pid is the ID of a thread */
	case -ENOENT: /* pid is the ID of a thread, in newer kernels */
		return -ESRCH;
	case -ENOSYS:
	case -EPERM: /* some sandboxes return this for calls that they do not know */
	case -EACCES:
	case -ENODEV:
		return open_proc_dir(pid);
	default:
		return fd;
	}
}

/* Close the descriptor; in a forked child, too, because the child has a copy. */
void xp_proc_close_fd(int fd, bool forked)
{
	XP_ASSERT(fd >= 0);
	(void)forked;
	xp_sys_close(fd);
}

bool xp_proc_ended(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN};
	int status;

	if (xp_proc_is_unpollable(fd))
		return xp_procfs_ended(fd, &status) != 0;
	return xp_sys_poll_now(&probe, 1) > 0;
}

bool xp_proc_reaped(int fd, pid_t pid)
{
	int status;

	(void)pid;
	if (xp_proc_is_unpollable(fd))
		return xp_procfs_ended(fd, &status) < 0;
	return xp_sys_pidfd_reaped(fd);
}

/*
 * Find the wait status of a process, if it has exited.  waitid(2) returns the status of a child
 * that was not reaped; PIDFD_GET_INFO that of a reaped process (Linux 6.15), and is called first
 * for a tracked process, which is rarely our child; /proc shows that of another process's zombie,
 * with permission.
 */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	int seen;

	XP_ASSERT(fd >= 0 && pid > 0);
	if (xp_proc_is_unpollable(fd))
		return proc_dir_outcome(fd, pid, status);
	if (!tracked && xp_sys_pidfd_peek_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (xp_sys_pidfd_reaped_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (!xp_proc_ended(fd))
		return XP_PROC_LIVES;
	/*
	 * Try twice, because the process may be reaped between two of the calls, and reading /proc
	 * may fail for a short time, for example for lack of a descriptor.
	 */
	for (int i = 0; i < 2; i++) {
		if (xp_procfs_zombie_status(pid, &seen) == 0 && !xp_sys_pidfd_reaped(fd)) {
			*status = seen;
			return XP_PROC_STATUS;
		}
		if (xp_sys_pidfd_peek_status(fd, status) == 0 ||
		    xp_sys_pidfd_reaped_status(fd, status) == 0)
			return XP_PROC_STATUS;
	}
	return XP_PROC_ENDED;
}
