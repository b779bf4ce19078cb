/*
 * Seats: where followers wait for their turn (sleep.h), each with a descriptor of its
 * own, so that passing the turn wakes one of them.  The lowest is taken first, and
 * called first: the threads that have just been busy are, and the others sleep on.
 * Who finds no seat waits for turn.wakefd, with all others that found none.
 *
 * Descriptors are opened when they are first needed, and kept.  All with the queue's
 * lock held.
 */
#ifndef XP_CORE_SEAT_H
#define XP_CORE_SEAT_H

#include "core/queue.h"

/* A bit of turn.seats.taken; 0: there is none. */
uint32_t xp_seat_take(struct xpoll *queue);
/* Its follower is out, for whatever reason. */
void xp_seat_leave(struct xpoll *queue, uint32_t seat);
/* What its follower waits for. */
int xp_seat_fd(const struct xpoll *queue, uint32_t seat);

/* One of them comes out, or is on its way; false: there is none. */
bool xp_seat_call(struct xpoll *queue);
void xp_seats_call_all(struct xpoll *queue);

void xp_seats_close(struct xpoll *queue);
bool xp_seats_own(const struct xpoll *queue, int fd);

#endif
