/*
 * How the kernel is to watch a descriptor: the state machine of a slot.
 *
 * Pure functions: no system call, no queue, nothing but the slot that they are
 * given.  interest.c says what has happened, and does what they answer.
 * docs/internals/core.md explains the modes and what the moves cost.
 */
#ifndef XP_CORE_ARM_H
#define XP_CORE_ARM_H

#include <stdbool.h>

#include "core/slot.h"

/* What a decision depends on beside the slot. */
struct xp_view {
	/* Each change goes to the back end at once; else there are one-shot entries. */
	bool exact;
	bool several;   /* two threads have slept at a time: one-shot entries pay */
	bool sleeping;  /* a thread is in the kernel */
	bool can_probe;  /* poll(2) may check the file; only if sleeping */
	bool together;  /* changes are passed on with the next wait */
};

/* What has happened to some filters of the slot. */
enum xp_input {
	XP_IN_ENABLED,  /* the next wait has to report what holds already */
	XP_IN_SILENCED, /* disabled, deleted, or delivered under DISPATCH or ONESHOT */
	XP_IN_PUBLISH,  /* the kernel has to report by itself what is enabled */
	XP_IN_COVER,    /* checked and not ready, and the kernel has not got them */
	XP_IN_QUIET,    /* delivered before, and a check found nothing */
	XP_IN_FRUITLESS,     /* a report that nobody wants; filters: not about these */
};

enum xp_do {
	XP_DO_NOTHING,
	XP_DO_RECHECK, /* check the filters before the next wait blocks */
	XP_DO_HARVEST, /* the kernel knows: ask it in the next wait */
	XP_DO_FILE,    /* the kernel cannot wait for it: check it in the next wait */
	XP_DO_PUSH,    /* watch the filters in this mode, check again at `again` */
	XP_DO_LEAVE,   /* leave the kernel's set */
	XP_DO_SOLO,    /* have the filters reported, and no other's edge (solo.h) */
	XP_DO_END_SOLO, /* the filters' own entries end */
};

struct xp_step {
	enum xp_do what;
	enum xp_mode mode;
	unsigned filters;
	unsigned again;
	bool recheck; /* after a push: check `again` as well */
};

/* The table of the state machine.  Changes the slot's counters alone. */
struct xp_step xp_slot_step(struct xp_slot *slot, const struct xp_view *view,
                            enum xp_input input, unsigned filters);

/* How the kernel should watch the slot as it stands. */
void xp_slot_choose(const struct xp_slot *slot, const struct xp_view *view,
                    enum xp_mode *mode, unsigned *filters);

/* Of a slot that is watched by edges: what its main entry is to hold. */
unsigned xp_slot_main_filters(const struct xp_slot *slot, bool exact);

/*
 * Does the main entry hold edges, which changes of other filters must not touch?  A file
 * that has news (news.h) has one entry for all filters.
 */
static inline bool xp_slot_holds_edges(const struct xp_slot *slot, bool exact)
{
	return slot->modes.clear && slot->mode == XP_MODE_EDGE && !exact &&
		slot->kind != XP_KIND_NEWS;
}

#endif
