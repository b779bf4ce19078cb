/*
 * The check of candidates: one poll(2) that does not wait, over a bounded
 * chunk of them.
 */
#include "core/recheck.h"

#include "base/assert.h"
#include "core/candidate.h"
#include "core/deliver.h"
#include "core/interest.h"
#include "core/unpollable.h"
#include "os/fdkind.h"
#include "os/sys.h"

enum {
	CHUNK_LEAST = 16,
	CHUNK_MOST = 256,
};

struct chunk {
	struct pollfd fds[CHUNK_MOST];
	bool confirm[CHUNK_MOST]; /* nobody named it since it was delivered */
	int len;
	int cap;
};

/* It is handed out without a check: is the number still that of the file? */
static bool deferred_confirmed(struct xpoll *queue, int fd,
                               struct xp_slot *slot, unsigned filters)
{
	int rc;

	if (slot->mode != XP_MODE_UNPOLLABLE && slot->mode != XP_MODE_NONE &&
	    (queue->ops->caps & (XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE)) !=
	    XP_CAP_FREE_CHANGE)
		return xp_entry_same_file(queue, fd, slot, filters);
	if (slot->mode == XP_MODE_UNPOLLABLE) {
		rc = xp_unpollable_confirm(queue, fd);
	} else {
		rc = xp_sys_open_flags(fd);
		xp_count(&queue->counters.syscalls_check);
	}
	if (rc < 0)
		xp_entry_drop(queue, fd, slot);
	return rc >= 0;
}

/*
 * A deferred report is for the filters that found no room: the others have been
 * reported, and may have been read dry since.  Of them the kernel is asked, if
 * they are candidates.
 */
static void deferred_deliver(struct xpoll *queue, struct xp_wait *wait, int fd,
                             struct xp_slot *slot, unsigned candidates)
{
	uint32_t events = slot->check.deferred;
	unsigned deferred_for = slot->delivered.deferred_for & slot->enabled;

	slot->check.deferred = 0;
	if (deferred_for && deferred_confirmed(queue, fd, slot, deferred_for)) {
		/* The poll-like level goes by bits. */
		events &= xp_entry_probe_bits(slot, deferred_for) | POLLHUP | POLLERR;
		wait->passed_over = XP_SET(slot->enabled & ~deferred_for);
		xp_deliver_slot(queue, wait, fd, slot, events);
		wait->passed_over = 0;
	}
	if (candidates & slot->enabled & ~deferred_for)
		(void)xp_interest_publish(queue, fd, slot, candidates & ~deferred_for);
}

/*
 * A file that has news: what poll(2) reports now is delivered to all filters, with what was
 * kept.  What is disabled keeps its part, and what finds no room.
 */
static void news_check(struct xpoll *queue, struct xp_wait *wait, int fd, struct xp_slot *slot,
                       unsigned candidates, bool confirm)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLOUT | POLLPRI};
	uint32_t events;
	int rc;

	if (confirm && !xp_entry_same_file(queue, fd, slot, candidates))
		return;
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(&probe, 1);
	events = xp_slot_take_news(slot) | (rc > 0 ? (unsigned short)probe.revents : 0u);
	if (events & POLLNVAL) {
		xp_entry_drop(queue, fd, slot);
		return;
	}
	if (rc < 0)
		xp_recheck_enabled(queue, fd, slot, candidates);
	if (candidates & ~(unsigned)slot->armed)
		(void)xp_interest_publish(queue, fd, slot, candidates);
	if (events && slot->present)
		xp_deliver_slot(queue, wait, fd, slot, events);
}

/* Take one candidate; those that need a check go into the chunk. */
static void candidate_take(struct xpoll *queue, struct xp_wait *wait,
                           struct chunk *chunk)
{
	struct xp_slot *slot;
	int fd = xp_candidate_pop(queue, &slot);
	unsigned enabled = slot->enabled;
	unsigned candidates = (slot->check.enabled | slot->check.level) & enabled;
	bool recheck_enabled = slot->check.enabled & enabled;

	slot->check.enabled = 0;
	slot->check.level = 0;
	if (slot->check.deferred) {
		deferred_deliver(queue, wait, fd, slot, candidates);
	} else if (!candidates) {
		/* Disabled or deleted since. */
	} else if (!xp_slot_can_probe(fd, slot) && xp_slot_has_news(queue, slot)) {
		news_check(queue, wait, fd, slot, candidates, !recheck_enabled);
	} else if (!xp_slot_can_probe(fd, slot) ||
	           candidates & xp_slot_by_edge(slot) & ~(unsigned)slot->armed) {
		/* A check would not do, nor for an edge that the kernel has not got. */
		(void)xp_interest_publish(queue, fd, slot, candidates);
	} else {
		XP_ASSERT(chunk->len < CHUNK_MOST);
		chunk->fds[chunk->len].fd = fd;
		chunk->fds[chunk->len].events = xp_candidate_bits(slot, candidates);
		chunk->confirm[chunk->len++] = !recheck_enabled;
	}
}

