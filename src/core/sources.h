/*
 * Registrations of filters other than READ, WRITE and EXCEPT, and what the queue does for the
 * sources that implement them: see source/source.h.
 */
#ifndef XP_CORE_SOURCES_H
#define XP_CORE_SOURCES_H

#include "core/queue.h"

/* Returns true if the condition of some enabled registration holds. */
static inline bool xp_sources_active(const struct xpoll *queue)
{
	return !xp_list_empty(&queue->registrations.active);
}

struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident, int filter);
/*
 * Allocate a registration and add it to the table; the caller attaches it to its source.  NULL: no
 * memory.  slot: the free one that a look for it has returned; NULL: there was no look.
 */
struct xp_registration *xp_registration_make(struct xpoll *queue, const struct xp_source_ops *ops,
                                             uint64_t ident, struct xp_regmap_slot *slot);
/* Remove a registration from the table and free it. */
void xp_registration_free(struct xpoll *queue, struct xp_registration *reg);

/* Implementations of members of xp_host. */
void xp_registration_set_active(struct xpoll *queue, struct xp_registration *reg, bool active);
void xp_registration_end(struct xpoll *queue, struct xp_registration *reg);
struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model,
                                              uint64_t ident);

void **xp_source_state(struct xpoll *queue, enum xp_source_id id);
int64_t xp_sources_now(struct xpoll *queue);
void xp_sources_set_probed(struct xpoll *queue);

/* Apply a change of a registration of this source.  Returns 0 or a negative errno value. */
int xp_registration_change(struct xpoll *queue, const struct xp_source_ops *ops,
                           const struct xpoll_event *change);

/*
 * Prefetch what changes read that come later: of n, called before each XP_AHEAD-th one; first: it
 * is the first.  The table of registrations was not always empty.
 */
enum { XP_AHEAD = 8 };
void xp_registrations_ahead(struct xpoll *queue, const struct xpoll_event *changes, int n,
                            bool first);

/* Deliver active registrations into the array of the wait, each at most once in a call. */
void xp_sources_deliver(struct xpoll *queue, struct xp_wait *wait);

/* Let one source, or all of them, find out which conditions hold before the given step. */
void xp_source_refresh(struct xpoll *queue, const struct xp_source_ops *ops, enum xp_step before);
void xp_sources_refresh(struct xpoll *queue, struct xp_wait *wait, enum xp_step before);

/* Call the sources whose due time has come. */
void xp_sources_run_due(struct xpoll *queue, int room);

/* Returns a registration whose ident is this descriptor, or NULL. */
struct xp_registration *xp_registration_of_fd(const struct xpoll *queue, int fd);
/* Wait until no source uses the descriptor any more.  Called without any lock. */
void xp_sources_await_unused(int fd);

/* Call before the changes of a call: they will share one reading of the clock. */
void xp_sources_change_begins(struct xpoll *queue);

void xp_sources_init(struct xpoll *queue);
/* Release all registrations and the states of the sources. */
void xp_sources_fini(struct xpoll *queue);
/*
 * In a forked child: give all registrations kernel objects of the child.  Returns 0 or the first
 * error.
 */
int xp_sources_inherit(struct xpoll *queue);

#endif
