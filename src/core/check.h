/*
 * Checks candidates (slots in the list of candidates.h) by poll(2) with timeout 0, and files that
 * the kernel cannot poll by fstat(2).
 */
#ifndef XP_CORE_CHECK_H
#define XP_CORE_CHECK_H

#include "core/queue.h"

/*
 * Check candidates by poll(2) and deliver those that are ready, until the array of the wait is full
 * or each candidate was checked once.
 */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);
/*
 * Make the kernel report the candidates (slots to check by poll(2)) that are ready, so that it
 * wakes a sleeping thread for them.  Candidates that only a wait can check stay in the list, and
 * xp_kick_request has a sleeping thread woken for them.
 */
void xp_candidates_to_kernel(struct xpoll *queue);

/* Check files that the kernel cannot poll (files.h), and deliver those that are ready. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