/*
 * Is the number still that of the file that was delivered?  Asking may as well
 * leave it to the kernel's level mode; but not with edges, which every change
 * would bring up again, nor with a one-shot entry, which would fire in vain: those
 * are asked about by an ADD that has to fail.
 */
static bool candidate_confirmed(struct xpoll *queue, int fd,
                                struct xp_slot *slot, unsigned filters)
{
	if (slot->mode == XP_MODE_LEVEL || slot->mode == XP_MODE_FIRED ||
	    xp_slot_by_edge(slot) & slot->enabled)
		return xp_entry_same_file(queue, fd, slot, filters);
	return xp_interest_publish(queue, fd, slot, slot->enabled) == 0;
}

/* The filters that these bits were checked for. */
static unsigned probed_filters(const struct xp_slot *slot, int bits)
{
	return xp_entry_filters((uint32_t)bits) & slot->enabled;
}

/*
 * POLLHUP and POLLERR come unasked.  What they mean to an edge filter that was
 * not checked is the kernel's to report, once: see that it is asked.
 */
static void candidate_ended(struct xpoll *queue, struct xp_wait *wait,
                            const struct pollfd *found,
                            struct xp_slot *slot, uint32_t events)
{
	unsigned probed = probed_filters(slot, found->events);

	wait->passed_over = XP_SET(xp_slot_by_edge(slot) & slot->enabled & ~probed);
	if (wait->passed_over)
		queue->ask.due = true;
	xp_deliver_slot(queue, wait, found->fd, slot, events);
	wait->passed_over = 0;
}

/* It is not ready, not to be delivered as it is, or it may be another file by now. */
static XP_NOINLINE void candidate_found_rare(struct xpoll *queue, struct xp_wait *wait,
                                             const struct pollfd *found,
                                             struct xp_slot *slot, bool confirm,
                                             uint32_t events)
{
	int fd = found->fd;

	if (events & POLLNVAL) {
		xp_entry_drop(queue, fd, slot);
	} else if (!events && slot->mode == XP_MODE_FIRED) {
		(void)xp_interest_publish(queue, fd, slot, slot->enabled);
	} else if (!events) {
		if (confirm)
			xp_interest_quiet(queue, fd, slot);
	} else if (confirm && !candidate_confirmed(queue, fd, slot,
	                                           probed_filters(slot, found->events))) {
		/* Dropped: the number is another file. */
	} else if (events & (POLLHUP | POLLERR)) {
		candidate_ended(queue, wait, found, slot, events);
	} else {
		xp_deliver_slot(queue, wait, fd, slot, events);
	}
}

static XP_INLINE void candidate_found(struct xpoll *queue, struct xp_wait *wait,
                            const struct pollfd *found,
                            struct xp_slot *slot, bool confirm)
{
	uint32_t events = (uint32_t)(unsigned short)found->revents;

	if (xp_pollbits_in_doubt(POLLRDHUP, events) &&
	    xp_slot_is(found->fd, slot, XP_KIND_SOCKET) && xp_sys_half_closed(found->fd))
		events |= POLLRDHUP;
	if (XP_UNLIKELY(confirm || !events || events & (POLLNVAL | POLLHUP | POLLERR)))
		candidate_found_rare(queue, wait, found, slot, confirm, events);
	else
		xp_deliver_slot(queue, wait, found->fd, slot, events);
}

/* What is not ready is left to the kernel: see that it has got it. */
static void candidate_answered(struct xpoll *queue, struct xp_wait *wait,
                               const struct pollfd *found,
                               struct xp_slot *slot, bool confirm)
{
	unsigned missing = probed_filters(slot, found->events) &
		~(unsigned)slot->armed;

	if (found->revents & (POLLHUP | POLLERR))
		missing = 0;
	missing &= ~probed_filters(slot, found->revents);
	candidate_found(queue, wait, found, slot, confirm);
	missing &= slot->enabled & ~(unsigned)slot->armed;
	if (XP_UNLIKELY(missing) && slot->mode == XP_MODE_EDGE)
		xp_interest_cover(queue, found->fd, slot, missing);
}

