/*
 * Candidates: descriptors whose state has to be checked before the next
 * wait may block.  A first-in first-out queue of slots; a slot whose sets are
 * both empty is no candidate any more and is skipped.
 */
#ifndef XP_CORE_CANDIDATE_H
#define XP_CORE_CANDIDATE_H

#include "base/assert.h"
#include "core/queue.h"

static inline void xp_candidate_append(struct xpoll *queue, int fd,
                                       struct xp_slot *slot)
{
	if (slot->check.next != XP_SLOT_UNQUEUED)
		return;
	slot->check.next = XP_SLOT_END;
	if (XP_LIKELY(queue->candidates.len == 0)) {
		queue->candidates.len = 1;
		queue->candidates.head = fd;
	} else {
		queue->candidates.len++;
		xp_slots_get(&queue->slots, queue->candidates.tail)->check.next = fd;
	}
	queue->candidates.tail = fd;
}

/*
 * Check because an ENABLE asks for it: the caller has just named the file.  unseen: no
 * thread is in a wait that could have harvested an earlier report.
 */
static inline void xp_recheck_unseen(struct xpoll *queue, int fd,
                                     struct xp_slot *slot, unsigned filters)
{
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->check.enabled |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

static inline void xp_recheck_enabled(struct xpoll *queue, int fd,
                                      struct xp_slot *slot, unsigned filters)
{
	xp_slot_marked(queue, slot);
	xp_recheck_unseen(queue, fd, slot, filters);
}

/* The same, and if a thread sleeps, it has to come out for it. */
static inline void xp_recheck_by_sleeper(struct xpoll *queue, int fd,
                                         struct xp_slot *slot, unsigned filters)
{
	xp_recheck_enabled(queue, fd, slot, filters);
	queue->recheck_wanted |= queue->threads.waiters > 0;
}

/* Check because it was ready: the file may be another by now. */
static inline void xp_recheck_level(struct xpoll *queue, int fd,
                                    struct xp_slot *slot,
                                    unsigned filters)
{
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->check.level |= XP_SET(filters);
	xp_candidate_append(queue, fd, slot);
}

/*
 * It is none any more.  Taking it off pays where it is alone in the queue: the
 * descriptor that was just delivered and is disabled by its handler.
 */
static inline void xp_candidate_cancel(struct xpoll *queue, int fd,
                                       struct xp_slot *slot)
{
	XP_ASSERT(!slot->check.deferred);
	if (queue->candidates.len == 1 && queue->candidates.head == fd &&
	    !slot->check.any) {
		queue->candidates.len = 0;
		slot->check.next = XP_SLOT_UNQUEUED;
	}
}

/*
 * Keep a report for the next wait: it is checked again then, or, where a
 * check would change something, handed out as it is.
 */
void xp_candidate_defer(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters, uint32_t events);

/* Take the first one off; the result is its descriptor. */
int xp_candidate_pop(struct xpoll *queue, struct xp_slot **slot);

/* The first of them were served: they go behind the others. */
void xp_candidates_served(struct xpoll *queue, int count);

/* Is one of them by delivery: probably still ready? */
bool xp_candidates_still_ready(const struct xpoll *queue);

/* Check all that is enabled: a report may have been lost on its way. */
void xp_candidates_all(struct xpoll *queue);

/* Check those that hung up without an event: the poll-like level reports that. */
void xp_candidates_withheld(struct xpoll *queue);

/*
 * The report was harvested before the slot was changed last, or the slot was
 * reported in this call already: check again the filters that it is about.
 * A one-shot entry may be of the
 * arming before the change or of the one after it, which is then spent.
 */
void xp_candidate_outdated(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters);

#endif
