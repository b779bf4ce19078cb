/*
 * The exported functions of <sys/epoll.h>.  They check the arguments and find the set that the
 * descriptor refers to, and call ep_ctl and ep_wait for the rest.
 */
#include <errno.h>
#include <limits.h>

#include "common/time.h"
#include "ep.h"
#include "real.h"

enum { EP_EVENTS_MOST = INT_MAX / (int)sizeof(struct epoll_event) };

/* Make a set.  Returns its descriptor or a negative errno value. */
static int ep_open(void)
{
	struct ep_set *set;
	int fd = ep_begin(&set);

	return fd < 0 ? fd : ep_publish(&set->object, fd);
}

EXPORT int epoll_create(int size)
{
	return xp_public_result(size <= 0 ? -EINVAL : ep_open());
}

EXPORT int epoll_create1(int flags)
{
	return xp_public_result(flags & ~EPOLL_CLOEXEC ? -EINVAL : ep_open());
}

/*
 * Returns the set that fd refers to, with a reference for the caller, and usable in this process.
 * On failure returns NULL and stores the error in *rc: -EBADF if fd is not open, -EINVAL if fd is
 * no set, or the error of ep_adopt_with_nested in a forked child.
 */
static struct ep_set *hold_or_fail(int fd, int *rc)
{
	struct ep_set *set = ep_hold(fd);
	int saved = errno;

	if (!set) {
		*rc = ep_real()->fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
		errno = saved;
		return NULL;
	}
	*rc = ep_adopt_with_nested(set);
	if (*rc == 0)
		return set;
	ep_drop(set);
	return NULL;
}

EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	/*
	 * passed to ep_ctl for EPOLL_CTL_DEL, because the program's pointer may be NULL or invalid
	 * then
	 */
	static const struct epoll_event none;
	struct ep_set *set;
	int state, rc;

	if (op != EPOLL_CTL_DEL && !event)
		return xp_public_result(-EFAULT);
	/*
	 * Disable cancellation: epoll_ctl(2) is no cancellation point, but functions called below
	 * may be.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ep_inside = true;
	set = hold_or_fail(epfd, &rc);
	if (set || rc == -EINVAL)
		rc = ep_ctl(set, op, fd, op == EPOLL_CTL_DEL ? &none : event);
	if (set)
		ep_drop(set);
	ep_inside = false;
	pthread_setcancelstate(state, NULL);
	return xp_public_result(rc);
}

/*
 * Clean-up handler of a thread that is cancelled in ep_wait: drop the thread's reference to the
 * set.
 */
static void drop_set_on_cancel(void *opaque)
{
	ep_inside = false;
	ep_drop(opaque);
}

/*
 * Common part of epoll_wait, epoll_pwait and epoll_pwait2.  timeout_ns < 0: no timeout.  Returns
 * like epoll_wait(2), and sets errno.
 */
static int call_wait(int epfd, struct epoll_event *events, int maxevents, int64_t timeout_ns,
                     const sigset_t *mask)
{
	struct ep_set *set;
	int state, rc;

	if (maxevents <= 0 || maxevents > EP_EVENTS_MOST)
		return xp_public_result(-EINVAL);
	if (!events)
		return xp_public_result(-EFAULT);
	ep_revive();
	/*
	 * Disable cancellation, because functions called below lock mutexes.  ep_wait restores the
	 * program's cancellation state only while this thread sleeps in the queue and holds no
	 * lock.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	set = hold_or_fail(epfd, &rc);
	if (set) {
		ep_inside = true;
		pthread_cleanup_push(drop_set_on_cancel, set);
		rc = ep_wait(set, events, maxevents, timeout_ns, mask, state);
		pthread_cleanup_pop(0);
		ep_inside = false;
		ep_drop(set);
	}
	pthread_setcancelstate(state, NULL);
	return xp_public_result(rc);
}

static int64_t ms_to_ns(int timeout)
{
	return timeout < 0 ? -1 : timeout * XP_NS_PER_MS;
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return call_wait(epfd, events, maxevents, ms_to_ns(timeout), NULL);
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout,
                       const sigset_t *sigmask)
{
	return call_wait(epfd, events, maxevents, ms_to_ns(timeout), sigmask);
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int maxevents,
                        const struct timespec *timeout, const sigset_t *sigmask)
{
	if (timeout && !timeout_is_valid(timeout))
		return xp_public_result(-EINVAL);
	return call_wait(epfd, events, maxevents, timeout ? timeout_ns(timeout) : -1, sigmask);
}
