/*
 * Low-water marks: XPOLL_NOTE_LOWAT.
 *
 * The kernel's entry of such a filter is edge-triggered, and the queue counts the bytes.  More
 * room for writing makes no second edge, so a WRITE filter with too little room is checked again
 * after a pause.
 */
#ifndef XP_CORE_LOWAT_H
#define XP_CORE_LOWAT_H

#include "core/slot.h"

/* Returns 0 if the file can have a mark; it gets room for it.  -ENOTSUP, -ENOMEM, -EBADF. */
int xp_lowat_prepare(struct xpoll *queue, int fd, unsigned filter);
void xp_lowat_set(struct xpoll *queue, int fd, unsigned filter, int64_t bytes);
int64_t xp_lowat_get(const struct xpoll *queue, int fd, unsigned filter);

/* The bits without those of filters whose mark is not reached. */
uint32_t xp_lowat_reached(struct xpoll *queue, int fd, struct xp_slot *slot, uint32_t events);

/* The pause is over: filters with too little room become candidates. */
void xp_lowat_due(struct xpoll *queue);

void xp_lowat_fini(struct xpoll *queue);

#endif
