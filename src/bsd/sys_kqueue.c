/* kqueue(2) and kevent(2). */
#include "bsd/sys_kqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "sys/libcall.h"
#include "sys/pollbits.h"
#include "sys/sys.h"

int xp_sys_kqueue(void)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int fd = kqueue();

	/*
	 * Forked children do not inherit the kqueue, so another thread's fork and exec before this
	 * call cannot leak it.
	 */
	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return (int)xp_uncancelled_end(&before, fd);
}

int xp_sys_kevent_change(int queue_fd, struct kevent *changes, int count)
{
	static const struct timespec zero;
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc;

	for (int i = 0; i < count; i++)
		changes[i].flags |= EV_RECEIPT;
	/*
	 * Do not repeat the call after EINTR, because an interrupted call has applied the changes:
	 * return -EINTR.
	 */
	rc = kevent(queue_fd, changes, count, changes, count, &zero);
	if (rc >= 0 && rc < count) {
		errno = EIO;
		rc = -1;
	}
	rc = (int)xp_uncancelled_end(&before, rc);
	return rc < 0 ? rc : 0;
}

int xp_sys_kevent_now(int queue_fd, const struct kevent *changes, int count,
                      struct kevent *events, int cap)
{
	static const struct timespec zero;
	int rc;

	/* After EINTR only poll again: the interrupted call has applied the changes. */
	while ((rc = XP_UNCANCELLED(kevent(queue_fd, changes, count, events, cap, &zero))) ==
	       -EINTR)
		count = 0;
	return rc;
}

int xp_sys_kevent_wait(int queue_fd, const struct kevent *changes, int count,
                       struct kevent *events, int cap, int64_t deadline_ns)
{
	struct timespec left;

	return XP_LIBCALL(kevent(queue_fd, changes, count, events, cap,
	                         xp_sys_time_left(deadline_ns, &left)));
}

/*
 * Query what the filter reports about fd now, through a kqueue opened for this call.  Returns 1 and
 * the report in *record; 0: the filter reports nothing; or a negative errno value.
 */
static int kevent_query(int fd, int filter, struct kevent *record)
{
	int queue_fd = xp_sys_kqueue();
	int rc;

	if (queue_fd < 0)
		return queue_fd;
	xp_kq_ev_set(record, (uint64_t)fd, filter, EV_ADD, 0, 0);
	rc = xp_sys_kevent_now(queue_fd, record, 1, record, 1);
	xp_sys_close(queue_fd);
	return rc > 0 && record->flags & EV_ERROR ? -(int)record->data : rc;
}

int64_t xp_sys_kevent_ask(int fd, int filter)
{
	struct kevent record;
	int rc = kevent_query(fd, filter, &record);

	return rc > 0 ? record.data : rc;
}

#if XP_POLL_LACKS_RDHUP
bool xp_sys_half_closed(int fd)
{
	struct kevent record;

	return kevent_query(fd, EVFILT_READ, &record) > 0 && record.flags & EV_EOF;
}
#endif
