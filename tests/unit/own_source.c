/*
 * Goal: adding a source takes one file and one entry of the table; no other
 * code knows the source.
 * Method: the library gets the table of this program, with a source that is not
 * in src/: TALLY sums the data of its changes, and is ready from ten on.
 */
#include "xt.h"

#include <string.h>

#include "source/source.h"

enum { TALLY = -40, TALLY_ENOUGH = 10, NOTE_MORE = 1 };

static int attached, finished;
static int flickers; /* number of times that the condition is over when the source collects it */

/* --- In place of src/source/table.c ------------------------------------------- */

static int tally_touch(struct xpoll *queue, struct xp_registration *reg,
                       const struct xpoll_event *change)
{
	if (change->fflags & NOTE_MORE)
		reg->data += change->data;
	if (reg->data >= TALLY_ENOUGH)
		xp_host.set_active(queue, reg, true);
	return 0;
}

static int tally_attach(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	*xp_host.state(queue, XP_SOURCE_EMPTY) = &finished;
	attached++;
	return tally_touch(queue, reg, change);
}

static void tally_detach(struct xpoll *queue, struct xp_registration *reg)
{
	(void)queue, (void)reg;
	attached--;
}

static void tally_due(struct xpoll *queue, int64_t now_ns, int room)
{
	(void)now_ns, (void)room;
	xp_host.set_due(queue, XP_SOURCE_EMPTY, XP_NEVER);
	xp_host.set_active(queue, xp_host.find(queue, 7, TALLY), true);
}

static int tally_collect(struct xpoll *queue, struct xp_registration *reg,
                         struct xpoll_event *event)
{
	if (flickers > 0) {
		flickers--;
		xp_host.set_active(queue, reg, false);
		xp_host.set_due(queue, XP_SOURCE_EMPTY, 1);
		return -EAGAIN;
	}
	event->fflags = NOTE_MORE;
	event->data = reg->data;
	reg->data = 0;
	xp_host.set_active(queue, reg, false);
	return 0;
}

static void tally_fini(struct xpoll *queue, void *state)
{
	(void)queue;
	++*(int *)state;
}

static const struct xp_note_name tally_names[] = {{NOTE_MORE, "MORE"}, {0, NULL}};

static const struct xp_source_ops tally = {
	.filter = TALLY,
	.id = XP_SOURCE_EMPTY, /* takes the place of EMPTY, which is not in this program's table */
	.name = "TALLY",
	.notes = tally_names,
	.is_action_optional = true,
	.fflags = NOTE_MORE,
	.size = sizeof(struct xp_registration),
	.attach = tally_attach,
	.touch = tally_touch,
	.detach = tally_detach,
	.collect = tally_collect,
	.due = tally_due,
	.fini = tally_fini,
};

/* A source that has a name but that this system lacks. */
static const struct xp_source_ops absent = {
	.filter = XPOLL_FILT_PROC,
	.id = XP_SOURCE_PROC,
	.name = "PROC",
};

const struct xp_source_ops *const xp_sources[] = {
	&xp_source_user, &tally, &absent, NULL,
};

const struct xp_source_ops *const xp_source_by_filter[] = {
	[-XPOLL_FILT_USER] = &xp_source_user, [-TALLY] = &tally, [-XPOLL_FILT_PROC] = &absent,
};

const struct xp_source_ops *xp_source_find(int filter)
{
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->filter == filter)
			return xp_sources[i];
	return NULL;
}

/* --- Tests ---------------------------------------------------------------------- */

XT_TEST(own_source_is_registered_reported_and_ended)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(xt_change(queue, 7, TALLY, XPOLL_ADD, NOTE_MORE, 4, &event));
	XT_EQ(attached, 1);
	XT_NONE(queue);
	/*
	 * A change without an action: allowed only for the notes in the source's
	 * `is_action_optional`.
	 */
	XT_OK(xt_change(queue, 7, TALLY, 0, NOTE_MORE, 6, NULL));
	XT_GETS(queue, &event, 7, TALLY);
	XT_EQ(event.data, 10);
	XT_EQ(event.fflags, NOTE_MORE);
	XT_NONE(queue);
	XT_STATUS(xt_change(queue, 7, TALLY, 0, 0, 6, NULL), EINVAL);
	XT_STATUS(xt_change(queue, 7, TALLY, XPOLL_ADD, 2, 6, NULL), EINVAL);
	XT_OK(xt_flag(queue, 7, TALLY, XPOLL_DELETE));
	XT_EQ(attached, 0);
	XT_STATUS(xt_flag(queue, 7, TALLY, XPOLL_DELETE), ENOENT);
	finished = 0;
	xt_destroy(queue);
	XT_EQ(finished, 1);
}

/* In one wait the condition is over, begins again, and is then reported. */
XT_TEST(condition_that_is_over_and_begins_again_is_reported_by_the_same_wait)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	flickers = 1;
	XT_OK(xt_change(queue, 7, TALLY, XPOLL_ADD, NOTE_MORE, 10, NULL));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EQ(event.data, 10);
	XT_EQ(flickers, 0);
	XT_OK(xt_flag(queue, 7, TALLY, XPOLL_DELETE));
}

XT_TEST(own_source_is_found_supported_and_described)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	char text[128];

	XT_FAILS(xpoll_lookup(queue, 7, TALLY, &event), ENOENT);
	XT_OK(xt_change(queue, 7, TALLY, XPOLL_ADD | XPOLL_DISPATCH, NOTE_MORE, 11, NULL));
	XT_OK(xpoll_lookup(queue, 7, TALLY, &event));
	XT_EQ(event.data, 11);
	XT_EQ(xpoll_supports(queue, TALLY, NOTE_MORE), 1);
	XT_EQ(xpoll_supports(queue, TALLY, 2), 0);
	XT_GETS(queue, &event, 7, TALLY);
	XT_CHECK(xpoll_describe(&event, text, sizeof text) > 0);
	XT_CHECK(strncmp(text, "TALLY ident=7 data=11 ", 22) == 0);
	XT_CHECK(strstr(text, " MORE"));
	XT_OK(xt_flag(queue, 7, TALLY, XPOLL_DELETE));
}

XT_TEST(absent_source_has_a_name_and_is_not_supported)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	char text[128];

	XT_STATUS(xt_change(queue, 1, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0, NULL),
	          ENOTSUP);
	XT_STATUS(xt_flag(queue, 1, XPOLL_FILT_PROC, XPOLL_DELETE), ENOTSUP);
	XT_FAILS(xpoll_lookup(queue, 1, XPOLL_FILT_PROC, &event), ENOENT);
	XT_EQ(xpoll_supports(queue, XPOLL_FILT_PROC, 0), 0);
	xpoll_set(&event, 1, XPOLL_FILT_PROC, 0, 0, 0, NULL);
	XT_CHECK(xpoll_describe(&event, text, sizeof text) > 0);
	XT_CHECK(strncmp(text, "PROC ", 5) == 0);
	/* A filter whose source is not in the table is unknown. */
	XT_STATUS(xt_flag(queue, 1, XPOLL_FILT_TIMER, XPOLL_ADD), EINVAL);
	XT_FAILS(xpoll_lookup(queue, 1, XPOLL_FILT_TIMER, &event), EINVAL);
}
