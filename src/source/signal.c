/*
 * SIGNAL: deliveries of a signal to this process, counted beside whatever
 * disposition it has.  Nothing is consumed.
 *
 * The registration remembers how many deliveries it has reported; what the
 * provider has counted beyond that makes it active.
 */
#include "source/source.h"

#include <errno.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/process.h"
#include "source/signal.h"

struct signal_registration {
	struct xp_registration reg;
	struct xp_list item; /* in the state's list */
	uint64_t reported;   /* deliveries */
	uint64_t losses;     /* of the observation, that are counted */
};

struct signal_state {
	struct xp_source_fd watch;
	struct xp_selfpipe *selfpipe;
	struct xp_wakefd wakefd; /* the self-pipe's */
	struct xp_list regs;
	uint32_t process; /* that opened the self-pipe */
};

static struct signal_registration *signal_registration(struct xp_registration *reg)
{
	return XP_CONTAINER_OF(reg, struct signal_registration, reg);
}

static unsigned number_of(const struct xp_registration *reg)
{
	return reg->item.ident > INT_MAX ? 0 : (unsigned)reg->item.ident;
}

static struct signal_state *state_of(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_SIGNAL);
}

/* Activate what was delivered. */
static void signal_interrupted(struct xpoll *queue, bool reported)
{
	struct signal_state *state = state_of(queue);

	/* First, so that what is delivered from now on signals it again. */
	xp_selfpipe_clear(state->selfpipe, reported);
	XP_LIST_EACH(struct signal_registration, self, &state->regs, item)
		if (xp_signal_delivered(number_of(&self->reg)) != self->reported)
			xp_host.activate(queue, &self->reg);
}

static void selfpipe_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	(void)watch;
	signal_interrupted(queue, true);
}

static int state_make(struct xpoll *queue, struct signal_state **made)
{
	struct signal_state *state = xp_alloc(sizeof *state);
	int rc = state ? xp_selfpipe_open(&state->selfpipe) : -ENOMEM;

	if (rc < 0)
		goto free_state;
	xp_list_init(&state->regs);
	state->process = xp_process_current();
	state->wakefd = xp_selfpipe_wakefd(state->selfpipe);
	state->watch.fd = state->wakefd.fd;
	state->watch.ready = selfpipe_ready;
	rc = xp_host.watch(queue, &state->watch);
	if (rc < 0)
		goto close_selfpipe;
	xp_host.set_probed(queue);
	*made = state;
	return 0;

close_selfpipe:
	xp_selfpipe_close(state->selfpipe);
free_state:
	xp_free(state);
	return rc;
}

static int signal_begin(struct xpoll *queue, struct xp_registration *reg)
{
	void **place = xp_host.state(queue, XP_SOURCE_SIGNAL);
	struct signal_registration *self = signal_registration(reg);
	struct signal_state *state = *place;
	int rc = state ? 0 : state_make(queue, &state);

	if (rc < 0)
		return rc;
	*place = state;
	/* Before the handler counts: what it counts then is this one's. */
	self->reported = xp_signal_delivered(number_of(reg));
	rc = xp_signal_observe(state->selfpipe, number_of(reg));
	if (rc < 0)
		return rc;
	self->losses = xp_signal_losses(number_of(reg));
	xp_list_append(&state->regs, &self->item);
	return 0;
}

static int signal_attach(struct xpoll *queue, struct xp_registration *reg,
                         const struct xpoll_event *change)
{
	(void)change;
	return signal_begin(queue, reg);
}

/* Losses are counted once for each registration that suffers them. */
static void signal_audit_registration(struct xpoll *queue, struct signal_registration *self)
{
	uint64_t losses = xp_signal_losses(number_of(&self->reg));

	XP_ASSERT(losses >= self->losses);
	if (losses != self->losses)
		xp_host.unobserved(queue);
	self->losses = losses;
}

static int signal_touch(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	(void)change;
	if (xp_signal_in_place(number_of(reg)))
		return 0;
	signal_audit_registration(queue, signal_registration(reg));
	return xp_signal_observe(state_of(queue)->selfpipe, number_of(reg));
}

static void signal_detach(struct xpoll *queue, struct xp_registration *reg)
{
	struct signal_registration *self = signal_registration(reg);

	signal_audit_registration(queue, self);
	xp_list_remove(&self->item);
	xp_signal_ignore(state_of(queue)->selfpipe, number_of(reg));
}

static int signal_collect(struct xpoll *queue, struct xp_registration *reg,
                          struct xpoll_event *event)
{
	struct signal_registration *self = signal_registration(reg);
	uint64_t delivered = xp_signal_delivered(number_of(reg));

	XP_ASSERT(delivered > self->reported);
	event->fflags = 0;
	event->data = (int64_t)(delivered - self->reported);
	self->reported = delivered;
	xp_host.deactivate(queue, reg);
	/* A handler need not write to what nobody waits for. */
	if (!xp_host.awaited(queue))
		xp_selfpipe_disarm(state_of(queue)->selfpipe);
	return 0;
}

static void signal_audit(struct xpoll *queue)
{
	struct signal_state *state = state_of(queue);

	XP_LIST_EACH(struct signal_registration, self, &state->regs, item)
		signal_audit_registration(queue, self);
}

static void signal_settle(struct xpoll *queue, enum xp_settle before)
{
	if (before == XP_BEFORE_EINTR ||
	    (before == XP_BEFORE_SLEEP && xp_selfpipe_arm(state_of(queue)->selfpipe)))
		signal_interrupted(queue, false);
	else if (before == XP_BEFORE_COUNTERS)
		signal_audit(queue);
}

static void signal_release(struct xpoll *queue, struct xp_registration *reg)
{
	struct signal_state *state = state_of(queue);

	xp_list_remove(&signal_registration(reg)->item);
	if (state->process == xp_process_current())
		xp_signal_ignore(state->selfpipe, number_of(reg));
}

static void signal_fini(struct xpoll *queue, void *opaque)
{
	struct signal_state *state = opaque;

	(void)queue;
	XP_ASSERT(xp_list_empty(&state->regs));
	if (state->process == xp_process_current())
		xp_selfpipe_close(state->selfpipe);
	else
		xp_wakefd_close(&state->wakefd);
	xp_free(state);
}

static const struct xp_source_process signal_per_process = {
	.begin = xp_signal_begin,
};

const struct xp_source_ops xp_source_signal = {
	.filter = XPOLL_FILT_SIGNAL,
	.id = XP_SOURCE_SIGNAL,
	.name = "SIGNAL",
	.implied = XPOLL_CLEAR,
	.size = sizeof(struct signal_registration),
	.attach = signal_attach,
	.touch = signal_touch,
	.detach = signal_detach,
	.collect = signal_collect,
	.settle = signal_settle,
	.release = signal_release,
	.fini = signal_fini,
	.process = &signal_per_process,
	.inherit = signal_begin,
};
