/*
 * What an event says beyond that the descriptor is ready, if its registration
 * asks for it: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR.  It costs system calls,
 * and SO_ERROR is cleared by reading it.
 */
#ifndef XP_CORE_DETAIL_H
#define XP_CORE_DETAIL_H

#include "core/queue.h"

/* Complete the last event of the wait's array; its filter asks for details. */
void xp_detail(struct xpoll *queue, const struct xp_wait *wait, int fd,
               struct xp_slot *slot, unsigned filter);

#endif
