/*
 * Candidates: slots whose state has to be checked before a wait may block.  First in,
 * first out; but what a check has taken off the list, and had no room for, goes back to the
 * head.  A slot that was disabled or deleted since is skipped.
 *
 * xp_check_enabled and those below it make candidates: the next wait does the check.
 */
#ifndef XP_CORE_CANDIDATES_H
#define XP_CORE_CANDIDATES_H

#include "core/slot.h"

/*
 * Filters were enabled, and the kernel's entry was not changed, or its reports carry no number.  A
 * report that a thread fetched before may be of what was delivered already: it is checked.
 */
static inline void xp_slot_mark(struct xpoll *queue, struct xp_slot *slot)
{
	slot->sequence = ++queue->sequence;
	slot->marked = true;
}

static inline bool xp_has_candidates(const struct xpoll *queue)
{
	return queue->candidates.len > 0;
}

static XP_INLINE void xp_candidate_append(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	if (slot->next != XP_UNQUEUED)
		return;
	slot->next = XP_LAST;
	if (queue->candidates.len++ == 0)
		queue->candidates.head = fd;
	else
		xp_slots_get(queue, queue->candidates.tail)->next = fd;
	queue->candidates.tail = fd;
}

/* Remove the slot if it is the only candidate, and nothing of it is enabled or kept. */
static inline void xp_candidate_cancel(struct xpoll *queue, struct xp_slot *slot)
{
	if (slot->next == XP_LAST && queue->candidates.len == 1 &&
	    !(slot->enabled | slot->kept_for)) {
		slot->next = XP_UNQUEUED;
		queue->candidates.len = 0;
	}
}

/* At the head: a check had no room for it. */
void xp_candidate_push(struct xpoll *queue, int fd, struct xp_slot *slot);
/* The first, removed; returns its descriptor. */
int xp_candidate_pop(struct xpoll *queue, struct xp_slot **slot);

/* Check these filters: the program has enabled them, and so named the file. */
static XP_INLINE void xp_check_enabled(struct xpoll *queue, int fd, struct xp_slot *slot,
                                       unsigned filters)
{
	xp_slot_mark(queue, slot);
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->check |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

/* Check these filters: they were ready.  The descriptor may be another file by now. */
static XP_INLINE void xp_check_again(struct xpoll *queue, int fd, struct xp_slot *slot,
                                     unsigned filters)
{
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->recheck |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

/*
 * These bits found no room.  A file that may be checked is checked by the next wait; the
 * bits of another file are kept for it.
 */
void xp_postpone(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters,
                 uint32_t events);

/* Check all that is enabled and not level-triggered: a report may be lost. */
void xp_check_all(struct xpoll *queue);
/* The event level ignores a hang-up that the poll-like level has to report: note it. */
static inline void xp_withhold(struct xpoll *queue, struct xp_slot *slot)
{
	slot->withheld = queue->withheld = true;
}
/* Make candidates of the slots that have something withheld: the poll-like level waits. */
void xp_check_withheld(struct xpoll *queue);

/*
 * News: some files report what is new since poll(2) was called last, whoever called it.
 * So what poll(2) returned and nobody has got is kept in the slot.
 */
static inline bool xp_has_news(const struct xpoll *queue, const struct xp_slot *slot)
{
	return slot->kind == XP_KIND_NEWS && queue->lazy;
}
/* Keep these bits, as far as they concern registered filters. */
void xp_news_keep(struct xp_slot *slot, uint32_t events);
/* The entry is about to be changed, which polls the file: poll it before. */
void xp_news_before_change(struct xpoll *queue, int fd, struct xp_slot *slot);
/* Disabled filters have not got what this report says of them. */
void xp_news_missed(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);
/* A report is about to be delivered to the enabled filters: keep what it says of others. */
static inline void xp_news_left(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events)
{
	if (XP_UNLIKELY(events & (POLLPRI | POLLERR) && slot->present != slot->enabled))
		xp_news_missed(queue, fd, slot, events);
}

#endif
