/* What is at hand before the kernel is asked. */
#include "core/gather.h"

#include <errno.h>

#include "core/candidate.h"
#include "core/deliver.h"
#include "core/recheck.h"
#include "core/renew.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/unpollable.h"

/* What is at hand, each kind first in its turn. */
static void gather_in_turn(struct xpoll *queue, struct xp_wait *wait)
{
	wait->listed = true;
	for (unsigned i = 0; i < 3; i++) {
		switch ((wait->wait_epoch + i) % 3) {
		case 0:
			if (!xp_list_empty(&queue->registrations.active))
				xp_deliver_active(queue, wait);
			break;
		case 1:
			if (queue->candidates.len > 0)
				xp_candidates_check(queue, wait);
			break;
		default:
			if (queue->unpollable.len > 0)
				xp_files_check(queue, wait);
			break;
		}
	}
}

/* Has a source an event that this thread, of the poll-like level, does not take? */
static bool for_others(const struct xpoll *queue, const struct xp_wait *wait)
{
	return !wait->events && !xp_list_empty(&queue->registrations.active);
}

/* Other threads first; -EAGAIN: let a follower lead; -EBADF. */
static int give_way(struct xpoll *queue, struct xp_wait *wait)
{
	/* Let those in who made this thread come out. */
	while (queue->threads.changers > 0)
		xp_sleep_until_thread_left(queue, wait);
	if (queue->threads.dying)
		return -EBADF;
	queue->awaited = false;
	if (!for_others(queue, wait))
		return 0;
	if (queue->threads.waiters > 0)
		xp_let_others_check(queue, wait);
	else if (queue->turn.followers > 0)
		return -EAGAIN;
	return 0;
}

/* Others first; then what sources have without the kernel's saying so. */
static int give_way_and_probe(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	bool found;
	int rc;

	do {
		rc = alone ? 0 : give_way(queue, wait);
		xp_sources_wait(queue, wait);
		found = rc == 0 && queue->probed && xp_sources_probe(queue);
		xp_sources_wait(queue, NULL);
	} while (found && !alone && for_others(queue, wait));
	return rc;
}

XP_NOINLINE int xp_gather(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	int rc;

	queue->sourced = xp_is_sourced(queue);
	if (queue->due_ns != XP_NEVER)
		xp_sources_run_due(queue, wait->cap - wait->len);
	rc = give_way_and_probe(queue, wait, alone);
	if (queue->unattached && rc == 0)
		rc = xp_renew_attach_rest(queue);
	if (rc < 0 || (xp_list_empty(&queue->registrations.active) && queue->unpollable.len == 0))
		return rc;
	gather_in_turn(queue, wait);
	return 1;
}

XP_NOINLINE int xp_gather_reported(struct xpoll *queue, struct xp_wait *wait, int rc)
{
	/* A handler forked: the events are the parent's. */
	if (queue->process != xp_process_current())
		return rc;
	if (wait->interrupted)
		rc = -EINTR;
	xp_sources_wait(queue, wait);
	if (rc == -EINTR && wait->events)
		xp_sources_settle(queue, XP_BEFORE_EINTR);
	xp_sources_wait(queue, NULL);
	if (queue->watches == 0 && xp_list_empty(&queue->registrations.active))
		return rc;
	if (!xp_list_empty(&queue->registrations.active))
		xp_deliver_active(queue, wait);
	if (!xp_list_empty(&queue->unpollable.awake))
		xp_files_check(queue, wait);
	return rc;
}
