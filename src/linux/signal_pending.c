/*
 * Signals that are blocked when they arrive, for which no handler runs.  Each registration of a
 * blocked signal has a signalfd(2), which becomes readable when the signal is pending.  The
 * signalfd is in an epoll set, edge-triggered, and is read only to accept signals.
 */
#include "source/signal.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "linux/sys_linux.h"
#include "sys/procfs.h"
#include "sys/sys.h"

int xp_pending_open_set(void)
{
	int set = xp_sys_epoll_create();

	return set == -ENOSYS || set == -EPERM || set == -EACCES ? -ENOTSUP : set;
}

int xp_pending_open_fd(int set, unsigned number)
{
	int fd = xp_sys_signal_fd((int)number);
	int rc = fd < 0 ? fd : xp_sys_epoll_ctl(set, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, number);

	if (rc >= 0)
		return fd;
	if (fd >= 0)
		xp_sys_close(fd);
	return rc == -ENOSYS || rc == -EPERM || rc == -EACCES ? -ENOTSUP : rc;
}

unsigned xp_pending_next(int set)
{
	struct epoll_event event;

	return xp_sys_epoll_now(set, &event, 1) == 1 ? (unsigned)event.data.u64 : 0;
}

bool xp_pending_now(unsigned number)
{
	return xp_sys_signal_is_pending((int)number);
}

/* Returns true if the program has no handler for the signal; the library's own does not count. */
static bool is_unhandled(unsigned number)
{
	struct sigaction action;

	return xp_signal_action(number, NULL, &action) == 0 &&
		(action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL);
}

/*
 * Returns true if every thread but the calling one blocks the signal, or if that is unknown: /proc
 * is not available, or its masks have no bit for the number.
 */
static bool all_others_block(unsigned number)
{
	struct xp_procfs_signals others;

	return xp_procfs_signals(&others) < 0 || number > 64 ||
		others.others_blocked >> (number - 1) & 1;
}

bool xp_pending_may_be_resent(unsigned number)
{
	return is_unhandled(number) && all_others_block(number);
}

bool xp_pending_others_asleep(void)
{
	struct xp_procfs_signals others;

	return xp_procfs_signals(&others) < 0 || others.others_asleep;
}

bool xp_pending_accept(int fd, unsigned number)
{
	unsigned count = 0;

	if (!all_others_block(number))
		return false;
	while (xp_sys_signal_accept(fd))
		count++;
	xp_signal_count_accepted(number, count);
	return count > 0;
}
