/*
 * Registrations of filters that are no descriptor's READ, WRITE or EXCEPT, and what the
 * queue does for its sources: source/source.h.
 */
#ifndef XP_CORE_SOURCES_H
#define XP_CORE_SOURCES_H

#include "core/queue.h"

/* Returns true if a registration is enabled and its condition holds. */
static inline bool xp_sources_active(const struct xpoll *queue)
{
	return !xp_list_empty(&queue->registrations.active);
}

struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident, int filter);
/* A registration in the table that its source does not know yet; NULL: no memory. */
struct xp_registration *xp_registration_make(struct xpoll *queue, const struct xp_source_ops *ops,
                                             uint64_t ident);
/* Take it out of the table and free it. */
void xp_registration_free(struct xpoll *queue, struct xp_registration *reg);

/* Members of xp_host. */
void xp_registration_set_active(struct xpoll *queue, struct xp_registration *reg, bool active);
void xp_registration_end(struct xpoll *queue, struct xp_registration *reg);
struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model,
                                              uint64_t ident);

void **xp_source_state(struct xpoll *queue, enum xp_source_id id);
int64_t xp_sources_now(struct xpoll *queue);
void xp_sources_set_probed(struct xpoll *queue);

/* Apply a change of this source's filter; 0 or a negative errno value. */
int xp_registration_change(struct xpoll *queue, const struct xp_source_ops *ops,
                           const struct xpoll_event *change);

/* Prefetch what the next changes of a list read; left: how many there still are. */
void xp_registrations_ahead(struct xpoll *queue, const struct xpoll_event *changes, int left);

/* Deliver active registrations into the wait's array, each once in a call. */
void xp_sources_deliver(struct xpoll *queue, struct xp_wait *wait);

/* Have one source, or all, find out what has happened. */
void xp_source_settle(struct xpoll *queue, const struct xp_source_ops *ops, enum xp_settle before);
void xp_sources_settle(struct xpoll *queue, struct xp_wait *wait, enum xp_settle before);

/* Call the sources whose time has come. */
void xp_sources_run_due(struct xpoll *queue, int room);

/* A registration whose ident is this descriptor, or NULL. */
struct xp_registration *xp_registration_of_fd(const struct xpoll *queue, int fd);
/* Until no source uses it any more; without a lock. */
void xp_sources_await_unused(int fd);

/* The changes of a call begin. */
void xp_sources_change_begins(struct xpoll *queue);

void xp_sources_init(struct xpoll *queue);
/* End all registrations, and the sources' states. */
void xp_sources_fini(struct xpoll *queue);
/* In a forked child: have them stand on kernel objects of the child's. */
int xp_sources_inherit(struct xpoll *queue);

#endif
