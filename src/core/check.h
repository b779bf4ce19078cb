/* Checks of candidates by poll(2) with timeout 0, and of files. */
#ifndef XP_CORE_CHECK_H
#define XP_CORE_CHECK_H

#include "core/queue.h"

/*
 * Check candidates and deliver those that are ready, until the array of the wait is full or each
 * was checked once.
 */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);
/*
 * Make the kernel report the candidates, so that it wakes a sleeping thread for them.  Candidates
 * that only a wait can check stay in the list.
 */
void xp_candidates_publish(struct xpoll *queue);

/* Check files that the kernel cannot poll, and deliver those that are ready. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
