/*
 * kevent(2): applies changes, then returns events.
 *
 * FreeBSD's kernel applies changes one after the other.  The status of a change that fails, or has
 * EV_RECEIPT, takes an element of the caller's array; if no element is left, the call ends.
 * xpoll_event does the same in one call if the array has an element for each change, there are at
 * most KQ_CHANGES, and each can be translated into one record.  Otherwise the changes are applied
 * one by one, each in a call of its own, also if nevents is 0.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "common/numbers.h"
#include "common/time.h"
#include "kq.h"

enum {
	KQ_CHANGES = 32, /* the most changes in one call of xpoll_event */
	KQ_EVENTS = 64,  /* size of the array on the stack: see kq_records_array */
};

/* Returns the timeout in nanoseconds; -1: wait for ever; -2: the timeout is invalid. */
static int64_t kq_timeout(const struct timespec *timeout)
{
	if (!timeout)
		return -1;
	return timeout_is_valid(timeout) ? timeout_ns(timeout) : -2;
}

/*
 * Translate the most frequent change of an event loop: READ or WRITE is enabled or disabled.  Such
 * a change ignores fflags, data and ext.  Returns false for any other change.
 */
static XP_INLINE bool kq_translate_enable(const struct kevent *change,
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

/*
 * Translate the frequent changes of a connection: READ is added, or READ or WRITE is deleted,
 * without any fflags.  Returns false for any other change.  Also returns false if the change has
 * `ext` values, if the queue stores such values or has process descriptors (extras_len), or if READ
 * is added for the queue itself.
 */
static XP_INLINE bool kq_translate_add_delete(struct kq *kq,
                                              const struct kevent *change,
                                              struct xpoll_event *record)
{
	bool made = (change->flags & ~(EV_ENABLE | EV_CLEAR)) == EV_ADD;

	if ((made ? change->filter != EVFILT_READ || change->ident > INT_MAX
	          : change->flags != EV_DELETE ||
	            (change->filter != EVFILT_READ &&
	             change->filter != EVFILT_WRITE)) ||
	    change->fflags || kq_has_ext(change) ||
	    atomic_load_explicit(&kq->extras_len, memory_order_relaxed))
		return false;
	if (made && kq_of_fd((int)change->ident) == kq)
		return false;
	if (made)
		number_mark_registered((int)change->ident);
	record->ident = change->ident;
	record->filter = change->filter;
	record->flags = change->flags;
	record->fflags = XPOLL_NOTE_COUNT;
	record->data = 0;
	record->udata64 = 0;
	record->udata = change->udata;
	return true;
}

/* Translate a change into one record for xpoll.  Returns false if kq_change has to apply it. */
static XP_INLINE bool kq_to_record(struct kq *kq, const struct kevent *change,
                                   struct xpoll_event *record)
{
	return kq_translate_enable(change, record) ||
		kq_translate_add_delete(kq, change, record) ||
		kq_try_translate(kq, change, record);
}

/* Translate one record from xpoll into an event.  Returns false if the program must not get it. */
static XP_INLINE bool kq_return_event(struct kq *kq, struct kevent *event,
                                      const struct xpoll_event *record)
{
	event->ident = (uintptr_t)record->ident;
	event->filter = record->filter;
	event->flags = record->flags;
	event->fflags = record->fflags;
	/* Remove XPOLL_NOTE_COUNT, which this library requested, not the program. */
	if (record->filter == EVFILT_READ || record->filter == EVFILT_WRITE)
		event->fflags &= ~XPOLL_NOTE_COUNT;
	event->data = record->data;
	event->udata = record->udata;
	memset(event->ext, 0, sizeof event->ext);
	if (XP_LIKELY(!(event->flags & (EV_EOF | EV_ERROR | EV_ONESHOT)) &&
	              (event->filter != EVFILT_WRITE || event->data != 1) &&
	              !atomic_load_explicit(&kq->extras_len,
	                                    memory_order_relaxed) &&
	              !atomic_load_explicit(&kq->aio_requests,
	                                    memory_order_relaxed)))
		return true;
	return kq_deliver(kq, event);
}

/*
 * Translate `count` records that xpoll has stored in the caller's array, and return the number of
 * events.  That array is used if it is large, because a copy would be too large for the stack, and
 * a wait must not allocate.  An event is twice as large as a record, so the records are translated
 * from the last one on.  Only the first `count` elements are written, because a program may pass a
 * larger nevents than its array has.
 */
static XP_NOINLINE int kq_return_in_place(struct kq *kq, struct kevent *events,
                                          int count)
{
	const struct xpoll_event *records = (const void *)events;
	int first = count;

	_Static_assert(2 * sizeof *records == sizeof *events,
	               "an event covers two records");
	for (int i = count - 1; i >= 0; i--) {
		struct xpoll_event record;
		struct kevent event;

		memcpy(&record, &records[i], sizeof record);
		if (kq_return_event(kq, &event, &record))
			memcpy(&events[--first], &event, sizeof event);
	}
	if (first > 0)
		memmove(events, &events[first],
		        (size_t)(count - first) * sizeof *events);
	return count - first;
}

/* Returns the array for xpoll's records: `few` on the stack, or the caller's if that is larger. */
static XP_INLINE struct xpoll_event *kq_records_array(struct xpoll_event *few,
                                                      struct kevent *events, int nevents)
{
	return XP_LIKELY(nevents <= KQ_EVENTS) ? few : (void *)events;
}

/* Translate `count` records, in the array of kq_records_array.  Returns the number of events. */
static XP_INLINE int kq_return_all(struct kq *kq, struct kevent *events,
                                   const struct xpoll_event *few, int nevents,
                                   int count)
{
	int kept = 0;

	if (XP_UNLIKELY(nevents > KQ_EVENTS))
		return kq_return_in_place(kq, events, count);
	for (int i = 0; i < count; i++)
		kept += kq_return_event(kq, &events[kept], &few[i]);
	return kept;
}

static int64_t kq_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timeout_ns(&now);
}

