/*
 * Marks (sys/marks.h) of files without an inode number, to detect a reused descriptor: a disabled
 * filter for each, in a kqueue that no thread waits for.  The kernel removes the filter when the
 * descriptor is closed.
 */
#include "sys/marks.h"

#include <unistd.h>

#include "bsd/sys_kqueue.h"
#include "sys/sys.h"

int xp_marks_open(struct xp_marks *marks)
{
	int fd = xp_sys_kqueue();

	marks->open = fd >= 0;
	marks->fd = fd;
	marks->process = getpid();
	return fd < 0 ? fd : 0;
}

void xp_marks_close(struct xp_marks *marks)
{
	/*
	 * Close the kqueue only in the process that opened it: in a forked child fd may be another
	 * file.
	 */
	if (marks->open && marks->process == getpid())
		xp_sys_close(marks->fd);
	marks->open = false;
}

/* Apply a change to the filter of fd.  Returns 0; -ENOENT: fd has no filter; or another error. */
static int mark_change(const struct xp_marks *marks, int fd, unsigned flags)
{
	struct kevent change;
	int rc;

	xp_kq_ev_set(&change, (uint64_t)fd, EVFILT_READ, flags, 0, 0);
	rc = xp_sys_kevent_change(marks->fd, &change, 1);
	return rc < 0 ? rc : -(int)change.data;
}

int xp_marks_add(const struct xp_marks *marks, int fd)
{
	return mark_change(marks, fd, EV_ADD | EV_DISABLE);
}

void xp_marks_remove(const struct xp_marks *marks, int fd)
{
	(void)mark_change(marks, fd, EV_DELETE);
}

bool xp_marks_have(const struct xp_marks *marks, int fd)
{
	return mark_change(marks, fd, EV_DISABLE) == 0;
}
