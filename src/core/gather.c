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

/* Let those threads in first that made this one come out; -EBADF: to destroy the queue. */
static int changers_first(struct xpoll *queue, struct xp_wait *wait)
{
	while (queue->threads.changers > 0)
		xp_sleep_until_thread_left(queue, wait);
	if (queue->threads.dying)
		return -EBADF;
	queue->awaited = false;
	return 0;
}

XP_NOINLINE int xp_gather(struct xpoll *queue, struct xp_wait *wait, bool alone)
{
	int rc;

	queue->sourced = xp_is_sourced(queue);
	if (queue->due_ns != XP_NEVER)
		xp_sources_run_due(queue, wait->cap - wait->len);
	rc = alone ? 0 : changers_first(queue, wait);
	/* Some sources have events that the kernel does not report. */
	if (queue->probed && rc == 0) {
		xp_sources_wait(queue, wait);
		xp_sources_settle(queue, XP_BEFORE_SLEEP);
		xp_sources_wait(queue, NULL);
	}
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
