/* The state machine of a slot. */
#include "core/arm.h"

#include "base/assert.h"

enum {
	/*
	 * Reports in a row of a disabled direction after which it leaves the
	 * kernel's mask, or, if nothing is enabled, after which the entry is
	 * silenced; its next ENABLE costs one system call.
	 */
	FRUITLESS_MOST = 8,
	FLIPS_MOST = 4,
	/*
	 * Reports that level mode has to make, each without a check afterwards, to
	 * be worth the two changes in the kernel.
	 */
	LEVEL_WORTH = 2,
	/*
	 * Checks after delivery that found nothing, in a row, after which the
	 * descriptor goes back to level mode; doubled with each flip.  See
	 * docs/decisions/0020-thresholds.md.
	 */
	IDLE_CHECKS_MOST = 2,
};

static struct xp_step nothing(void)
{
	return (struct xp_step){.what = XP_DO_NOTHING};
}

static struct xp_step step(enum xp_do what, unsigned filters)
{
	return (struct xp_step){.what = what, .filters = filters};
}

static struct xp_step push(enum xp_mode mode, unsigned filters)
{
	return (struct xp_step){
		.what = XP_DO_PUSH,
		.mode = mode,
		.filters = filters,
		.again = XP_ALL_FILTERS,
	};
}

unsigned xp_slot_main_filters(const struct xp_slot *slot, bool exact)
{
	unsigned edges = slot->modes.clear & ~(unsigned)slot->solo;
	unsigned now = edges & (slot->enabled | slot->armed);

	if (exact)
		return slot->enabled;
	if (!slot->modes.clear || slot->kind == XP_KIND_NEWS)
		return slot->present;
	/* What is disabled beside others would only bring those up again. */
	return now ? now : edges;
}

/* All that is enabled can be silenced by its own delivery. */
static bool wants_oneshot(const struct xp_slot *slot, const struct xp_view *view)
{
	unsigned enabled = slot->enabled;
	unsigned turns = slot->modes.dispatch | slot->modes.oneshot;

	return view->several && !view->exact && enabled && !(enabled & ~turns) &&
		!slot->lowat.filters && slot->kind != XP_KIND_NEWS;
}

/*
 * The kernel's exclusive entries know POLLIN and POLLOUT alone, and by state.  It
 * is a hint: what they cannot say is more important.
 */
static bool exclusive_suits(const struct xp_slot *slot)
{
	bool in = slot->requested & XP_REQUEST_IN || !(slot->present & XP_BIT(XP_READ));

	XP_ASSERT(!(slot->modes.exclusive & ~(unsigned)slot->present));
	XP_ASSERT(!(slot->modes.exclusive & XP_BIT(XP_EXCEPT)));
	return in && !xp_slot_by_edge(slot) &&
		!(slot->present & XP_BIT(XP_EXCEPT));
}

void xp_slot_choose(const struct xp_slot *slot, const struct xp_view *view,
                    enum xp_mode *mode, unsigned *filters)
{
	unsigned present = slot->present;
	unsigned enabled = slot->enabled;
	unsigned edge = xp_slot_by_edge(slot);

	*filters = enabled;
	*mode = XP_MODE_LEVEL;
	if (slot->modes.exclusive && !view->exact && exclusive_suits(slot)) {
		*mode = XP_MODE_EXCLUSIVE;
	} else if (view->exact) {
		if (enabled & edge)
			*mode = XP_MODE_EDGE;
	} else if (!edge && wants_oneshot(slot, view)) {
		*mode = XP_MODE_ONESHOT;
	} else if (edge || present != enabled || slot->history.flips || slot->modes.dispatch) {
		*mode = XP_MODE_EDGE;
		*filters = xp_slot_main_filters(slot, view->exact);
	}
}

/* Choose again; with nothing enabled an exclusive entry leaves the kernel's set. */
static struct xp_step chosen(const struct xp_slot *slot,
                             const struct xp_view *view, unsigned again)
{
	struct xp_step next = {.what = XP_DO_PUSH, .again = again};

	xp_slot_choose(slot, view, &next.mode, &next.filters);
	if (next.mode == XP_MODE_EXCLUSIVE && !next.filters)
		next.what = XP_DO_LEAVE;
	return next;
}

/* Edges of all that is present or held; states are checked by us. */
static struct xp_step push_edges(const struct xp_slot *slot,
                                 const struct xp_view *view)
{
	return push(XP_MODE_EDGE, xp_slot_main_filters(slot, view->exact));
}

/*
 * Level mode ends, after some reports, of which so many were fruitless.
 * If it was too short, more patience is wanted the next time.
 */
static void level_ends(struct xp_slot *slot, unsigned fruitless)
{
	unsigned reports = xp_slot_mode_reports(slot);

	if (reports >= LEVEL_WORTH + fruitless)
		slot->history.flips = 0;
	else if (slot->history.flips < FLIPS_MOST)
		slot->history.flips++;
}

