/*
 * Where followers sleep until they are to come out: see docs/internals/locking.md.
 *
 * Each place has a descriptor that is readable while its sleepers are to come out,
 * opened with the queue.  In the last one any number of followers sleeps, and all of
 * them wake; in the others one each.
 *
 * All with the queue's lock held, but for xp_places_write.
 */
#ifndef XP_CORE_PLACES_H
#define XP_CORE_PLACES_H

#include <stdbool.h>

#include "os/wakefd.h"

enum { XP_PLACES = 2 };

/* Sets of places have a bit for each. */
struct xp_places {
	unsigned signalled; /* whose sleepers are to come out */
	unsigned due;       /* of these, whose descriptor is not readable yet */
	int sleepers[XP_PLACES];
	struct xp_wakefd wakefds[XP_PLACES]; /* immutable; an fd of -1: not needed */
};

void xp_places_init(struct xp_places *places);
int xp_places_open(struct xp_places *places);
void xp_places_close(const struct xp_places *places);
bool xp_places_own(const struct xp_places *places, int fd);

/* In a forked child: the followers are the parent's. */
void xp_places_forget(struct xp_places *places);

/* One follower more: its place. */
int xp_places_take(struct xp_places *places);

/* One follower is to come out, if none is yet; or all. */
void xp_places_signal_one(struct xp_places *places);
void xp_places_signal_all(struct xp_places *places);
/* None has to come out any more. */
void xp_places_clear(struct xp_places *places);

/* Make those readable that were due; and after that, as they may have been cleared. */
void xp_places_write(const struct xp_places *places, unsigned due);
void xp_places_written(const struct xp_places *places, unsigned due);

#endif
