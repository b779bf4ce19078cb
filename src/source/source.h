/*
 * The seam between the queue and what can happen besides descriptors: one
 * table of functions per filter.
 *
 * A registration of such a filter is a struct xp_reg, found by (ident,
 * filter).  The queue owns it; the source keeps its private part behind it
 * and reports through the functions at the end of this file, which the queue
 * implements.  New kinds of events are added here without touching the queue.
 *
 * Everything is called with the queue's lock held.
 */
#ifndef XP_SOURCE_SOURCE_H
#define XP_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/list.h"
#include "base/regmap.h"

struct xp_reg {
	struct xp_regmap_item item; /* ident and filter */
	struct xp_list ready;       /* in the queue's list of active ones */
	const struct xp_source_ops *ops;
	uint32_t fflags; /* what is asked for */
	uint32_t report; /* what happened: the event's fflags */
	int64_t data;
	void *udata;
	uint16_t flags; /* XPOLL_CLEAR, ONESHOT, DISPATCH, DISABLE */
	bool active;    /* the condition holds */
	uint32_t batch; /* the last wait call that reported it */
};

struct xp_source_ops {
	int filter;
	uint16_t implied; /* flags every registration gets: XPOLL_CLEAR or 0 */
	uint32_t fflags;  /* the bits a change may have */
	size_t size;      /* of its registrations, struct xp_reg first */

	/* A change is about to create a registration: 0, or -EINVAL ... */
	int (*attach)(struct xpoll *queue, struct xp_reg *reg,
	              const struct xpoll_event *change);
	/* A change meets an existing one; may alter fflags and data. */
	int (*touch)(struct xpoll *queue, struct xp_reg *reg,
	             const struct xpoll_event *change);
	void (*detach)(struct xpoll *queue, struct xp_reg *reg);
	/* Fill in fflags and data of the event; reset them if CLEAR. */
	void (*collect)(struct xpoll *queue, struct xp_reg *reg,
	                struct xpoll_event *event);
};

/* The source of a filter; NULL: not a filter, or not supported here. */
const struct xp_source_ops *xp_source_find(int filter);

extern const struct xp_source_ops xp_source_user;

/* Implemented by the queue: the condition began, or ceased, to hold. */
void xp_reg_activate(struct xpoll *queue, struct xp_reg *reg);
void xp_reg_deactivate(struct xpoll *queue, struct xp_reg *reg);

#endif