static struct xp_step enabled(struct xp_slot *slot, const struct xp_view *view,
                              unsigned filters)
{
	bool covered = !(filters & ~(unsigned)slot->armed);
	bool holds_edges = xp_slot_holds_edges(slot, view->exact);
	bool silent = slot->mode == XP_MODE_FIRED;
	struct xp_step next;

	slot->history.idle_checks = 0;
	slot->history.fruitless = 0;
	if (slot->mode == XP_MODE_UNPOLLABLE)
		return step(XP_DO_FILE, filters);
	if (view->exact || slot->mode == XP_MODE_NONE ||
	    slot->mode == XP_MODE_EXCLUSIVE) {
		next = chosen(slot, view, filters);
		/* One check of this is cheaper than one of the whole array. */
		next.recheck = next.mode == XP_MODE_LEVEL && !view->together;
		return next;
	}
	if (holds_edges && view->sleeping && view->can_probe)
		return step(XP_DO_SOLO, filters);
	/* A change of the entry would take the file's news away. */
	if (slot->kind == XP_KIND_NEWS)
		return step(XP_DO_RECHECK, filters);
	if (slot->mode == XP_MODE_LEVEL && covered)
		return step(XP_DO_HARVEST, filters);
	if (slot->mode == XP_MODE_LEVEL)
		level_ends(slot, 0);
	/* A one-shot entry that has not fired is silent about the rest. */
	if (!view->sleeping && (covered || silent || holds_edges))
		return step(XP_DO_RECHECK, filters);
	/* signalfd answers for the thread that asks: one that waits has to. */
	if (view->sleeping && !view->can_probe)
		return step(XP_DO_RECHECK, filters);
	if (wants_oneshot(slot, view))
		return push(XP_MODE_ONESHOT, slot->enabled);
	return push_edges(slot, view);
}

/*
 * The entry changes only where that is free, or where it must not report.  Elsewhere the
 * kernel reports more than is wanted, of which `fruitless` takes care.
 */
static struct xp_step silenced(const struct xp_slot *slot,
                               const struct xp_view *view)
{
	if (slot->mode == XP_MODE_UNPOLLABLE)
		return nothing();
	if (slot->mode == XP_MODE_EXCLUSIVE || view->exact)
		return chosen(slot, view, 0);
	return nothing();
}

static struct xp_step publish(const struct xp_slot *slot,
                              const struct xp_view *view, unsigned filters)
{
	unsigned wanted = slot->enabled;
	struct xp_step next;

	if (!wanted)
		return nothing();
	if (slot->modes.clear && wanted & xp_slot_by_edge(slot) && !view->exact &&
	    slot->kind != XP_KIND_NEWS)
		return step(XP_DO_SOLO, filters & wanted);
	if (wanted & xp_slot_by_edge(slot)) {
		next = push_edges(slot, view);
		next.again = filters;
		return next;
	}
	if (wants_oneshot(slot, view))
		return push(XP_MODE_ONESHOT, wanted);
	return push(XP_MODE_LEVEL, wanted);
}

/* A delivered level was read dry; when that repeats, leave it to the kernel. */
static struct xp_step quiet(struct xp_slot *slot, const struct xp_view *view)
{
	if (slot->mode != XP_MODE_EDGE || xp_slot_by_edge(slot) & slot->enabled)
		return nothing();
	if (++slot->history.idle_checks < IDLE_CHECKS_MOST << slot->history.flips)
		return nothing();
	slot->history.idle_checks = 0;
	return publish(slot, view, slot->enabled);
}

/* Some fruitless reports: the bits that make them leave the kernel's mask. */
static struct xp_step fruitless_edges(struct xp_slot *slot, const struct xp_view *view,
                                 unsigned passed_over)
{
	unsigned wanted = slot->enabled;
	unsigned silent = slot->armed & ~wanted;

	if (++slot->history.fruitless < FRUITLESS_MOST)
		return nothing();
	/* Errors and hang-ups no mask keeps out: silent after the next. */
	if (!wanted && !view->exact)
		return push(XP_MODE_ONESHOT, 0);
	if (silent & slot->solo) {
		slot->history.fruitless = 0;
		return step(XP_DO_END_SOLO, silent & slot->solo);
	}
	/* It was the main entry's report: none of its edges holds. */
	if (silent && (!slot->modes.clear || passed_over == slot->solo))
		return push(XP_MODE_EDGE,
		            xp_slot_main_filters(slot, view->exact) & wanted);
	return nothing();
}

/*
 * A report of what is disabled, such as a hang-up (POLLHUP), which no mask keeps out.
 * Mostly on epoll: elsewhere a disabled descriptor has no bits.
 */
static struct xp_step fruitless(struct xp_slot *slot, const struct xp_view *view,
                                unsigned passed_over)
{
	unsigned wanted = slot->enabled;

	switch ((enum xp_mode)slot->mode) {
	case XP_MODE_LEVEL:
		level_ends(slot, 1);
		return push_edges(slot, view);
	case XP_MODE_EDGE:
		return fruitless_edges(slot, view, passed_over);
	case XP_MODE_FIRED:
		/* Armed by state again, it would make the same report at once. */
		if (wanted)
			return push(XP_MODE_EDGE,
			            xp_slot_main_filters(slot, view->exact) & wanted);
		break;
	case XP_MODE_EXCLUSIVE:
		/* It is by state, too, and must not repeat. */
		return push_edges(slot, view);
	case XP_MODE_ONESHOT:
	case XP_MODE_NONE:
	case XP_MODE_UNPOLLABLE:
	case XP_MODE_SOURCE:
		/* Armed again since, or not the kernel's: nothing repeats. */
		break;
	}
	return nothing();
}

struct xp_step xp_slot_step(struct xp_slot *slot, const struct xp_view *view,
                            enum xp_input input, unsigned filters)
{
	switch (input) {
	case XP_IN_ENABLED:
		return enabled(slot, view, filters);
	case XP_IN_SILENCED:
		return silenced(slot, view);
	case XP_IN_PUBLISH:
		return publish(slot, view, filters);
	case XP_IN_COVER:
		return slot->modes.clear ? step(XP_DO_SOLO, filters) : push_edges(slot, view);
	case XP_IN_QUIET:
		return quiet(slot, view);
	case XP_IN_FRUITLESS:
		break;
	}
	return fruitless(slot, view, filters);
}
