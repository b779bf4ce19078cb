/*
 * SIGNAL: counts deliveries of a signal to this process, with or without a handler of the program,
 * unless counting would change the signal's effect.  Signals are not consumed, except with
 * XPOLL_NOTE_ACCEPT.
 *
 * The provider counts all deliveries, and a registration how many of them it has reported in
 * events.  The registration is active while the provider's count is larger.
 *
 * A blocked signal that is pending counts as one more delivery.  When it is delivered later, the
 * pending one is not counted any more, so the sum stays the same and there is no second event.
 */
#include "source/source.h"

#include <errno.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "source/signal.h"
#include "sys/process.h"
#include "sys/sys.h"

/* A registration of SIGNAL. */
struct signal_registration {
	struct xp_registration reg;
	struct xp_list item; /* links the registration into the state's `regs` */
	/*
	 * number of deliveries to report in all: those so far, plus 1 if the signal was found
	 * pending, because its delivery follows; if sigwait(3) accepts the pending signal instead,
	 * the 1 is subtracted again
	 */
	uint64_t known;
	uint64_t reported;   /* how many of `known` were reported in events */
	/*
	 * a descriptor that is readable while the signal is pending; -1: no ADD came from a thread
	 * that blocks the signal
	 */
	int fd;
	/* `fd` was reported as readable, and signal_query_pending was not called since */
	bool sent_since_query;
	/*
	 * `known` includes a signal that was pending, and not delivered yet, at the last
	 * signal_query_pending
	 */
	bool pending_counted;
	/* value of xp_signal_handler_losses up to which losses were counted */
	uint64_t handler_losses_seen;
};

/* The state of this source in a queue. */
struct signal_state {
	struct xp_source_fd watch; /* the self-pipe's descriptor, for reading */
	struct xp_selfpipe *selfpipe; /* the library's signal handlers write to it */
	struct xp_wakefd wakefd; /* the self-pipe's descriptors, to close them in a forked child */
	struct xp_list regs;
	/*
	 * epoll set of the signalfds of blocked signals (signal_registration.fd), readable when one
	 * of these signals is sent; its own fd is -1 if there is no such set
	 */
	struct xp_source_fd blocked;
	uint32_t process; /* number (sys/process.h) of the process that opened the self-pipe */
};

static struct signal_registration *signal_registration(struct xp_registration *reg)
{
	return XP_CONTAINER_OF(reg, struct signal_registration, reg);
}

static unsigned signal_of(const struct xp_registration *reg)
{
	return reg->item.ident > INT_MAX ? 0 : (unsigned)reg->item.ident;
}

static struct signal_state *state_of(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_SIGNAL);
}

/*
 * Query whether the signal is pending, and update `known`, the number of deliveries, plus 1 for a
 * pending signal.  Does nothing if the signal was neither sent since the last call
 * (sent_since_query) nor counted as pending by that call (pending_counted), or if the next sleep
 * unblocks the signal, because then a handler of the library will count it.
 */
static void signal_query_pending(struct xpoll *queue, struct signal_registration *self)
{
	unsigned number = signal_of(&self->reg);
	/*
	 * Read the count before the signal is queried, so that a signal that is then pending is not
	 * in the count.
	 */
	uint64_t delivered = xp_signal_delivered(number);
	bool sent = self->sent_since_query;
	bool pending;

	/*
	 * If the next sleep unblocks the signal, a handler will run and count it: do not count
	 * here.
	 */
	if (!(sent || self->pending_counted) || xp_host.unblocks_signal(queue, number))
		return;
	XP_ASSERT(self->fd >= 0 && self->known >= self->reported);
	self->sent_since_query = false;
	pending = xp_pending_now(number);
	if (pending && self->reg.fflags & XPOLL_NOTE_ACCEPT &&
	    xp_pending_accept(self->fd, number)) {
		self->pending_counted = false;
		return;
	}
	self->pending_counted = pending || self->known > delivered;
	if (self->known < delivered + pending) {
		self->known = delivered + pending;
	} else if (self->known == self->reported && pending) {
		/*
		 * A signal is pending, but `known` has no delivery that was not reported yet.  If
		 * the signal was sent since the last query, a thread may have accepted the one that
		 * was counted before by sigwait(3): then count the new one.
		 */
		self->known += sent && xp_pending_may_be_resent(number);
	} else if (self->known == self->reported && self->pending_counted &&
	           xp_pending_others_asleep()) {
		/*
		 * The signal is not pending any more, and a handler would have counted it by now.
		 * So sigwait(3) has accepted the signal, which is no delivery: reduce `known`.
		 */
		self->known = self->reported = xp_signal_delivered(number);
		self->pending_counted = false;
	}
}

