/*
 * Replaces poll(2) and select(2) of the C library, for calls with descriptors of sets.  Here a
 * "set" is always an epoll instance (struct ep_set), not an fd_set.
 *
 * The descriptor of a set may be readable although the set has no event, and before
 * ep_notifier_start (see ep.h) the descriptor is never readable.  So a call with such a descriptor
 * checks the set (check_epoll_set) before and after the C library's call.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/time.h"
#include "ep.h"
#include "real.h"

/* One call of poll(2) or ppoll(2) with descriptors of epoll sets. */
struct polling {
	/*
	 * Allocated copy of the program's array.  check_all_sets removes all bits but POLLIN and
	 * POLLRDNORM from the `events` of epoll sets in this copy.
	 */
	struct pollfd *fds;
	nfds_t len;
	int64_t end_ns;     /* end of the timeout, monotonic clock; XP_NEVER: no timeout */
	const sigset_t *mask; /* signal mask during the C library's calls, or NULL */
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timeout_ns(&now);
}

/*
 * Returns true if fd refers to an epoll set.  Takes no lock and no reference, so the set may end at
 * any time.
 */
static bool is_epoll_set(int fd)
{
	struct number *number = number_at(fd);
	struct ep_object *object = number ? atomic_load(&number->object) : NULL;

	return object && object->kind == EP_SET;
}

/* Returns true if the array has the descriptor of an epoll set; false in a call by this library. */
static bool has_epoll_sets(struct pollfd *fds, nfds_t len)
{
	ep_revive();
	if (ep_inside || !ep_any_sets())
		return false;
	for (nfds_t i = 0; i < len; i++)
		if (is_epoll_set(fds[i].fd))
			return true;
	return false;
}

/*
 * Returns true if fd refers to a set that has an event.  If fd refers to a notifier's socket
 * (struct ep_notifier), also makes the socket readable if there is an event, or not readable if
 * there is none, and starts the notifier's thread, which makes the socket readable at later events.
 */
