/*
 * Counts and errors in events, XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR; low-water marks,
 * XPOLL_NOTE_LOWAT.
 *
 * The kernel's entry of a filter with a low-water mark is edge-triggered, and the queue counts the
 * bytes at each report.  If the room for writing grows further, no second edge comes, so the queue
 * checks a WRITE filter with too little room again after LOWAT_EVERY_NS.
 */
#ifndef XP_CORE_COUNT_H
#define XP_CORE_COUNT_H

#include "core/slot.h"

/*
 * Store the count (XPOLL_NOTE_COUNT) and the socket error (XPOLL_NOTE_SOERR) in an event of the
 * slot, if the filter requested them.  has_first: the array has an event before this one; if that
 * is the READ event of the same socket, its error is copied, because reading the error has cleared
 * it.  aborted: fd was a TCP listener and was shut down.
 */
void xp_event_count(struct xpoll *queue, int fd, struct xp_slot *slot, struct xpoll_event *event,
                    bool has_first, bool aborted);

/*
 * Check that the queue can count the bytes of this file, and allocate memory for the low-water
 * mark.  Returns 0, -ENOTSUP, -ENOMEM or -EBADF.
 */
int xp_lowat_prepare(struct xpoll *queue, int fd, unsigned filter);
/*
 * Store the low-water mark in bytes (xp_lowat_set), or return it (xp_lowat_get).  xp_lowat_prepare
 * has to succeed before.
 */
void xp_lowat_set(struct xpoll *queue, int fd, unsigned filter, int64_t bytes);
int64_t xp_lowat_get(const struct xpoll *queue, int fd, unsigned filter);

/* Returns `events` without the bits of filters whose low-water mark is not reached. */
uint32_t xp_lowat_mask_events(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);

/*
 * Called at most LOWAT_EVERY_NS after a WRITE filter had less room than its low-water mark: the
 * next wait checks all such filters.
 */
void xp_lowat_due(struct xpoll *queue);

void xp_lowat_fini(struct xpoll *queue);

#endif
