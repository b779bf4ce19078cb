/*
 * The exit of a process by kqueue(2): the descriptor for a process is a kqueue with an EVFILT_PROC,
 * and is readable once the process has exited.  No process is reaped.
 */
#include <errno.h>

#include "bsd/sys_kqueue.h"
#include "source/proc_state.h"
#include "sys/sys.h"

static int proc_change(int fd, pid_t pid, int filter, uint32_t fflags)
{
	struct kevent change;
	int rc;

	xp_kq_ev_set(&change, (uint64_t)pid, filter, EV_ADD | EV_ONESHOT, fflags, 0);
	change.data = filter == EVFILT_TIMER; /* 1: a timer expires after a millisecond */
	rc = xp_sys_kevent_change(fd, &change, 1);
	return rc < 0 ? rc : -(int)change.data;
}

int xp_proc_open(pid_t pid)
{
	int fd = xp_sys_kqueue();
	int status;
	int rc;

	if (fd < 0)
		return fd;
	rc = proc_change(fd, pid, EVFILT_PROC, XP_KQ_EXIT);
	/*
	 * EACCES: macOS reports the wait status only to a process that may signal `pid`: do not
	 * request the status.
	 */
	if (rc == -EACCES)
		rc = proc_change(fd, pid, EVFILT_PROC, NOTE_EXIT);
	/*
	 * Some kernels return ESRCH for a zombie: for a child a timer makes the kqueue readable
	 * instead.
	 */
	if (rc == -ESRCH && xp_sys_peek_child(pid, &status) == 0)
		rc = proc_change(fd, pid, EVFILT_TIMER, 0);
	if (rc == 0)
		return fd;
	xp_sys_close(fd);
	return rc == -EINVAL || rc == -ENOTSUP ? -ENOTSUP : rc;
}

/* Returns false: the kernel makes the descriptor of xp_proc_open readable by itself. */
bool xp_proc_is_unpollable(int fd)
{
	(void)fd;
	return false;
}

/*
 * Does nothing in a forked child, which has no copy of the kqueue: fd is free there, or refers to
 * another file.
 */
void xp_proc_close_fd(int fd, bool forked)
{
	if (!forked)
		xp_sys_close(fd);
}

bool xp_proc_ended(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN};

	return xp_sys_poll_now(&probe, 1) > 0;
}

/*
 * Call after the process has exited.  Returns true if the process was reaped: its ID is unused, or
 * belongs to another process.
 */
bool xp_proc_reaped(int fd, pid_t pid)
{
	int again = xp_proc_open(pid);
	bool ended;

	(void)fd;
	if (again < 0)
		return again == -ESRCH;
	ended = xp_proc_ended(again);
	xp_sys_close(again);
	return !ended;
}

enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	struct kevent event;

	(void)tracked;
	if (!xp_proc_ended(fd))
		return XP_PROC_LIVES;
	if (xp_sys_peek_child(pid, status) == 0)
		return XP_PROC_STATUS;
	if (xp_sys_kevent_now(fd, NULL, 0, &event, 1) <= 0 ||
	    event.filter != EVFILT_PROC || event.fflags & XP_KQ_EXIT_UNKNOWN ||
	    (event.fflags & XP_KQ_EXIT) != XP_KQ_EXIT)
		return XP_PROC_ENDED;
	*status = (int)event.data;
	return XP_PROC_STATUS;
}
