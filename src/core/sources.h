/*
 * Registrations of filters other than READ, WRITE and EXCEPT, and the functions of the queue that
 * serve the sources of these filters: see source/source.h.
 */
#ifndef XP_CORE_SOURCES_H
#define XP_CORE_SOURCES_H

#include "core/slot.h"

/* Returns true if the condition of some enabled registration holds. */
static inline bool xp_sources_active(const struct xpoll *queue)
{
	return !xp_list_empty(&queue->registrations.active);
}

/* Returns the registration of (ident, filter), or NULL. */
struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident, int filter);
/*
 * Allocate a registration and add it to the table; the caller attaches it to its source.  Returns
 * NULL if there is no memory, or if the ident has a registration already.
 */
struct xp_registration *xp_registration_make(struct xpoll *queue, const struct xp_source_ops *ops,
                                             uint64_t ident, union xp_udata udata, unsigned flags);
/* Remove a registration from the table and free it. */
void xp_registration_free(struct xpoll *queue, struct xp_registration *reg);

/* Implementations of members of xp_host. */
void xp_registration_set_active(struct xpoll *queue, struct xp_registration *reg, bool active);
void xp_registration_end(struct xpoll *queue, struct xp_registration *reg);
struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model, uint64_t ident);

/* More implementations of members of xp_host. */
void **xp_source_state(struct xpoll *queue, enum xp_source_id id);
int64_t xp_sources_now(struct xpoll *queue);
void xp_sources_set_probed(struct xpoll *queue);

/* Apply a change of a registration of this source.  Returns 0 or a negative errno value. */
int xp_registration_change(struct xpoll *queue, const struct xp_source_ops *ops,
                           const struct xpoll_event *change);

enum { XP_AHEAD = 8, XP_AHEAD_MASK = 4 * XP_AHEAD - 1 };
/*
 * Prefetch memory that later changes of this call will read.  Call before every XP_AHEAD-th change,
 * with the index i of that change; n: number of changes.  ahead: array of XP_AHEAD_MASK + 1
 * pointers, in which each call stores the registrations that later changes probably name, for the
 * next call.  By then a registration may have ended, but its memory stays in the pool.  The table
 * of registrations must have slots (map.len > 0).
 */
void xp_registrations_ahead(struct xpoll *queue, const struct xp_registration **ahead,
                            const struct xpoll_event *changes, int i, int n);

/* Deliver active registrations into the array of the wait, each at most once in a wait. */
void xp_sources_deliver(struct xpoll *queue, struct xp_wait *wait);

/*
 * Let one source, or all of them, find out which conditions hold, because the step `before` comes
 * next.  wait: the wait that is calling, or NULL.
 */
void xp_source_refresh(struct xpoll *queue, const struct xp_source_ops *ops, enum xp_step before);
void xp_sources_refresh(struct xpoll *queue, struct xp_wait *wait, enum xp_step before);

/*
 * Call the sources whose due time has come, and those with XP_ON_DEMAND.  room: number of free
 * records of the wait.
 */
void xp_sources_run_due(struct xpoll *queue, int room);

/* Returns a registration of a source whose ident is this descriptor (VNODE ...), or NULL. */
struct xp_registration *xp_registration_of_fd(const struct xpoll *queue, int fd);
/* Wait until no source uses the descriptor any more.  Called without any lock. */
void xp_sources_await_unused(int fd);

/* Add the source's descriptor to the kernel's set.  Returns 0 or a negative errno value. */
int xp_source_fd_attach(struct xpoll *queue, int fd, struct xp_slot *slot);
/* In a forked child: forget the descriptors of all sources, which belong to the parent. */
void xp_source_fds_forget(struct xpoll *queue);

/*
 * Call before the changes of a call: the changes share one reading of the clock (xp_sources_now).
 */
void xp_sources_reset_now(struct xpoll *queue);

void xp_sources_init(struct xpoll *queue);
/* Release all registrations and the states of the sources. */
void xp_sources_fini(struct xpoll *queue);
/*
 * In a forked child: give all registrations kernel objects of the child, in place of the parent's.
 * Returns 0 or the first error.
 */
int xp_sources_inherit(struct xpoll *queue);

#endif
