/*
 * How much the kernel is asked for by one wait.
 *
 * A call takes all that is ready when it is made, as far as the caller's array
 * has room: the kernel's reports are harvested in chunks until one is not full.
 * It serves first what it has not reported yet, so a state that is reported
 * again means that all were.
 *
 * What is ready in user space is delivered first, and then the kernel is asked as
 * well, but for one case: after a check of candidates, which is all that the usual
 * wait of a program does that toggles its interest, it is asked only now and
 * then.  That saves a system call for each of them.
 */
#ifndef XP_CORE_ASK_H
#define XP_CORE_ASK_H

#include "core/deliver.h"
#include "core/queue.h"
#include "core/sleep.h"
#include "core/timer_waiter.h"
#include "os/sys.h"

enum {
	/* Entries taken from the kernel when the caller's array is full. */
	XP_ASK_PRIVATE = 64,
	/* Waits in a row of which the last asks the kernel, whatever is at hand. */
	XP_ASK_EVERY = 16,
};

/*
 * An entry whose READ and WRITE are both ready makes two events.  What finds no
 * room in the caller's array has to be checked and confirmed: better to leave
 * it in the kernel for the next time.
 */
static inline int xp_ask_crowded(struct xpoll *queue, int room)
{
	queue->crowded--;
	return room > 1 ? room / 2 : 1;
}

/* How many entries to ask for first, beside at_hand events. */
static XP_INLINE int xp_ask_room(struct xpoll *queue, int room, int at_hand, int most)
{
	int cap = room > most ? most : room;

	if (XP_UNLIKELY(queue->unusual) && queue->crowded)
		cap = xp_ask_crowded(queue, cap);
	return at_hand > 0 && cap < XP_ASK_PRIVATE ? XP_ASK_PRIVATE : cap;
}

/* Have enough waits passed, or is there a reason?  This one counts. */
static XP_INLINE bool xp_ask_is_due(struct xpoll *queue)
{
	if (queue->ask.due || queue->ask.always || ++queue->ask.skipped >= XP_ASK_EVERY)
		return true;
	/* A clock tick is a few milliseconds; the first waits are not timed. */
	if (XP_LIKELY(queue->ask.skipped < 2))
		return false;
	if (queue->ask.skipped > 2)
		return xp_sys_now_coarse() != queue->ask.skipped_ns;
	queue->ask.skipped_ns = xp_sys_now_coarse();
	return false;
}

/* True: it is not due, because it was asked by the wait before. */
static XP_INLINE bool xp_ask_first_skip(struct xpoll *queue)
{
	if (XP_UNLIKELY(queue->ask.any))
		return false;
	queue->ask.skipped = 1;
	return true;
}

/*
 * Must the kernel be asked although events are at hand?  Otherwise those that
 * only it knows of would starve.
 */
static XP_INLINE bool xp_ask_wanted(struct xpoll *queue,
                                    const struct xp_wait *wait)
{
	if (xp_ask_is_due(queue))
		return true;
	return XP_UNLIKELY(queue->unusual) &&
		(wait->listed || queue->crowded || (queue->watches > 0 && wait->events)) &&
		!wait->exhausted && !xp_wait_full(wait);
}

static XP_INLINE void xp_ask_begins(struct xpoll *queue, struct xp_wait *wait)
{
	wait->set = xp_set_number(queue);
	xp_count(&queue->counters.syscalls_wait);
}

/* Without sleeping; the deadline is XP_NOW or XP_REST. */
static XP_INLINE int xp_ask_now(struct xpoll *queue, struct xp_wait *wait,
                                int64_t deadline_ns, struct xp_fired *fired,
                                int cap)
{
	int direct_fd = xp_direct_fd(queue);
	int rc;

	xp_ask_begins(queue, wait);
	wait->sequence = queue->sequence;
	rc = XP_LIKELY(direct_fd >= 0) ? xp_sys_direct_wait(direct_fd, fired, cap, false)
		: queue->ops->wait(queue->backend, deadline_ns, NULL, fired, cap);
	xp_timer_waiter_answered(queue);
	if (XP_UNLIKELY(queue->kick.waiters > 0))
		xp_kick_taken(wait, fired, rc);
	return rc;
}

/*
 * The kernel had more than was asked for: take the rest, as far as there is room.
 * rc: the entries of the first chunk; at_hand: events from before it.
 */
void xp_ask_rest(struct xpoll *queue, struct xp_wait *wait,
                 struct xp_fired *fired, int rc, int at_hand);

#endif
