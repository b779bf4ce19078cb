/*
 * Registrations that are not a descriptor's READ, WRITE or EXCEPT.  All with
 * the queue's lock held.
 */
#ifndef XP_CORE_REGISTRATION_H
#define XP_CORE_REGISTRATION_H

#include "core/queue.h"

/*
 * What is known of a change before its turn: the hash of its (ident, filter), and the
 * registration that seems to be meant, NULL if none does.  Changes before this one may
 * have ended that, so only its ident and filter, both of which a free one has not, show
 * that it is the one.
 */
struct xp_ahead {
	uint64_t hash;
	struct xp_registration *guess;
};

/*
 * Prefetches what changes will read.  In a queue of a million registrations most of what
 * a change costs is waiting for memory, and each line names the next: the table, the
 * registration, what its source has of it.
 *
 * Call it before change number i whenever XP_PREFETCH_AHEAD divides i.  Then
 * ahead[i % XP_PREFETCH_RING] is of change i.
 */
enum { XP_PREFETCH_AHEAD = 16, XP_PREFETCH_RING = 4 * XP_PREFETCH_AHEAD };
void xp_registration_prefetch(struct xpoll *queue, struct xp_ahead *ahead,
                              const struct xpoll_event *changes, int i, int nchanges);

/* Apply a change to a filter of the sources; 0 or a negative errno value. */
int xp_registration_change(struct xpoll *queue, const struct xpoll_event *change,
                           const struct xp_ahead *ahead);

/* Have this source hear what has happened. */
void xp_registrations_settle(struct xpoll *queue, const struct xp_source_ops *ops,
                             enum xp_settle before);

/* May it be delivered?  If its ident names something else by now, it ends. */
bool xp_registration_confirm(struct xpoll *queue, struct xp_registration *reg);

/* As the members of struct xp_host (source/source.h). */
void xp_registration_activate(struct xpoll *queue, struct xp_registration *reg);
void xp_registration_deactivate(struct xpoll *queue, struct xp_registration *reg);
struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident,
                                             int filter);
struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model,
                                              uint64_t ident);
void xp_registration_end(struct xpoll *queue, struct xp_registration *reg);

/*
 * A registration in the table, not attached yet; hash is xp_regmap_hash's.
 * NULL: no memory.
 */
struct xp_registration *xp_registration_make(struct xpoll *queue,
                                             const struct xp_source_ops *ops, uint64_t ident,
                                             uint64_t hash);
/* Take it out of the table and free it. */
void xp_registration_free(struct xpoll *queue, struct xp_registration *reg);

/*
 * Hand an active registration to the caller, and do as its mode says; false: its
 * condition is over.
 */
bool xp_registration_deliver(struct xpoll *queue, struct xp_registration *reg,
                             uint32_t wait_epoch, struct xpoll_event *event);

/* Release all of them and the sources' states. */
void xp_registrations_fini(struct xpoll *queue);

/* In a forked child: let them stand on kernel objects of its own. */
int xp_registrations_inherit(struct xpoll *queue);

#endif
