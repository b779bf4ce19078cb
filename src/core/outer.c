/* Makes the outer descriptor, which xpoll_fd returns, readable: see outer.h. */
#include "core/outer.h"

#include <errno.h>

#include "core/candidates.h"
#include "core/due.h"
#include "core/files.h"
#include "core/marks.h"
#include "core/sources.h"

int xp_outer_open(struct xpoll *queue)
{
	int fd = queue->ops->outer ? queue->ops->outer->fd(queue->backend) : -ENOTSUP;

	if (fd < 0 || queue->outer.in_use)
		return fd;
	queue->outer.in_use = true;
	xp_sources_run_due(queue, XP_FIRED_MOST);
	xp_sources_refresh(queue, NULL, XP_BEFORE_SLEEP);
	return fd;
}

void xp_outer_update(struct xpoll *queue)
{
	const struct xp_outer_ops *outer = queue->ops->outer;
	bool wanted;

	if (queue->threads.dying)
		return;
	/*
	 * Candidates, the slots that the next wait checks by poll(2), come and go with each event.
	 * Switching attention, which makes the descriptor readable for them, off and on takes two
	 * system calls: leave it on for the next XP_RECENT_FOR - 1 calls that find no candidate.
	 */
	if (xp_has_candidates(queue))
		xp_outer_set_grace(queue, XP_RECENT_FOR);
	else if (queue->outer.grace > 0)
		xp_outer_set_grace(queue, queue->outer.grace - 1);
	wanted = queue->outer.grace > 0 || xp_sources_active(queue) ||
		queue->batch.next < queue->batch.len ||
		xp_wake_is_pending(queue) || xp_files_ready(queue);
	queue->outer.alarm_in_use |= xp_due(queue) != XP_NEVER;
	/*
	 * If no timer can be set, keep the descriptor readable, so that no event loop that polls
	 * the descriptor waits beyond the due time.
	 */
	if (!wanted && queue->outer.alarm_in_use &&
	    outer->set_alarm(queue->backend, xp_due(queue)) < 0)
		wanted = true;
	if (wanted != queue->outer.attention)
		outer->set_attention(queue->backend, wanted);
	queue->outer.attention = wanted;
}

void xp_outer_forget(struct xpoll *queue)
{
	queue->outer.in_use = queue->outer.attention = queue->outer.alarm_in_use = false;
}