static bool check_epoll_set(int fd)
{
	struct ep_set *set = ep_hold(fd);
	bool ready = false;
	int state;

	if (!set)
		return false;
	/*
	 * Disable cancellation while locks are held.  The C library's call afterwards is a
	 * cancellation point again.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (ep_adopt_with_nested(set) == 0 && ep_notifier_start(set) == 0)
		ready = ep_is_ready(set);
	ep_drop(set);
	pthread_setcancelstate(state, NULL);
	return ready;
}

/*
 * Called before the first poll, for the epoll sets in the array: makes their descriptors pollable,
 * and their notifiers' sockets readable if the set has an event (check_epoll_set).  Keeps only
 * POLLIN and POLLRDNORM of the bits requested of them, because a set has no other condition.
 */
static void check_all_sets(struct polling *polling)
{
	for (nfds_t i = 0; i < polling->len; i++) {
		if (!is_epoll_set(polling->fds[i].fd))
			continue;
		polling->fds[i].events &= POLLIN | POLLRDNORM;
		(void)check_epoll_set(polling->fds[i].fd);
	}
}

/*
 * Returns left_ns (nanoseconds) as a timeout of poll(2), in ms, rounded up.  Returns -1 (no
 * timeout) if end_ns is XP_NEVER.
 */
static int poll_ms(int64_t end_ns, int64_t left_ns)
{
	int64_t left_ms = left_ns / XP_NS_PER_MS + (left_ns % XP_NS_PER_MS != 0);

	return end_ns == XP_NEVER ? -1 : left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Call the C library's ppoll with the time that is left until polling->end_ns. */
static int poll_once(struct polling *polling)
{
	struct timespec left;
	int64_t left_ns = polling->end_ns == XP_NEVER ? 0 : polling->end_ns - now_ns();

	if (left_ns < 0)
		left_ns = 0;
	/*
	 * macOS has no ppoll(2): call poll(2), which takes no mask.  No mask is lost, because on
	 * macOS this library defines no ppoll(2), so polling->mask is NULL.
	 */
	if (!ep_real()->ppoll)
		return ep_real()->poll(polling->fds, polling->len,
		                       poll_ms(polling->end_ns, left_ns));
	left.tv_sec = (time_t)(left_ns / XP_NS_PER_SEC);
	left.tv_nsec = (long)(left_ns % XP_NS_PER_SEC);
	return ep_real()->ppoll(polling->fds, polling->len,
	                        polling->end_ns == XP_NEVER ? NULL : &left, polling->mask);
}

/*
 * Correct POLLIN and POLLRDNORM of each epoll set after a call of the C library that found `count`
 * descriptors ready.  Returns how many descriptors are ready after the correction.
 *
 * The C library's result may be wrong: the descriptor of a set may be readable although the set has
 * no event.  On FreeBSD with several processors the descriptor may also become readable only a
 * moment after the event, if the descriptor refers to a kqueue that contains another kqueue.
 */
static int correct_revents(struct polling *polling, int count)
{
	for (nfds_t i = 0; i < polling->len; i++) {
		struct pollfd *one = &polling->fds[i];
		bool before = one->revents != 0;

		if (!is_epoll_set(one->fd))
			continue;
		one->revents &= (short)~(POLLIN | POLLRDNORM);
		if (check_epoll_set(one->fd))
			one->revents |= one->events;
		count += (one->revents != 0) - before;
	}
	return count;
}

/* Poll until a descriptor is ready or the timeout has passed.  Returns like poll(2). */
static int poll_until(struct polling *polling)
{
	int count;

	check_all_sets(polling);
	do {
		count = poll_once(polling);
		if (count < 0)
			return count;
		count = correct_revents(polling, count);
	} while (count == 0 && (polling->end_ns == XP_NEVER || now_ns() < polling->end_ns));
	return count;
}

/*
 * Returns the end of a timeout that begins now.  Returns XP_NEVER if left_ns is negative (no
 * timeout), or if the end would overflow.
 */
static int64_t end_of_timeout(int64_t left_ns)
{
	return left_ns < 0 ? XP_NEVER : xp_deadline(now_ns(), left_ns);
}

/* Do a poll(2) or ppoll(2) with epoll sets in the array.  timeout: nanoseconds; negative: none. */
static int poll_sets(struct pollfd *fds, nfds_t len, int64_t timeout, const sigset_t *mask)
{
	struct polling polling = {.len = len, .end_ns = end_of_timeout(timeout), .mask = mask};
	int count;

	polling.fds = malloc(len * sizeof *fds);
	if (!polling.fds) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(polling.fds, fds, len * sizeof *fds);
	pthread_cleanup_push(free, polling.fds);
	count = poll_until(&polling);
	for (nfds_t i = 0; i < len && count >= 0; i++)
		fds[i].revents = polling.fds[i].revents;
	pthread_cleanup_pop(1);
	return count;
}

EXPORT int poll(struct pollfd *fds, nfds_t len, int timeout)
{
	if (!has_epoll_sets(fds, len))
		return ep_real()->poll(fds, len, timeout);
	return poll_sets(fds, len, timeout < 0 ? -1 : timeout * XP_NS_PER_MS, NULL);
}

#ifndef __APPLE__
EXPORT int ppoll(struct pollfd *fds, nfds_t len, const struct timespec *timeout,
                 const sigset_t *mask)
{
	if (!has_epoll_sets(fds, len) || (timeout && !timeout_is_valid(timeout)))
		return ep_real()->ppoll(fds, len, timeout, mask);
	return poll_sets(fds, len, timeout ? timeout_ns(timeout) : -1, mask);
}
#endif

/* --- select ------------------------------------------------------------------------------ */

/*
 * Pointers to three fd_sets: to the program's, where each pointer may be NULL, or to copies of
 * them, where none is.
 */
struct selected {
	fd_set *in, *out, *except;
};

/*
 * Returns true if the program selects an epoll set for reading; false in a call by this library,
 * and for more descriptors than an fd_set has.
 */
static bool selects_epoll_sets(int len, const struct selected *selected)
{
	ep_revive();
	if (ep_inside || !ep_any_sets() || !selected->in || len > FD_SETSIZE)
		return false;
	for (int fd = 0; fd < len; fd++)
		if (FD_ISSET(fd, selected->in) && is_epoll_set(fd))
			return true;
	return false;
}

/*
 * Copy the fd_sets into `copies`, and remove epoll sets from the copies of `out` and `except`,
 * because an epoll set is never writable and has no exceptional condition.  Returns pointers to the
 * copies.
 */
static struct selected copy_fd_sets(int len, const struct selected *requested, fd_set copies[3])
{
	fd_set *const from[3] = {requested->in, requested->out, requested->except};

	for (int i = 0; i < 3; i++)
		if (from[i])
			copies[i] = *from[i];
		else
			FD_ZERO(&copies[i]);
	for (int fd = 0; fd < len; fd++) {
		if (!is_epoll_set(fd))
			continue;
		FD_CLR(fd, &copies[1]);
		FD_CLR(fd, &copies[2]);
	}
	return (struct selected){&copies[0], &copies[1], &copies[2]};
}

/*
 * Correct found->in for each epoll set in requested->in, after a call of the C library's pselect
 * that found `count` bits: add a set with an event, and remove a set without one.  Returns how many
 * bits the three fd_sets have after the correction.  (correct_revents does the same for poll.)
 */
static int correct_fd_sets(int len, const struct selected *requested,
                           const struct selected *found, int count)
{
	for (int fd = 0; fd < len; fd++) {
		bool before = FD_ISSET(fd, found->in), ready;

		if (!FD_ISSET(fd, requested->in) || !is_epoll_set(fd))
			continue;
		ready = check_epoll_set(fd);
		if (ready)
			FD_SET(fd, found->in);
		else
			FD_CLR(fd, found->in);
		count += ready - before;
	}
	return count;
}

/*
 * Do a select(2) or pselect(2) with epoll sets in requested->in, and store the results in the
 * requested fd_sets.  timeout: nanoseconds; negative: none.  Returns like select(2).
 */
static int select_sets(int len, const struct selected *requested, int64_t timeout,
                       const sigset_t *mask)
{
	int64_t end_ns = end_of_timeout(timeout);
	fd_set copies[3];
	struct selected found;
	int count;

	for (int fd = 0; fd < len; fd++)
		if (FD_ISSET(fd, requested->in) && is_epoll_set(fd))
			(void)check_epoll_set(fd);
	do {
		int64_t left_ns = end_ns == XP_NEVER ? 0 : end_ns - now_ns();
		struct timespec left = {0, 0};

		if (left_ns > 0) {
			left.tv_sec = (time_t)(left_ns / XP_NS_PER_SEC);
			left.tv_nsec = (long)(left_ns % XP_NS_PER_SEC);
		}
		found = copy_fd_sets(len, requested, copies);
		count = ep_real()->pselect(len, found.in, found.out, found.except,
		                           end_ns == XP_NEVER ? NULL : &left, mask);
		if (count < 0)
			return count;
		count = correct_fd_sets(len, requested, &found, count);
	} while (count == 0 && (end_ns == XP_NEVER || now_ns() < end_ns));
	*requested->in = *found.in;
	if (requested->out)
		*requested->out = *found.out;
	if (requested->except)
		*requested->except = *found.except;
	return count;
}

EXPORT int select(int len, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct selected requested = {in, out, except};
	struct timespec time;

	if (!selects_epoll_sets(len, &requested) ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return ep_real()->select(len, in, out, except, timeout);
	if (!timeout)
		return select_sets(len, &requested, -1, NULL);
	time.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
	time.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	return select_sets(len, &requested, timeout_ns(&time), NULL);
}

EXPORT int pselect(int len, fd_set *in, fd_set *out, fd_set *except,
                   const struct timespec *timeout, const sigset_t *mask)
{
	struct selected requested = {in, out, except};

	if (!selects_epoll_sets(len, &requested) || (timeout && !timeout_is_valid(timeout)))
		return ep_real()->pselect(len, in, out, except, timeout, mask);
	return select_sets(len, &requested, timeout ? timeout_ns(timeout) : -1, mask);
}
