/*
 * USER: events that the program triggers itself.
 *
 * A trigger activates the registration, and the queue wakes a waiting thread.  No kernel object is
 * needed.  As in FreeBSD, a change with XPOLL_CLEAR resets a trigger that was not delivered yet;
 * and delivery resets the trigger of a registration with XPOLL_CLEAR, but not its fflags and data.
 */
#include "source/source.h"

/*
 * Returns the registration's new fflags: `saved`, combined with the change's fflags by the
 * operation that the change requests (XPOLL_NOTE_FFCTRLMASK).
 */
static uint32_t user_combine(uint32_t saved, uint32_t change)
{
	uint32_t operand = change & XPOLL_NOTE_FFLAGSMASK;

	switch (change & XPOLL_NOTE_FFCTRLMASK) {
	case XPOLL_NOTE_FFAND:
		return saved & operand;
	case XPOLL_NOTE_FFOR:
		return saved | operand;
	case XPOLL_NOTE_FFCOPY:
		return operand;
	default: /* XPOLL_NOTE_FFNOP */
		return saved;
	}
}

static int user_apply(struct xpoll *queue, struct xp_registration *reg,
                      const struct xpoll_event *change)
{
	reg->fflags = user_combine(reg->fflags, change->fflags);
	reg->data = change->data;
	if (change->fflags & XPOLL_NOTE_TRIGGER)
		xp_host.set_active(queue, reg, true);
	return 0;
}

static int user_touch(struct xpoll *queue, struct xp_registration *reg,
                      const struct xpoll_event *change)
{
	if (change->flags & XPOLL_CLEAR)
		xp_host.set_active(queue, reg, false);
	return user_apply(queue, reg, change);
}

static int user_collect(struct xpoll *queue, struct xp_registration *reg, struct xpoll_event *event)
{
	event->fflags = reg->fflags;
	event->data = reg->data;
	if (reg->flags & XPOLL_CLEAR)
		xp_host.set_active(queue, reg, false);
	return 0;
}

/* Called in a forked child; nothing to do, because a registration of USER has no kernel objects. */
static int user_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	(void)queue, (void)reg;
	return 0;
}

static const struct xp_note_name user_names[] = {
	{XPOLL_NOTE_TRIGGER, "TRIGGER"}, {0, NULL},
};

const struct xp_source_ops xp_source_user = {
	.filter = XPOLL_FILT_USER,
	.id = XP_SOURCE_USER,
	.name = "USER",
	.notes = user_names,
	.is_action_optional = true,
	.fflags = XPOLL_NOTE_FFCTRLMASK | XPOLL_NOTE_FFLAGSMASK | XPOLL_NOTE_TRIGGER,
	.size = sizeof(struct xp_registration),
	.attach = user_apply,
	.touch = user_touch,
	.collect = user_collect,
	.inherit = user_inherit,
};
