/* The wait of one thread among others, and what few waits come to. */
#include "core/wait.h"

#include <errno.h>

#include "base/time.h"
#include "os/process.h"
#include "source/signal.h"

/* A sleep found nothing until its deadline. */
XP_NOINLINE void xp_slept_in_vain(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	if (alone)
		wait->timed_out = !wait->cut;
	if (wait->tried) {
		queue->untried = XP_UNTRIED_MOST;
		wait->timed_out = wait->deadline_ns == XP_NOW;
	}
}

XP_NOINLINE bool xp_wait_interrupted(struct xpoll *queue, int rc)
{
	bool handles;

	/* A handler that forked has run: in the child the queue is the parent's. */
	if (rc != -EINTR || queue->process != xp_process_current())
		return true;
	if (!queue->lock.held)
		return xp_signal_program_handles();
	/* That is many system calls, which other threads need not wait for. */
	xp_inside_enter(queue);
	xp_mutex_unlock(&queue->lock);
	handles = xp_signal_program_handles();
	if (xp_lock_again(queue) < 0)
		return true;
	xp_inside_leave(queue);
	return handles;
}

XP_NOINLINE bool xp_wake_taken(struct xpoll *queue)
{
	if (!(atomic_fetch_and(&queue->wake.state, ~(unsigned)XP_WAKE_PENDING) & XP_WAKE_PENDING))
		return false;
	xp_count(&queue->counters.wakes);
	return true;
}

XP_NOINLINE bool xp_wait_unusual(const struct xpoll *queue, const struct xp_wait *wait)
{
	return (queue->exposed && queue->ask.due) ||
		(wait->events && (!xp_list_empty(&queue->registrations.active) ||
		                  !xp_list_empty(&queue->unpollable.awake))) ||
		xp_due_passed(queue);
}

static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait, struct xp_fired *fired)
{
	int rc = xp_turn_take(queue, wait);

	if (rc <= 0)
		return rc;
	xp_batch_renew(queue);
	rc = xp_wait_loop(queue, wait, fired, false, false, !wait->events);
	xp_turn_pass(queue);
	return rc;
}

XP_NOINLINE int xp_wait_among_others(struct xpoll *queue, struct xp_wait *wait, bool gathered)
{
	struct xp_fired fired[XP_FIRED_MOST];
	int rc;

	if (!xp_concurrent(queue))
		return wait_in_turn(queue, wait, fired);
	rc = xp_wait_loop(queue, wait, fired, gathered, false, !wait->events);
	xp_wait_passes_on(queue, wait);
	return rc;
}
