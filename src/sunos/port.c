/*
 * The port back end: event ports of illumos and Solaris.
 *
 * An association of a descriptor with the port reports one event (port_set.c).  An event has the
 * state at the time it was sent, which may be long ago.  So if a descriptor was associated before a
 * wait began, the wait checks its event by poll(2), up to 64 of them in one call.  xpoll_wake sends
 * an event, too.
 *
 * A port cannot watch edge-triggered.  On illumos such registrations, and all of devices, are in a
 * set of epoll(7), which a port cannot contain; while there are any, a wait sleeps in poll(2) on
 * the port and the set.
 */
#include "sunos/port_state.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/threads.h"
#include "base/time.h"
#include "posix/outer.h"
#include "sunos/system.h"
#include "sys/sys.h"

struct port_state {
	/*
	 * for xpoll_fd: an epoll set that contains the port.  First member, because functions of
	 * xp_outer_ops are called with the state.
	 */
	struct xp_outer outer;
	struct xp_port_set set;
};

static int port_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct port_state *state = opaque;
	int rc = xp_port_set_open(&state->set, counters);

	(void)size_hint;
	xp_outer_init(&state->outer, state->set.fd, state->set.edge.fd);
	return rc;
}

static void port_close(void *opaque)
{
	struct port_state *state = opaque;

	xp_outer_fini(&state->outer);
	xp_port_set_close(&state->set);
}

static bool port_owns(const void *opaque, int fd)
{
	const struct port_state *state = opaque;

	return fd == state->set.fd || xp_edge_owns(&state->set.edge, fd) ||
		xp_outer_owns(&state->outer, fd);
}

static int port_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct port_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->set.lock);
	rc = xp_port_attach(&state->set, fd, watch, token);
	xp_mutex_unlock(&state->set.lock);
	return rc;
}

static int port_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct port_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->set.lock);
	rc = xp_port_change(&state->set, fd, watch, token);
	xp_mutex_unlock(&state->set.lock);
	return rc;
}

static int port_detach(void *opaque, int fd)
{
	struct port_state *state = opaque;
	int rc;

	xp_mutex_lock(&state->set.lock);
	rc = xp_port_detach(&state->set, fd);
	xp_mutex_unlock(&state->set.lock);
	return rc;
}

static bool port_has_pending(const void *opaque)
{
	struct port_state *state = (struct port_state *)(uintptr_t)opaque;
	bool has_pending;

	xp_mutex_lock(&state->set.lock);
	has_pending = state->set.due_head >= 0 || state->set.events_lost;
	/*
	 * After a flush that failed, return false once, so that the caller does not flush for ever;
	 * the next wait associates the descriptors.
	 */
	if (has_pending && state->set.flush_failed) {
		state->set.flush_failed = false;
		has_pending = false;
	}
	xp_mutex_unlock(&state->set.lock);
	return has_pending;
}

static int port_flush(void *opaque, struct xp_fired *fired, int cap)
{
	struct port_state *state = opaque;
	int count = 0;

	xp_mutex_lock(&state->set.lock);
	state->set.flush_failed =
		xp_port_associate_due(&state->set, fired, cap, &count) < 0;
	xp_mutex_unlock(&state->set.lock);
	return count;
}

/* --- Waiting ----------------------------------------------------------------- */

/* One wait call in progress; lives on the caller's stack. */
struct port_call {
	struct port_state *state;
	struct xp_fired *fired;
	int cap;
	int count;
	uint32_t epoch;  /* number of this wait: set->last_epoch when the wait began */
	/* the edge set (an epoll set, of edge-triggered registrations and devices) is not empty */
	bool has_edges;
	bool port_only; /* this wait sleeps on the port only, not on the edge set (an epoll set) */
	int requested; /* number of events requested from the port */
	port_event_t events[XP_FIRED_MOST];
};

/*
 * Handle the events that the port returned; called with set->lock, which guards the table of
 * descriptors.
 */
static void port_harvest(struct port_call *call, int len)
{
	struct port_state *state = call->state;
	struct xp_port_unsure unsure;
	int first = call->count;
	int reported = first;

	unsure.len = 0;
	for (int i = 0; i < len; i++) {
		const port_event_t *event = &call->events[i];
		struct xp_fired *next = &call->fired[call->count];

		if (event->portev_source == PORT_SOURCE_FD) {
			call->count += xp_port_fired(&state->set, event,
			                             call->epoch, &unsure, next);
		} else {
			*next = (struct xp_fired){.token = XP_TOKEN_WAKE};
			call->count++;
		}
		if (event->portev_source == PORT_SOURCE_ALERT)
			xp_port_clear_alert(&state->set);
	}
	xp_port_recheck(&state->set, &unsure);
	for (int i = first; i < call->count; i++)
		if (call->fired[i].events || call->fired[i].token == XP_TOKEN_WAKE)
			call->fired[reported++] = call->fired[i];
	call->count = reported;
}

static void port_harvest_edges(struct port_call *call)
{
	int room = call->cap - call->count;

	if (call->has_edges && room > 0)
		call->count += xp_edge_harvest(&call->state->set.edge,
		                               call->fired + call->count, room);
}

