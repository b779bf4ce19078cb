/*
 * Candidates: descriptors whose state has to be looked at before the next
 * wait may block.  A first-in first-out queue of slots; a slot whose sets are
 * both empty is no candidate any more and is skipped.
 */
#ifndef XP_CORE_CANDIDATE_H
#define XP_CORE_CANDIDATE_H

#include "core/queue.h"

/* Look because an ENABLE asks for it: the caller has just named the file. */
void xp_candidate_asked(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters);
/* Look because it was ready: the file may be another by now. */
void xp_candidate_delivered(struct xpoll *queue, int fd, struct xp_slot *slot,
                            unsigned filters);

/* It is none any more: take it off the queue if that is cheap. */
void xp_candidate_cancel(struct xpoll *queue, int fd, struct xp_slot *slot);

/*
 * Keep a report for the next wait: it is looked at again then, or, where a
 * look would change something, handed out as it is.
 */
void xp_candidate_carry(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters, uint32_t events);

/* May poll(2) look at the file?  Finds out at the first question. */
bool xp_slot_lookable(int fd, struct xp_slot *slot);

/* Check candidates until the wait has events or all were checked. */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);

/* Let the kernel report them instead, so that another thread sees them. */
void xp_candidates_publish(struct xpoll *queue);

/* Check all that is enabled: a report may have been lost on its way. */
void xp_candidates_all(struct xpoll *queue);

#endif
