/*
 * The end of a process by pidfd_open(2): a descriptor of any process that can
 * be seen, readable once it has ended.  Nothing is reaped.
 */
#include <errno.h>

#include "os/linux/sys_pidfd.h"
#include "os/procfs.h"
#include "os/sys.h"
#include "source/proc_state.h"

int xp_proc_open(pid_t pid)
{
	int fd = xp_sys_pidfd_open(pid);

	switch (fd) {
	case -EINVAL: /* The number is a thread's, */
	case -ENOENT: /* as newer kernels say it. */
		return -ESRCH;
	case -ENOSYS:
	case -EPERM: /* What a sandbox says of a call that it does not know. */
	case -ENODEV:
		return -ENOTSUP;
	default:
		return fd;
	}
}

/* A child has a copy. */
void xp_proc_shut(int fd, bool forked)
{
	(void)forked;
	xp_sys_close(fd);
}

bool xp_proc_ended(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN};

	return xp_sys_poll_now(&probe, 1) > 0;
}

bool xp_proc_reaped(int fd, pid_t pid)
{
	(void)pid;
	return xp_sys_pidfd_reaped(fd);
}

/*
 * A child's status until it is reaped comes from waitid.  Of a process that was
 * reaped the kernel keeps it with the descriptor (Linux 6.15).  Either knows it only
 * of one that has ended; for a tracked process, which hardly is our child, the latter
 * comes first.  Of another's zombie, which is neither, /proc shows it to whoever may
 * look.
 */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	int seen;

	if (!tracked && xp_sys_wait_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (xp_sys_pidfd_status(fd, status) == 0)
		return XP_PROC_STATUS;
	if (!xp_proc_ended(fd))
		return XP_PROC_LIVES;
	/* Twice: it may be reaped in between, and /proc may not be had for a moment. */
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
