/* The poll-like level: xpoll_ctl, xpoll_pwait, xpoll_wait, xpoll_revents. */
#include <errno.h>

#include "base/result.h"
#include "base/time.h"
#include "core/candidates.h"
#include "core/changes.h"
#include "core/entry.h"
#include "core/late_end.h"
#include "core/report.h"
#include "core/sleep.h"
#include "core/threads.h"
#include "core/wait.h"
#include "os/fdnum.h"

#define POLL_EVENTS (POLLIN | POLLOUT | POLLPRI | XP_NAMED_RDHUP)
#define CTL_MODES   (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH | XPOLL_WHOLE)

/* The filters that a change names.  No bits are a READ that reports errors and hang-ups. */
static unsigned ctl_filters(int events)
{
	return events ? xp_filters_of((uint32_t)events) : XP_BIT(XP_READ);
}

static unsigned ctl_requested(int events)
{
	return (events & POLLIN ? XP_REQUEST_IN : 0u) |
		(events & POLLRDHUP ? XP_REQUEST_RDHUP : 0u);
}

static bool ctl_valid(int op, int events)
{
	int action = op & ~CTL_MODES;

	if (events & ~POLL_EVENTS)
		return false;
	if (op == XPOLL_ENABLE || op == XPOLL_DISABLE || op == XPOLL_DELETE)
		return true;
	if (op & XPOLL_WHOLE && !(op & (XPOLL_ONESHOT | XPOLL_DISPATCH)))
		return false;
	return action == XPOLL_ADD || action == (XPOLL_ADD | XPOLL_DISABLE);
}

static int ctl_add(struct xpoll *queue, int op, int events, int fd, void *data)
{
	return xp_change_add(queue, fd, &(struct xp_interest){
		.filters = ctl_filters(events),
		.modes = (unsigned)op & CTL_MODES,
		.requested = ctl_requested(events),
		.enable = !(op & XPOLL_DISABLE),
		.disable = op & XPOLL_DISABLE,
		.udata = xp_udata_pointer(data),
	});
}

/* POLLIN and POLLRDHUP are two requests of READ, which stays as long as one of them does. */
static int ctl_delete(struct xpoll *queue, int events, int fd)
{
	struct xp_slot *slot = xp_entry_find(queue, fd);
	unsigned filters = ctl_filters(events);
	unsigned before = slot ? slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP) : 0;
	unsigned requested = before & ~ctl_requested(events);

	if (events && requested == before)
		filters &= ~XP_BIT(XP_READ); /* what is named was not requested */
	if (requested && filters & XP_BIT(XP_READ)) {
		int rc = xp_change_request(queue, fd, slot, requested);

		filters &= ~XP_BIT(XP_READ);
		/* A request has ended: other filters that are named need not be registered. */
		if (rc < 0 || !(filters & slot->present))
			return rc;
	}
	return xp_change_delete(queue, fd, filters);
}

/* Returns true if READ is registered for errors and hang-ups alone. */
static bool is_without_bits(const struct xpoll *queue, int fd)
{
	const struct xp_slot *slot = xp_entry_find(queue, fd);

	return slot && slot->present & XP_BIT(XP_READ) &&
		!(slot->requested & (XP_REQUEST_IN | XP_REQUEST_RDHUP));
}

static int ctl(struct xpoll *queue, int op, int events, int fd, void *data,
               struct xp_late *late)
{
	if (op & XPOLL_ADD)
		return ctl_add(queue, op, events, fd, data);
	if (!events && !is_without_bits(queue, fd))
		return xp_change_delete(queue, fd, 0); /* ENOENT, or EBADF */
	if (op & XPOLL_DELETE)
		return ctl_delete(queue, events, fd);
	if (op & XPOLL_ENABLE)
		return xp_change_enable(queue, fd, ctl_filters(events), late);
	return xp_change_disable(queue, fd, ctl_filters(events));
}

int xpoll_ctl(struct xpoll *queue, int op, int events, xpoll_fd_t descriptor, void *data)
{
	struct xp_late late;
	uint64_t syscalls;
	int rc = xp_enter_change(queue);

	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	if (!ctl_valid(op, events))
		return xp_leave_with(queue, -EINVAL);
	late.slot = NULL;
	syscalls = xp_counter_read(&queue->counters.syscalls_change);
	rc = ctl(queue, op, events, xp_fd_of(descriptor), data, &late);
	xp_change_counted(queue, rc, syscalls);
	return xp_leave_late(queue, rc, &late);
}

int xpoll_pwait(struct xpoll *queue, struct xpoll_ready *ready, int nready, int64_t timeout_ns,
                const void *sigset)
{
	struct xp_wait wait = {.format = XP_READY, .ready = ready, .cap = nready, .mask = sigset};
	int rc = ready && nready > 0 ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	wait.deadline_ns = xp_wait_deadline(timeout_ns);
	return xp_wait_call(queue, &wait);
}

int xpoll_wait(struct xpoll *queue, int timeout_ms)
{
	struct xp_wait wait = {.format = XP_BATCH, .cap = XP_BATCH_MOST};
	int rc = xp_enter(queue);

	if (XP_UNLIKELY(rc < 0))
		return xp_result(rc);
	wait.deadline_ns = xp_wait_deadline(timeout_ms < 0 ? -1 : timeout_ms * XP_NS_PER_MS);
	return xp_wait_call(queue, &wait);
}

/* The next descriptor of the batch that still stands, as bits of poll(2); 0 at the end. */
static uint32_t batch_take(struct xpoll *queue, void **datap)
{
	while (queue->batch.next < queue->batch.len) {
		const struct xp_found *found = &queue->batch.found[queue->batch.next++];
		int fd = xp_token_fd(found->token);
		struct xp_slot *slot = xp_slots_get(&queue->slots, fd);
		uint32_t bits = xp_poll_bits(slot, found->events);
		unsigned filters = xp_poll_filters(slot, bits);

		if (!xp_slot_is_of(slot, found->token) || !bits)
			continue;
		if (datap) /* of the first filter */
			*datap = slot->udata[XP_LOWEST_BIT(filters)].pointer;
		xp_count(&queue->counters.events);
		xp_news_left(queue, fd, slot, found->events);
		xp_handed(queue, fd, slot, filters);
		return bits;
	}
	return 0;
}

int xpoll_revents(struct xpoll *queue, void **datap)
{
	int rc;

	/* Every second call or so finds the end of the batch: without a lock if that is safe. */
	if (queue && xp_single_threaded() && queue->batch.next == queue->batch.len &&
	    queue->process == xp_process_current())
		return 0;
	/* DISPATCH and ONESHOT change what a thread that sleeps may be using. */
	rc = xp_enter_change(queue);
	if (XP_UNLIKELY(rc < 0)) {
		(void)xp_result(rc);
		return 0; /* -1 would be all bits, and a loop without end */
	}
	rc = (int)batch_take(queue, datap);
	xp_leave(queue);
	return rc;
}
