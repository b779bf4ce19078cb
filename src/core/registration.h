/*
 * Registrations that are not a descriptor's READ, WRITE or EXCEPT.  All with
 * the queue's lock held.
 */
#ifndef XP_CORE_REGISTRATION_H
#define XP_CORE_REGISTRATION_H

#include "core/queue.h"

/*
 * Prefetches what the next XP_PREFETCH_AHEAD changes will read, and computes
 * their hashes.  In a queue of a million registrations most of what a change
 * costs is waiting for memory.
 *
 * Call it before change number i whenever XP_PREFETCH_AHEAD divides i.  Then the
 * hash of change i is ahead.hashes[i % (2 * XP_PREFETCH_AHEAD)].
 */
enum { XP_PREFETCH_AHEAD = 16 };
struct xp_prefetch {
	uint64_t hashes[2 * XP_PREFETCH_AHEAD];
};
void xp_registration_prefetch(const struct xpoll *queue, struct xp_prefetch *ahead,
                              const struct xpoll_event *changes, int i, int nchanges);

/* Apply a change to a filter of the sources; 0 or a negative errno value. */
int xp_registration_change(struct xpoll *queue, const struct xpoll_event *change,
                           uint64_t hash);

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