/*
 * Like kq_wait, for a queue that has requests of asynchronous I/O: apply the changes and wait.  If
 * all events of a wait belong to deleted requests, the program gets none of them, and another wait
 * follows.  A signal between the two would interrupt neither, so signals are unblocked only during
 * the waits.
 */
static XP_NOINLINE int kq_wait_with_aio(struct kq *kq,
                                        const struct xpoll_event *changes,
                                        int nchanges, struct kevent *events,
                                        int nevents, int64_t timeout_ns)
{
	struct xpoll_event few[KQ_EVENTS];
	bool timed = timeout_ns > 0;
	int64_t end_ns = timed ? xp_deadline(kq_now(), timeout_ns) : 0;
	sigset_t mask;
	int count, kept = 0;

	kq_signals_block(&mask);
	pthread_cleanup_push(kq_signals_restore, &mask);
	do {
		count = xpoll_event_mask(kq->queue, changes, nchanges,
		                         kq_records_array(few, events, nevents), nevents,
		                         timeout_ns, &mask);
		kept = kq_return_all(kq, events, few, nevents, count);
		nchanges = 0;
		if (timed)
			timeout_ns = end_ns - kq_now();
		if (timed && timeout_ns < 0)
			timeout_ns = 0;
	} while (count > 0 && kept == 0);
	pthread_cleanup_pop(1);
	return count < 0 ? count : kept;
}

/*
 * Apply the changes and wait: in one call of xpoll_event, unless the queue has requests of
 * asynchronous I/O.  Inline, because each function between the program and the system call costs a
 * mispredicted return.
 */
static XP_INLINE int kq_wait(struct kq *kq, const struct xpoll_event *changes,
                             int nchanges, struct kevent *events, int nevents,
                             int64_t timeout_ns)
{
	struct xpoll_event few[KQ_EVENTS];
	int count;

	if (XP_UNLIKELY(atomic_load_explicit(&kq->aio_requests,
	                                     memory_order_relaxed)))
		return kq_wait_with_aio(kq, changes, nchanges, events, nevents,
		                        timeout_ns);
	count = xpoll_event(kq->queue, changes, nchanges,
	                    kq_records_array(few, events, nevents), nevents, timeout_ns);
	return XP_UNLIKELY(count < 0)
		? count : kq_return_all(kq, events, few, nevents, count);
}

/*
 * Returns the fflags of the status, the EV_ERROR event that reports the result rc of a change.
 * FreeBSD alters fflags while it applies a change.  In particular it moves those of an EV_ADD into
 * the new registration, which leaves 0, unless the change fails earlier.  fresh: this is an EV_ADD
 * with fflags, and its ident and filter were not registered before.
 */
static unsigned kq_status_fflags(const struct kevent *change, bool fresh, int rc)
{
	if (fresh && rc != -EBADF && rc != -EINVAL)
		return 0;
	if (change->filter == EVFILT_USER && rc == 0 && !(change->flags & EV_DELETE))
		return change->fflags & NOTE_FFLAGSMASK;
	return change->fflags;
}

/*
 * Apply changes one by one.  Returns the number of statuses stored in `events`, or a negative errno
 * value.  Sets *over if the call must not wait: a status was stored, or found no room in `events`.
 */
static int kq_changes(struct kq *kq, const struct kevent *changes, int nchanges,
                      struct kevent *events, int nevents, bool *over)
{
	int taken = 0;

	for (int i = 0; i < nchanges; i++) {
		struct kevent change = changes[i];
		bool fresh = change.flags & EV_ADD && change.fflags &&
			!kq_is_registered(kq, &change);
		int rc = kq_change(kq, &change);

		if (rc == 0 && !(change.flags & EV_RECEIPT && change.filter))
			continue;
		if (taken == nevents) {
			*over = true;
			return rc < 0 ? rc : taken;
		}
		change.fflags = kq_status_fflags(&change, fresh, rc);
		change.flags = EV_ERROR;
		change.data = -rc;
		events[taken++] = change;
	}
	*over = taken > 0;
	return taken;
}

