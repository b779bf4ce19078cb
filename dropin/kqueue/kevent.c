/*
 * kevent: changes, then events.
 *
 * As FreeBSD's kernel does it: changes are made one after the other; one that
 * fails, or wants a receipt, takes a place in the caller's array; if there is
 * none left, the call ends there.  Where each change has a place of its own
 * xpoll_event does the same, and all is one call.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "kq.h"

enum {
	KQ_CHANGES = 32, /* in one call of xpoll_event */
	KQ_EVENTS = 64,  /* that fit on the stack */
};

#define KQ_NS_PER_S INT64_C(1000000000)

/* Nanoseconds; -1: for ever; -EINVAL as -2. */
static int64_t kq_timeout(const struct timespec *timeout)
{
	if (!timeout)
		return -1;
	if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 ||
	    timeout->tv_nsec >= KQ_NS_PER_S)
		return -2;
	if (timeout->tv_sec >= INT64_MAX / KQ_NS_PER_S)
		return INT64_MAX;
	return timeout->tv_sec * KQ_NS_PER_S + timeout->tv_nsec;
}

/*
 * An array for many events is too large for the stack, and a wait does not
 * allocate.  But the caller's is large enough for xpoll's records as well: they
 * lie in its second half, and each is copied out before it is overwritten.
 */
static struct xpoll_event *kq_room(struct kevent *events, int nevents)
{
	_Static_assert(2 * sizeof(struct xpoll_event) == sizeof *events,
	               "records are half as large as events");
	return (struct xpoll_event *)(void *)((char *)events +
		(size_t)nevents * sizeof(struct xpoll_event));
}

static int kq_wait_in(struct kq *kq, const struct xpoll_event *changes,
                      int nchanges, struct kevent *events, int nevents,
                      int64_t timeout_ns, struct xpoll_event *room)
{
	int count = xpoll_event(kq->queue, changes, nchanges, room, nevents,
	                        timeout_ns);

	for (int i = 0; i < count; i++) {
		struct xpoll_event record;
		struct kevent event;

		memcpy(&record, &room[i], sizeof record);
		kq_deliver(kq, &event, &record);
		memcpy(&events[i], &event, sizeof event);
	}
	return count;
}

static int kq_wait(struct kq *kq, const struct xpoll_event *changes,
                   int nchanges, struct kevent *events, int nevents,
                   int64_t timeout_ns)
{
	struct xpoll_event room[KQ_EVENTS];

	if (KQ_UNLIKELY(nevents > KQ_EVENTS))
		return kq_wait_in(kq, changes, nchanges, events, nevents,
		                  timeout_ns, kq_room(events, nevents));
	return kq_wait_in(kq, changes, nchanges, events, nevents, timeout_ns,
	                  room);
}

/* One by one; the number of places taken, or a negative errno. */
static int kq_changes(struct kq *kq, const struct kevent *changes, int nchanges,
                      struct kevent *events, int nevents, bool *over)
{
	int taken = 0;

	for (int i = 0; i < nchanges; i++) {
		struct kevent change = changes[i];
		int rc = kq_change(kq, &change);

		if (rc == 0 && !(change.flags & EV_RECEIPT && change.filter))
			continue;
		if (taken == nevents) {
			*over = true;
			return rc < 0 ? rc : taken;
		}
		change.flags = EV_ERROR;
		change.data = -rc;
		events[taken++] = change;
	}
	*over = taken > 0;
	return taken;
}

static KQ_COLD int kq_call_slowly(struct kq *kq, const struct kevent *changes,
                                  int nchanges, struct kevent *events,
                                  int nevents, const struct timespec *timeout)
{
	int64_t timeout_ns;
	bool over;
	int rc = kq_changes(kq, changes, nchanges, events, nevents, &over);

	if (rc < 0) {
		errno = -rc;
		return -1;
	}
	if (over || nevents == 0)
		return rc;
	timeout_ns = kq_timeout(timeout);
	if (timeout_ns == -2) {
		errno = EINVAL;
		return -1;
	}
	return kq_wait(kq, NULL, 0, events, nevents, timeout_ns);
}

static int kq_call(struct kq *kq, const struct kevent *changes, int nchanges,
                   struct kevent *events, int nevents,
                   const struct timespec *timeout)
{
	struct xpoll_event records[KQ_CHANGES];
	int64_t timeout_ns = kq_timeout(timeout);
	int i = 0;

	if (nevents > 0 &&
	    atomic_load_explicit(&kq->signals, memory_order_relaxed))
		kq_signals_renew(kq);
	while (i < nchanges && i < KQ_CHANGES &&
	       kq_translate(kq, &changes[i], &records[i]))
		i++;
	if (i < nchanges || nchanges > nevents || timeout_ns == -2)
		return kq_call_slowly(kq, changes, nchanges, events, nevents,
		                      timeout);
	if (nevents == 0)
		return 0;
	return kq_wait(kq, records, nchanges, events, nevents, timeout_ns);
}

/* Once there are changes, a thread is cancelled before them or not at all. */
static int kq_call_whole(struct kq *kq, const struct kevent *changes,
                         int nchanges, struct kevent *events, int nevents,
                         const struct timespec *timeout)
{
	int state, rc;

	if (nevents > 0)
		pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = kq_call(kq, changes, nchanges, events, nevents, timeout);
	pthread_setcancelstate(state, &state);
	return rc;
}

static void kq_cancelled(void *opaque)
{
	kq_drop(opaque);
}

KQ_EXPORT int kevent(int fd, const struct kevent *changelist, int nchanges,
                     struct kevent *eventlist, int nevents,
                     const struct timespec *timeout)
{
	struct kq *kq = kq_hold(fd);
	int rc;

	if (KQ_UNLIKELY(!kq))
		return -1;
	if (KQ_UNLIKELY(nchanges < 0 || nevents < 0 ||
	                (nchanges > 0 && !changelist) ||
	                (nevents > 0 && !eventlist))) {
		kq_drop(kq);
		errno = nchanges < 0 || nevents < 0 ? EINVAL : EFAULT;
		return -1;
	}
	pthread_cleanup_push(kq_cancelled, kq);
	if (nchanges > 0)
		rc = kq_call_whole(kq, changelist, nchanges, eventlist, nevents,
		                   timeout);
	else
		rc = kq_call(kq, NULL, 0, eventlist, nevents, timeout);
	pthread_cleanup_pop(0);
	kq_drop(kq);
	return rc;
}