/* Update `known`, and activate the registration if there are deliveries to report. */
static void signal_update(struct xpoll *queue, struct signal_registration *self)
{
	uint64_t delivered;

	if (self->fd >= 0)
		signal_query_pending(queue, self);
	delivered = xp_signal_delivered(signal_of(&self->reg));
	if (self->known < delivered)
		self->known = delivered;
	if (self->known != self->reported)
		xp_host.set_active(queue, &self->reg, true);
}

/*
 * Activate the registrations whose signals were delivered.  reported: the self-pipe was reported as
 * readable.
 */
static void signal_update_all(struct xpoll *queue, bool reported)
{
	struct signal_state *state = state_of(queue);

	/*
	 * Clear the self-pipe before the counts are read, so that a later delivery makes it
	 * readable again.
	 */
	xp_selfpipe_clear(state->selfpipe, reported);
	XP_LIST_EACH(struct signal_registration, self, &state->regs, item)
		signal_update(queue, self);
}

static void selfpipe_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	(void)watch;
	signal_update_all(queue, true);
}

/* Called when the set of signalfds is readable: blocked signals were sent. */
static void blocked_ready(struct xpoll *queue, struct xp_source_fd *set)
{
	unsigned number;

	while ((number = xp_pending_next(set->fd)) != 0) {
		struct xp_registration *reg = xp_host.find(queue, number, XPOLL_FILT_SIGNAL);

		if (reg)
			signal_registration(reg)->sent_since_query = true;
	}
	XP_LIST_EACH(struct signal_registration, self, &state_of(queue)->regs, item) {
		/*
		 * This thread does not block the signal, so a handler may have run during its
		 * sleep.  The sleep returned this report instead of EINTR: let the wait return
		 * EINTR if the wait has no event.
		 */
		if (self->fd >= 0 && !xp_sys_signal_is_blocked((int)signal_of(&self->reg), NULL))
			xp_host.interrupted(queue);
		signal_update(queue, self);
	}
}

/* Open the set of descriptors for blocked signals, and have the queue watch it. */
static int blocked_set_make(struct xpoll *queue, struct xp_source_fd *set)
{
	int rc;

	set->fd = xp_pending_open_set();
	if (set->fd < 0)
		return set->fd;
	set->ready = blocked_ready;
	rc = xp_host.watch(queue, set);
	if (rc < 0) {
		xp_sys_close(set->fd);
		set->fd = -1;
	}
	return rc;
}

/*
 * If the calling thread blocks the signal, open a descriptor that becomes readable when the signal
 * is pending.
 */
static int signal_watch_blocked(struct xpoll *queue, struct signal_registration *self)
{
	struct signal_state *state = state_of(queue);
	unsigned number = signal_of(&self->reg);
	int rc = 0;

	if (self->fd >= 0 || !xp_sys_signal_is_blocked((int)number, NULL))
		return 0;
	if (state->blocked.fd < 0)
		rc = blocked_set_make(queue, &state->blocked);
	if (rc >= 0)
		rc = xp_pending_open_fd(state->blocked.fd, number);
	if (rc < 0)
		return rc;
	self->fd = rc;
	return 0;
}