/* No room for it: it is the next to be checked. */
static void candidate_return(struct xpoll *queue, const struct pollfd *found,
                             bool confirm)
{
	struct xp_slot *slot = xp_slots_get(&queue->slots, found->fd);
	unsigned probed = probed_filters(slot, found->events);

	if (slot->check.next != XP_SLOT_UNQUEUED || !probed)
		return;
	if (confirm)
		slot->check.level |= XP_SET(probed);
	else
		slot->check.enabled |= XP_SET(probed);
	slot->check.next = queue->candidates.len++ ? queue->candidates.head
		: XP_SLOT_END;
	if (slot->check.next == XP_SLOT_END)
		queue->candidates.tail = found->fd;
	queue->candidates.head = found->fd;
}

static void chunk_probe(struct xpoll *queue, struct xp_wait *wait,
                        struct chunk *chunk)
{
	int done = 0;
	int rc;

	if (chunk->len == 0)
		return;
	xp_count(&queue->counters.syscalls_check);
	rc = xp_sys_poll_now(chunk->fds, (size_t)chunk->len);
	for (; done < chunk->len && !xp_wait_full(wait); done++) {
		int fd = chunk->fds[done].fd;
		struct xp_slot *slot = xp_slots_get(&queue->slots, fd);

		/*
		 * poll(2) takes no more than RLIMIT_NOFILE, or has no memory: have
		 * the kernel's set report it.
		 */
		if (rc < 0)
			(void)xp_interest_publish(queue, fd, slot, slot->enabled);
		else
			candidate_answered(queue, wait, &chunk->fds[done], slot,
			                   chunk->confirm[done]);
	}
	while (chunk->len > done) {
		chunk->len--;
		candidate_return(queue, &chunk->fds[chunk->len],
		                 chunk->confirm[chunk->len]);
	}
	chunk->len = 0;
}

XP_NOINLINE void xp_candidate_probed(struct xpoll *queue, struct xp_wait *wait,
                                     struct pollfd *found, struct xp_slot *slot, bool confirm,
                                     int rc)
{
	if (XP_UNLIKELY(rc < 0))
		rc = xp_sys_poll_now(found, 1);
	/* No memory for poll(2): have the kernel's set report it. */
	if (XP_UNLIKELY(rc < 0))
		(void)xp_interest_publish(queue, found->fd, slot, slot->enabled);
	else
		candidate_found(queue, wait, found, slot, confirm);
}

/* The slot is not checked with others, and must not be reported before those that are. */
static bool next_is_alone(const struct xpoll *queue)
{
	const struct xp_slot *slot = xp_slots_get(&queue->slots, queue->candidates.head);

	return slot->check.deferred || xp_slot_has_news(queue, slot);
}

void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait)
{
	struct chunk chunk;
	int left = queue->candidates.len;
	int room = wait->cap - wait->len;

	chunk.len = 0;
	chunk.cap = room < CHUNK_LEAST ? CHUNK_LEAST
		: room > CHUNK_MOST ? CHUNK_MOST : room;
	while (left > 0 && !xp_wait_full(wait)) {
		while (left > 0 && chunk.len < chunk.cap && !xp_wait_full(wait)) {
			if (chunk.len > 0 && next_is_alone(queue))
				break;
			candidate_take(queue, wait, &chunk);
			left--;
		}
		chunk_probe(queue, wait, &chunk);
	}
}

void xp_candidates_publish(struct xpoll *queue)
{
	int left = queue->candidates.len;

	while (left-- > 0) {
		struct xp_slot *slot;
		int fd = xp_candidate_pop(queue, &slot);
		unsigned enabled = slot->enabled;
		unsigned candidates = (slot->check.enabled | slot->check.level) & enabled;

		if (slot->check.deferred || xp_slot_has_news(queue, slot)) {
			/* Only a wait can hand it out; xp_pass_on wakes one. */
			xp_candidate_append(queue, fd, slot);
			continue;
		}
		slot->check.enabled = 0;
		slot->check.level = 0;
		/* Level mode is the kernel's already. */
		if (candidates && slot->mode != XP_MODE_LEVEL)
			(void)xp_interest_publish(queue, fd, slot, candidates);
	}
}

void xp_files_check(struct xpoll *queue, struct xp_wait *wait)
{
	bool poll_level = !wait->events;
	int fd, events;

	xp_files_begin(queue, poll_level);
	while (!xp_wait_full(wait) &&
	       xp_files_next(queue, poll_level, &fd, &events)) {
		struct xp_slot *slot = xp_slots_get(&queue->slots, fd);

		if (events < 0)
			xp_entry_drop(queue, fd, slot);
		else if (events > 0)
			xp_deliver_slot(queue, wait, fd, slot, (uint32_t)events);
	}
}
