/* The check of candidates by poll(2) with timeout 0, and of files. */
#ifndef XP_CORE_CHECK_H
#define XP_CORE_CHECK_H

#include "core/queue.h"

/* Check candidates until the wait is full, or each was checked once. */
void xp_candidates_check(struct xpoll *queue, struct xp_wait *wait);
/*
 * Let the kernel report candidates instead, so that a thread that sleeps gets them.  Those
 * that only a waiting thread can check stay.
 */
void xp_candidates_publish(struct xpoll *queue);

/* Check the files that the kernel refuses. */
void xp_files_check(struct xpoll *queue, struct xp_wait *wait);

#endif
