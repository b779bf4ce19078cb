/*
 * Registrations that are not a descriptor's READ, WRITE or EXCEPT.  All with
 * the queue's lock held.
 */
#ifndef XP_CORE_REG_H
#define XP_CORE_REG_H

#include "core/queue.h"

/*
 * Changes that are about to be applied: their hashes, and what they will look
 * at on its way into the cache, in steps of XP_REG_AHEAD.  In a queue of a
 * million registrations most of what a change costs is waiting for memory.
 *
 * Call it before change number i whenever XP_REG_AHEAD divides i; its hash is
 * ahead.hashes[i % (2 * XP_REG_AHEAD)] then.
 */
enum { XP_REG_AHEAD = 16 };
struct xp_reg_ahead {
	uint64_t hashes[2 * XP_REG_AHEAD];
};
void xp_reg_look_ahead(const struct xpoll *queue, struct xp_reg_ahead *ahead,
                       const struct xpoll_event *changes, int i, int nchanges);

/* Apply a change to a filter of the sources; 0 or a negative errno value. */
int xp_reg_change(struct xpoll *queue, const struct xpoll_event *change,
                  uint64_t hash);

/*
 * May it be delivered?  If it is not of what its ident names any more, it
 * ends; if its condition is over, it is not active any more.
 */
bool xp_reg_confirm(struct xpoll *queue, struct xp_reg *reg);

/*
 * A registration in the table, not attached yet; hash is xp_regmap_hash's.
 * NULL: no memory.
 */
struct xp_reg *xp_reg_make(struct xpoll *queue,
                           const struct xp_source_ops *ops, uint64_t ident,
                           uint64_t hash);
/* Take it out of the table and free it. */
void xp_reg_free(struct xpoll *queue, struct xp_reg *reg);

/* Hand an active registration to the caller, and do as its mode says. */
void xp_reg_deliver(struct xpoll *queue, struct xp_reg *reg,
                    struct xpoll_event *event);

/* Release all of them and the sources' states. */
void xp_regs_fini(struct xpoll *queue);

/* In a forked child: let them stand on kernel objects of its own. */
int xp_regs_inherit(struct xpoll *queue);

#endif