/*
 * Begin to wait; called with set->lock.  Associates the descriptors that are due (in the list of
 * those to associate), unless other threads may change them; if that stores reports or fails,
 * *deadline_ns becomes XP_NOW.
 */
static int port_begin(struct port_call *call, int64_t *deadline_ns,
                      const sigset_t *mask)
{
	struct xp_port_set *set = &call->state->set;
	int rc = 0;

	call->epoch = ++set->last_epoch;
	/*
	 * Associate descriptors only while no other thread can change the registrations: a wait
	 * with timeout 0 has the queue's lock, and the only thread of a process needs none.
	 */
	if (*deadline_ns <= XP_NOW || xp_single_threaded())
		rc = xp_port_associate_due(set, call->fired, call->cap,
		                           &call->count);
	call->has_edges = set->edge_count > 0;
	if (call->count > 0 || rc < 0)
		*deadline_ns = XP_NOW;
	call->port_only = *deadline_ns > XP_NOW && !call->has_edges && !mask;
	set->port_only_waiters += call->port_only;
	set->waiters++;
	return rc;
}

/* End a wait; called with set->lock. */
static void port_end(struct port_call *call)
{
	struct xp_port_set *set = &call->state->set;

	set->waiters--;
	set->port_only_waiters -= call->port_only;
	XP_ASSERT(set->waiters >= 0 && set->port_only_waiters >= 0);
}

/*
 * Cleanup handler of a thread that is cancelled in a wait.  The thread may have taken events, which
 * ends their associations, and nobody has seen these events: the next wait or flush associates all
 * descriptors again (set->events_lost).
 */
static void port_cancelled(void *opaque)
{
	struct port_call *call = opaque;

	xp_mutex_lock(&call->state->set.lock);
	port_end(call);
	call->state->set.events_lost = true;
	xp_mutex_unlock(&call->state->set.lock);
}

/*
 * Sleep, on the port alone or in poll(2) on the port and the edge set, the epoll set of descriptors
 * that the port does not watch.  Returns the number of events that were taken from the port, or a
 * negative errno value.
 */
static int port_sleep(struct port_call *call, int64_t deadline_ns,
                      const sigset_t *mask)
{
	struct xp_port_set *set = &call->state->set;
	int room = call->cap - call->count;
	struct pollfd probes[] = {
		{.fd = set->fd, .events = POLLIN},
		{.fd = call->has_edges ? set->edge.fd : -1, .events = POLLIN},
	};
	int rc;

	if (room == 0)
		return 0;
	call->requested = room;
	if (call->port_only)
		return xp_sys_port_wait(set->fd, call->events, room, deadline_ns);
	if (deadline_ns > XP_NOW) {
		rc = xp_sys_poll_wait(probes, 2, deadline_ns, mask);
		if (rc <= 0)
			return rc;
		if (!probes[0].revents)
			room = 0;
		xp_count_shared(&set->counters->syscalls_check);
	}
	/* The port and the edge set take turns in being read first, so that both get room. */
	if (call->epoch % 2)
		port_harvest_edges(call);
	room = call->cap - call->count < room ? call->cap - call->count : room;
	if (room <= 0)
		return 0;
	call->requested = room;
	return xp_sys_port_now(set->fd, call->events, room);
}

static int port_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                      struct xp_fired *fired, int cap)
{
	struct port_call call;
	struct port_state *state = opaque;
	int before;
	int rc;

	XP_ASSERT(cap > 0 && cap <= XP_FIRED_MOST);
	call.state = state;
	call.fired = fired;
	call.cap = cap;
	call.count = 0;
	call.requested = 0;
	xp_mutex_lock(&state->set.lock);
	before = port_begin(&call, &deadline_ns, mask);
	xp_mutex_unlock(&state->set.lock);
	pthread_cleanup_push(port_cancelled, &call);
	rc = port_sleep(&call, deadline_ns, mask);
	pthread_cleanup_pop(0);
	xp_mutex_lock(&state->set.lock);
	port_end(&call);
	port_harvest(&call, rc);
	xp_mutex_unlock(&state->set.lock);
	if (call.epoch % 2 == 0)
		port_harvest_edges(&call);
	if (rc > 0 && rc == call.requested)
		call.count = xp_fired_add_more(fired, call.count, cap);
	if (call.count > 0)
		return call.count;
	return before < 0 ? before : rc < 0 ? rc : 0;
}

static void port_wake(void *opaque)
{
	struct port_state *state = opaque;

	xp_count_shared(&state->set.counters->syscalls_wake);
	xp_port_wake(&state->set);
}

const struct xp_backend_ops xp_backend_port = {
	.name = "port",
	.caps = XP_CAP_CONCURRENT | XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_EXCEPT,
	.state_size = sizeof(struct port_state),
	.open = port_open,
	.close = port_close,
	.owns = port_owns,
	.attach = port_attach,
	.change = port_change,
	.detach = port_detach,
	.has_pending = port_has_pending,
	.flush = port_flush,
	.wait = port_await,
	.wake = port_wake,
	.outer = &xp_outer_ops,
};
