/*
 * The exit of a process by pidfd_open(2): a descriptor of any visible process, readable once it has
 * exited.  Nothing is reaped.
 *
 * If a sandbox or an old kernel lacks pidfd_open(2), the descriptor is the directory of the process
 * in /proc, which is checked from time to time.
 */
#include <errno.h>
#include <stdatomic.h>

#include "linux/sys_pidfd.h"
#include "base/assert.h"
#include "sys/procfs.h"
#include "sys/sys.h"
#include "source/proc_state.h"

static atomic_bool refused; /* pidfd_open(2) was refused at least once */

bool xp_proc_is_polled(int fd)
{
	return atomic_load_explicit(&refused, memory_order_relaxed) && xp_procfs_is_dir(fd);
}

static int open_polled(pid_t pid)
{
	int fd;

	atomic_store(&refused, true);
	fd = xp_procfs_open(pid);
	return fd == -ENOENT ? -ENOTSUP : fd;
}

/*
 * The outcome of a polled process: waitid(2) returns it for a child, if /proc shows that the
 * process is still the same.
 */
static enum xp_proc_outcome polled_outcome(int fd, pid_t pid, int *status)
{
	int seen, waited;
	int rc = xp_procfs_ended(fd, &seen);

	if (rc == 0)
		return XP_PROC_LIVES;
	if (rc > 0 && xp_sys_child_status(pid, &waited) == 0 && xp_procfs_ended(fd, &seen) > 0)
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
	case -EINVAL: /* the number belongs to a thread, */
	case -ENOENT: /* in newer kernels */
		return -ESRCH;
	case -ENOSYS:
	case -EPERM: /* some sandboxes fail so for unknown calls */
	case -EACCES:
	case -ENODEV:
		return open_polled(pid);
	default:
		return fd;
	}
}

/* Close the descriptor; in a forked child it is a copy. */
void xp_proc_shut(int fd, bool forked)
{
	XP_ASSERT(fd >= 0);
	(void)forked;
	xp_sys_close(fd);
}

bool xp_proc_ended(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN};
	int status;

	if (xp_proc_is_polled(fd))
		return xp_procfs_ended(fd, &status) != 0;
	return xp_sys_poll_now(&probe, 1) > 0;
}

bool xp_proc_reaped(int fd, pid_t pid)
{
	int status;

	(void)pid;
	if (xp_proc_is_polled(fd))
		return xp_procfs_ended(fd, &status) < 0;
	return xp_sys_pidfd_reaped(fd);
}

/*
 * Find the wait status of an exited process.  waitid(2) returns it for a child that was not
 * reaped.  The kernel keeps it with the descriptor of a process that was reaped (Linux 6.15).  For
 * a tracked process, which is rarely our child, the latter is tried first.  For a zombie of another
 * parent, /proc shows it to those with permission.
 */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	int seen;

	XP_ASSERT(fd >= 0 && pid > 0);
	if (xp_proc_is_polled(fd))
		return polled_outcome(fd, pid, status);
	if (!tracked && xp_sys_wait_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (xp_sys_pidfd_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (!xp_proc_ended(fd))
		return XP_PROC_LIVES;
	/*
	 * Try twice: the process may be reaped in between, and /proc may be unavailable for a short
	 * time.
	 */
	for (int i = 0; i < 2; i++) {
		if (xp_procfs_zombie_status(pid, &seen) == 0 && !xp_sys_pidfd_reaped(fd)) {
			*status = seen;
			return XP_PROC_STATUS;
		}
		if (xp_sys_wait_status(fd, status) == 0 || xp_sys_pidfd_status(fd, status) == 0)
			return XP_PROC_STATUS;
	}
	return XP_PROC_ENDED;
}