static void signal_unwatch_blocked(struct signal_registration *self)
{
	if (self->fd >= 0)
		xp_sys_close(self->fd);
	self->fd = -1;
}

/*
 * Make the queue's state of SIGNAL, with a self-pipe that the queue watches.  Returns 0 or an
 * error.
 */
static int state_make(struct xpoll *queue, struct signal_state **made)
{
	struct signal_state *state = xp_zalloc(sizeof *state);
	int rc = state ? xp_selfpipe_open(&state->selfpipe) : -ENOMEM;

	if (rc < 0)
		goto free_state;
	xp_list_init(&state->regs);
	state->process = xp_process_number();
	state->wakefd = xp_selfpipe_wakefd(state->selfpipe);
	state->watch.fd = state->wakefd.fd;
	state->watch.ready = selfpipe_ready;
	state->blocked.fd = -1;
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

/* Begin to observe the signal of a new or inherited registration. */
static int signal_begin(struct xpoll *queue, struct xp_registration *reg)
{
	void **place = xp_host.state(queue, XP_SOURCE_SIGNAL);
	struct signal_registration *self = signal_registration(reg);
	struct signal_state *state = *place;
	int rc = state ? 0 : state_make(queue, &state);

	if (rc < 0)
		return rc;
	*place = state;
	/*
	 * Read the count before the handler is installed: deliveries from now on belong to this
	 * registration.
	 */
	self->known = self->reported = xp_signal_delivered(signal_of(reg));
	self->fd = -1;
	self->sent_since_query = self->pending_counted = false;
	/*
	 * Call signal_watch_blocked before the observation begins.  If it failed afterwards, the
	 * observation would have to end, and restoring the program's action can discard a pending
	 * signal.
	 */
	rc = signal_watch_blocked(queue, self);
	if (rc < 0)
		return rc;
	rc = xp_signal_observe(state->selfpipe, signal_of(reg), &self->handler_losses_seen);
	if (rc < 0) {
		signal_unwatch_blocked(self);
		return rc;
	}
	xp_list_append(&state->regs, &self->item);
	return 0;
}

static int signal_attach(struct xpoll *queue, struct xp_registration *reg,
                         const struct xpoll_event *change)
{
	reg->fflags = change->fflags;
	return signal_begin(queue, reg);
}

/*
 * Count one in the queue's statistics if the program has replaced the library's handler since the
 * last call for this registration, however often.
 */
static void signal_add_handler_loss(struct xpoll *queue, struct signal_registration *self,
                                    uint64_t losses)
{
	XP_ASSERT(losses >= self->handler_losses_seen);
	if (losses != self->handler_losses_seen)
		xp_host.count_unobserved(queue);
	self->handler_losses_seen = losses;
}

/*
 * An ADD watches for a pending signal, if the calling thread blocks it.  Each call, also for
 * another change, installs the library's handler again, if the program has replaced it.
 */
static int signal_touch(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	struct signal_registration *self = signal_registration(reg);
	uint64_t losses = self->handler_losses_seen;
	int rc;

	if (change->flags & XPOLL_ADD) {
		rc = signal_watch_blocked(queue, self);
		if (rc < 0)
			return rc;
		reg->fflags = change->fflags;
	}
	if (xp_signal_observe_is_noop(signal_of(reg)))
		return 0;
	rc = xp_signal_observe(state_of(queue)->selfpipe, signal_of(reg), &losses);
	signal_add_handler_loss(queue, self, losses);
	return rc;
}

static void signal_detach(struct xpoll *queue, struct xp_registration *reg)
{
	struct signal_registration *self = signal_registration(reg);

	signal_add_handler_loss(queue, self, xp_signal_handler_losses(signal_of(&self->reg)));
	xp_list_remove(&self->item);
	signal_unwatch_blocked(self);
	xp_signal_unobserve(state_of(queue)->selfpipe, signal_of(reg));
}

/* Store the number of deliveries since the last event. */
static int signal_collect(struct xpoll *queue, struct xp_registration *reg,
                          struct xpoll_event *event)
{
	struct signal_registration *self = signal_registration(reg);
	uint64_t delivered = xp_signal_delivered(signal_of(reg));

	if (self->known < delivered)
		self->known = delivered;
	XP_ASSERT(self->known > self->reported);
	event->fflags = 0;
	event->data = (int64_t)(self->known - self->reported);
	self->reported = self->known;
	xp_host.set_active(queue, reg, false);
	/* No thread sleeps, so signal handlers need not write to the self-pipe. */
	if (!xp_host.awaited(queue))
		xp_selfpipe_disarm(state_of(queue)->selfpipe);
	return 0;
}

static void signal_add_handler_losses(struct xpoll *queue)
{
	struct signal_state *state = state_of(queue);

	XP_LIST_EACH(struct signal_registration, self, &state->regs, item)
		signal_add_handler_loss(queue, self,
		                        xp_signal_handler_losses(signal_of(&self->reg)));
}

/*
 * Query again which signals are pending, for all registrations with a signalfd (`fd`): another
 * thread may have accepted a signal that was counted as pending.
 */
static void signal_update_blocked(struct xpoll *queue)
{
	struct signal_state *state = state_of(queue);

	if (state->blocked.fd < 0)
		return;
	XP_LIST_EACH(struct signal_registration, self, &state->regs, item)
		if (self->fd >= 0)
			signal_update(queue, self);
}

/*
 * Find what no descriptor has reported: activate registrations whose signals were delivered, and,
 * before the counters are read, count handlers that the program has replaced.
 */
static void signal_refresh(struct xpoll *queue, enum xp_step before)
{
	if (before == XP_BEFORE_EINTR ||
	    (before == XP_BEFORE_SLEEP && xp_selfpipe_arm(state_of(queue)->selfpipe)))
		signal_update_all(queue, false);
	else if (before == XP_BEFORE_SLEEP)
		signal_update_blocked(queue);
	else if (before == XP_BEFORE_COUNTERS)
		signal_add_handler_losses(queue);
}

static void signal_release(struct xpoll *queue, struct xp_registration *reg)
{
	struct signal_state *state = state_of(queue);

	xp_list_remove(&signal_registration(reg)->item);
	signal_unwatch_blocked(signal_registration(reg));
	if (state->process == xp_process_number())
		xp_signal_unobserve(state->selfpipe, signal_of(reg));
}

/*
 * Free the state.  In a forked child close only the copies of descriptors, because the self-pipe is
 * the parent's.
 */
static void signal_fini(struct xpoll *queue, void *opaque)
{
	struct signal_state *state = opaque;

	(void)queue;
	XP_ASSERT(xp_list_empty(&state->regs));
	if (state->blocked.fd >= 0)
		xp_sys_close(state->blocked.fd);
	if (state->process == xp_process_number())
		xp_selfpipe_close(state->selfpipe);
	else
		xp_wakefd_close(&state->wakefd);
	xp_free(state);
}

static const struct xp_note_name signal_notes[] = {
	{XPOLL_NOTE_ACCEPT, "ACCEPT"},
	{0, NULL},
};

static const struct xp_source_process signal_per_process = {
	.begin = xp_signal_init_process,
};

const struct xp_source_ops xp_source_signal = {
	.filter = XPOLL_FILT_SIGNAL,
	.id = XP_SOURCE_SIGNAL,
	.name = "SIGNAL",
	.notes = signal_notes,
	.fflags = XPOLL_NOTE_ACCEPT,
	.implied = XPOLL_CLEAR,
	.size = sizeof(struct signal_registration),
	.attach = signal_attach,
	.touch = signal_touch,
	.detach = signal_detach,
	.collect = signal_collect,
	.refresh = signal_refresh,
	.release = signal_release,
	.fini = signal_fini,
	.process = &signal_per_process,
	.inherit = signal_begin,
};