/* Do a call whose changes one xpoll_event cannot apply: apply them one by one, then wait. */
static XP_COLD int kq_call_one_by_one(struct kq *kq, const struct kevent *changes,
                                      int nchanges, struct kevent *events,
                                      int nevents, const struct timespec *timeout)
{
	int64_t timeout_ns;
	bool over;
	int rc = kq_changes(kq, changes, nchanges, events, nevents, &over);

	if (rc < 0 || over || nevents == 0)
		return xp_public_result(rc);
	timeout_ns = kq_timeout(timeout);
	if (timeout_ns == -2)
		return xp_public_result(-EINVAL);
	return kq_wait(kq, NULL, 0, events, nevents, timeout_ns);
}

/*
 * Apply changes, some of which need several steps; there is no array for statuses, so the first
 * error ends the call.  If another thread could cancel this one, cancellation is disabled
 * meanwhile, because a cancelled thread would leave a change incomplete.
 */
static XP_NOINLINE int kq_call_other_changes(struct kq *kq,
                                             const struct kevent *changes,
                                             int nchanges)
{
	bool whole = !xp_single_threaded();
	int state, rc = 0;

	if (whole)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (int i = 0; i < nchanges && rc == 0; i++) {
		struct xpoll_event record;

		if (kq_to_record(kq, &changes[i], &record)) {
			rc = xpoll_event(kq->queue, &record, 1, NULL, 0, 0);
		} else {
			rc = kq_call_one_by_one(kq, &changes[i], nchanges - i, NULL, 0,
			                        NULL);
			break;
		}
	}
	if (whole)
		pthread_setcancelstate(state, &state);
	return rc;
}

/*
 * Do a call with nevents 0: apply the frequent changes, each in a call of xpoll_event.  From the
 * first other one on, kq_call_other_changes applies them.  The first error ends the call.  Returns
 * 0, or -1 with errno.
 */
static XP_INLINE int kq_call_changes(struct kq *kq,
                                     const struct kevent *changes, int nchanges)
{
	for (int i = 0; i < nchanges; i++) {
		struct xpoll_event record;

		if (!kq_translate_enable(&changes[i], &record) &&
		    !kq_translate_add_delete(kq, &changes[i], &record))
			return kq_call_other_changes(kq, &changes[i],
			                             nchanges - i);
		if (xpoll_event(kq->queue, &record, 1, NULL, 0, 0) < 0)
			return -1;
	}
	return 0;
}

/* Do the whole call on a queue that the caller holds (kq_hold).  Returns like kevent(2). */
static XP_INLINE int kq_call(struct kq *kq, const struct kevent *changes,
                             int nchanges, struct kevent *events, int nevents,
                             const struct timespec *timeout)
{
	struct xpoll_event records[KQ_CHANGES];
	int64_t timeout_ns;
	int i = 0;

	if (nevents == 0)
		return kq_call_changes(kq, changes, nchanges);
	timeout_ns = kq_timeout(timeout);
	if (XP_UNLIKELY(atomic_load_explicit(&kq->signals,
	                                     memory_order_relaxed)))
		kq_signals_renew(kq);
	while (i < nchanges && i < KQ_CHANGES &&
	       kq_to_record(kq, &changes[i], &records[i]))
		i++;
	if (XP_UNLIKELY(i < nchanges || nchanges > nevents || timeout_ns == -2))
		return kq_call_one_by_one(kq, changes, nchanges, events, nevents,
		                          timeout);
	return kq_wait(kq, records, nchanges, events, nevents, timeout_ns);
}

static void kq_cancelled(void *opaque)
{
	kq_drop(opaque);
}

EXPORT int kevent(int fd, const struct kevent *changelist, int nchanges,
                     struct kevent *eventlist, int nevents,
                     const struct timespec *timeout)
{
	struct kq *kq = kq_hold(fd);
	/*
	 * In a call with changes that may wait, a cancellation during the wait would lose the
	 * statuses of the applied changes: disable cancellation (whole), unless this is the only
	 * thread, which no other can cancel.
	 */
	bool whole = nchanges > 0 && nevents > 0 && !xp_single_threaded();
	int state, rc;

	if (XP_UNLIKELY(!kq))
		return -1;
	if (XP_UNLIKELY(nchanges < 0 || nevents < 0 ||
	                (nchanges > 0 && !changelist) ||
	                (nevents > 0 && !eventlist))) {
		kq_drop(kq);
		errno = nchanges < 0 || nevents < 0 ? EINVAL : EFAULT;
		return -1;
	}
	pthread_cleanup_push(kq_cancelled, kq);
	if (nchanges > 0 && nevents > 0)
		pthread_testcancel();
	/*
	 * In a call with changes and room for events, a thread is cancelled by pthread_testcancel
	 * above, before the first change, or not at all.  A later cancellation would lose the
	 * statuses of the changes, which the program gets as events.
	 */
	if (XP_UNLIKELY(whole))
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = kq_call(kq, changelist, nchanges, eventlist, nevents, timeout);
	if (XP_UNLIKELY(whole))
		pthread_setcancelstate(state, &state);
	pthread_cleanup_pop(0);
	kq_drop(kq);
	return rc;
}
