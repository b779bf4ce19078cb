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

/*
 * The change that a loop makes most: READ or WRITE is switched on or off.
 * Neither fflags nor ext nor what they stand for matter then.
 */
static KQ_INLINE bool kq_switch(const struct kevent *change,
                                struct xpoll_event *record)
{
	if ((change->flags != EV_ENABLE && change->flags != EV_DISABLE) ||
	    (change->filter != EVFILT_READ && change->filter != EVFILT_WRITE))
		return false;
	record->ident = change->ident;
	record->filter = change->filter;
	record->flags = change->flags | XPOLL_SETUDATA;
	record->fflags = 0;
	record->data = 0;
	record->udata64 = 0;
	record->udata = change->udata;
	return true;
}

/* Inline, as all on the way from kevent to the wait: see src/os/sys_hot.h. */
static KQ_INLINE int kq_wait(struct kq *kq, const struct xpoll_event *changes,
                             int nchanges, struct kevent *events, int nevents,
                             int64_t timeout_ns)
{
	struct xpoll_event few[KQ_EVENTS], *room = few;
	int count, kept = 0;

	if (KQ_UNLIKELY(nevents > KQ_EVENTS))
		room = kq_room(events, nevents);
	do {
		count = xpoll_event(kq->queue, changes, nchanges, room, nevents,
		                    timeout_ns);
		for (int i = 0; i < count; i++) {
			struct xpoll_event record;
			struct kevent event;

			memcpy(&record, &room[i], sizeof record);
			if (KQ_LIKELY(kq_deliver(kq, &event, &record)))
				memcpy(&events[kept++], &event, sizeof event);
		}
		nchanges = 0;
		/* None was left of those there were: that is no timeout. */
	} while (KQ_UNLIKELY(count > 0 && kept == 0));
	return count < 0 ? count : kept;
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

/* Without room for any status the first that fails is the last. */
static int kq_call_changes(struct kq *kq, const struct kevent *changes,
                           int nchanges)
{
	for (int i = 0; i < nchanges; i++) {
		struct xpoll_event record;

		if (!kq_translate(kq, &changes[i], &record))
			return kq_call_slowly(kq, &changes[i], nchanges - i, NULL,
			                      0, NULL);
		if (xpoll_event(kq->queue, &record, 1, NULL, 0, 0) < 0)
			return -1;
	}
	return 0;
}

static KQ_INLINE int kq_call(struct kq *kq, const struct kevent *changes,
                             int nchanges, struct kevent *events, int nevents,
                             const struct timespec *timeout)
{
	struct xpoll_event records[KQ_CHANGES];
	int64_t timeout_ns = kq_timeout(timeout);
	int i = 0;

	if (nevents == 0)
		return kq_call_changes(kq, changes, nchanges);
	if (KQ_UNLIKELY(atomic_load_explicit(&kq->signals,
	                                     memory_order_relaxed)))
		kq_signals_renew(kq);
	while (i < nchanges && i < KQ_CHANGES &&
	       (kq_switch(&changes[i], &records[i]) ||
	        kq_translate(kq, &changes[i], &records[i])))
		i++;
	if (KQ_UNLIKELY(i < nchanges || nchanges > nevents || timeout_ns == -2))
		return kq_call_slowly(kq, changes, nchanges, events, nevents,
		                      timeout);
	return kq_wait(kq, records, nchanges, events, nevents, timeout_ns);
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
	/* Who is alone is cancelled by nobody once the call has begun. */
	bool whole = nchanges > 0 && !kq_alone();
	int state, rc;

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
	if (nchanges > 0 && nevents > 0)
		pthread_testcancel();
	/* Once there are changes, a thread is cancelled before them or not. */
	if (KQ_UNLIKELY(whole))
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = kq_call(kq, changelist, nchanges, eventlist, nevents, timeout);
	if (KQ_UNLIKELY(whole))
		pthread_setcancelstate(state, &state);
	pthread_cleanup_pop(0);
	kq_drop(kq);
	return rc;
}
