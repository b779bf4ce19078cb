/*
 * The kqueue back end.
 *
 * Changes that enable and disable are collected, and passed to the kernel with the next wait, or
 * many in one call just before it.  Changes whose result is needed are made at once (kqueue_set.c).
 * The kernel's reports of a descriptor (READ, WRITE, EXCEPT) are merged into one.  The bits of an
 * end of file come from poll(2), because the kernels describe it differently.  A forked child does
 * not have the kernel's queue, only the wake-up descriptors.
 */
#include "bsd/kqueue_state.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/threads.h"
#include "base/time.h"
#include "bsd/system.h"
#include "sys/sys.h"

enum {
	/* size of kqueue_merge's hash table: a power of two, and more than XP_FIRED_MOST */
	KQ_PAIRS = 512,
};

struct kqueue_state {
	struct xp_kq_set set; /* first member: functions of a set are called with the state */
	struct xp_wakefd wake; /* immutable, because xpoll_wake signals without the queue's lock */
	/* the process that opened the kqueues; a forked child does not have them */
	pid_t owner;
};

static int kqueue_open(void *opaque, int size_hint,
                       struct xp_counters *counters)
{
	struct kqueue_state *state = opaque;
	int rc;

	(void)size_hint;
	state->set.counters = counters;
	atomic_init(&state->set.write_removed_fd, KQ_REMOVED_NONE);
	xp_kq_outer_init(&state->set.outer);
	state->owner = getpid();
	state->set.fd = xp_sys_kqueue();
	if (state->set.fd < 0)
		return state->set.fd;
	rc = xp_wakefd_open(&state->wake);
	if (rc == 0)
		rc = xp_kq_add_own_fd(state->set.fd, state->wake.fd, EV_CLEAR);
	if (rc == 0)
		return 0;
	xp_wakefd_close(&state->wake);
	xp_sys_close(state->set.fd);
	return rc;
}

static void kqueue_close(void *opaque)
{
	struct kqueue_state *state = opaque;
	/*
	 * In a forked child do not close the kqueues: their descriptors may be of other files
	 * there.
	 */
	bool ours = state->owner == getpid();

	xp_kq_outer_fini(&state->set.outer, ours);
	if (ours)
		xp_sys_close(state->set.fd);
	xp_wakefd_close(&state->wake);
	xp_free(state->set.entries);
	xp_free(state->set.dirty);
}

static bool kqueue_owns(const void *opaque, int fd)
{
	const struct kqueue_state *state = opaque;

	return fd == state->set.fd || fd == state->set.outer.fd ||
		xp_wakefd_has(&state->wake, fd) ||
		xp_wakefd_has(&state->set.outer.attention, fd);
}

/* Reports of the kernel -------------------------------------------------------- */

/*
 * Returns the bits of poll(2) for a report that does not show them itself: an end of file, an
 * error, READ of the write end of a pipe, or the EVFILT_USER in place of WRITE.
 */
static uint32_t kqueue_probe(struct kqueue_state *state,
                             const struct kevent *event)
{
	bool reads = event->filter == EVFILT_READ;
	/*
	 * Request all bits of READ and WRITE; the queue drops those that the registration has not
	 * requested.
	 */
	struct pollfd probe = {
		.fd = (int)event->ident,
		.events = POLLIN | POLLOUT | POLLRDHUP,
	};
	uint32_t bits = 0;

	xp_count_shared(&state->set.counters->syscalls_check);
	if (xp_sys_poll_now(&probe, 1) > 0)
		bits = (unsigned short)probe.revents;
	if (bits & POLLNVAL)
		return POLLNVAL;
	if (event->filter == EVFILT_WRITE && event->flags & EV_EOF &&
	    bits & (POLLERR | POLLHUP))
		xp_kq_note_write_removed(&state->set, probe.fd);
	/*
	 * Some kernels' poll(2) does not report that only the peer has closed its side: add POLLIN
	 * and POLLRDHUP.
	 */
	if (reads && event->flags & EV_EOF && !xp_kq_is_write_end(event) &&
	    !(bits & (POLLRDHUP | POLLHUP)))
		bits |= POLLIN | POLLRDHUP;
	if (!reads && !bits)
		bits = POLLOUT;
	return bits;
}

/* Returns the bits of poll(2) for a report; 0: nothing to report. */
static uint32_t kqueue_bits(struct kqueue_state *state,
                            const struct kevent *event)
{
	if (event->flags & EV_ERROR)
		return xp_kq_is_gone(&state->set, event) ? POLLNVAL : 0;
	/* NetBSD has no EVFILT_EXCEPT, and its EVFILT_READ is 0, like XP_KQ_EXCEPT there. */
	if (XP_KQ_EXCEPT && event->filter == XP_KQ_EXCEPT)
		return POLLPRI;
	/*
	 * data <= 0: nothing to read or no room to write, so the cause is probably an error, or
	 * this is the always active EVFILT_USER that stands in for a refused WRITE (write_replaced,
	 * is_hung_up of struct xp_kq_entry).  The report then does not show the bits: get them by
	 * poll(2).
	 */
	if (event->flags & EV_EOF || event->data <= 0 || xp_kq_is_write_end(event))
		return kqueue_probe(state, event);
	return event->filter == EVFILT_READ ? POLLIN : POLLOUT;
}

/*
 * Merge the reports of each descriptor into one, with the bits of all.  Returns the new number of
 * reports.
 */
static int kqueue_merge(struct xp_fired *fired, int count)
{
	uint16_t places[KQ_PAIRS] = {0}; /* hash table of indices in `fired` plus 1; 0: free */
	int kept = 0;

	for (int i = 0; i < count; i++) {
		uint32_t place = (uint32_t)fired[i].token * 0x9e3779b1u >> 23;

		while (places[place] &&
		       fired[places[place] - 1].token != fired[i].token)
			place = (place + 1) % KQ_PAIRS;
		if (places[place]) {
			fired[places[place] - 1].events |= fired[i].events;
			continue;
		}
		fired[kept++] = fired[i];
		places[place] = (uint16_t)kept;
	}
	return kept;
}

/* Convert the kernel's events to reports, one for each descriptor.  Returns their number. */
static int kqueue_harvest(struct kqueue_state *state,
                          const struct kevent *events, int len,
                          struct xp_fired *fired)
{
	bool differ = XP_KQ_REPEATS_EOF && len > 1;
	int count = 0;

	for (int i = 0; i < len; i++) {
		struct xp_fired *next = &fired[count];

		if ((int)events[i].ident == state->wake.fd) {
			xp_wakefd_clear(&state->wake);
			next->token = XP_TOKEN_WAKE;
			next->events = 0;
			count++;
			continue;
		}
		next->token = xp_kq_token(&events[i]);
		next->events = kqueue_bits(state, &events[i]);
		differ |= events[i].filter != events[0].filter;
		count += next->events != 0;
	}
	return differ ? kqueue_merge(fired, count) : count;
}

/* --- Waiting ----------------------------------------------------------------- */

/*
 * Sleep in poll(2) on the kqueue (macOS: in pselect(2)), and then take its events.  kevent(2)
 * cannot sleep with a signal mask, and on some systems that call is no cancellation point
 * (XP_KQ_SLEEPS_IN_KEVENT).
 */
static int kqueue_sleep_in_poll(struct kqueue_state *state, int64_t deadline_ns,
                               const sigset_t *mask, struct kevent *events,
                               int cap)
{
	struct pollfd probe = {.fd = state->set.fd, .events = POLLIN};
	int rc = xp_sys_poll_wait(&probe, 1, deadline_ns, mask);

	if (rc <= 0)
		return rc;
	return xp_sys_kevent_now(state->set.fd, NULL, 0, events, cap);
}

/*
 * Called in a wait with timeout 0, which a program makes when the outer descriptor is readable: has
 * the kernel remove reports that no longer hold.
 */
static void kqueue_outer_refresh(struct kqueue_state *state)
{
	if (state->set.outer.fd < 0)
		return;
	xp_count_shared(&state->set.counters->syscalls_check);
	xp_kq_outer_refresh(&state->set.outer);
}

/*
 * The back end's `wait`.  If the queue's lock is held (timeout 0) or this is the only thread, the
 * wait also passes pending changes to the kernel; if there are more than fit into one call, the
 * wait does not sleep.
 */
static int kqueue_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                        struct xp_fired *fired, int cap)
{
	struct kqueue_state *state = opaque;
	struct kevent changes[KQ_CHUNK];
	struct kevent events[XP_FIRED_MOST];
	bool more = false;
	int count = 0;
	int rc;

	XP_ASSERT(cap > 0 && cap <= XP_FIRED_MOST);
	if (deadline_ns <= XP_NOW || xp_single_threaded()) {
		/* Limit the changes to `room`: each one that fails takes an element of `events`. */
		int room = cap < KQ_RECORDS ? KQ_RECORDS : cap;

		count = xp_kq_load(&state->set, changes,
		                   room < KQ_CHUNK ? room : KQ_CHUNK);
		more = xp_kq_has_pending(&state->set);
		if (more)
			deadline_ns = XP_NOW;
	}
	if ((mask || !XP_KQ_SLEEPS_IN_KEVENT) && deadline_ns > XP_NOW) {
		if (count > 0)
			(void)xp_sys_kevent_change(state->set.fd, changes, count);
		rc = kqueue_sleep_in_poll(state, deadline_ns, mask, events, cap);
	} else if (deadline_ns <= XP_NOW) {
		rc = xp_sys_kevent_now(state->set.fd, changes, count, events, cap);
		kqueue_outer_refresh(state);
	} else {
		rc = xp_sys_kevent_wait(state->set.fd, changes, count, events, cap,
		                        deadline_ns);
	}
	if (rc <= 0)
		return rc;
	count = kqueue_harvest(state, events, rc, fired);
	return more || rc == cap ? xp_fired_add_more(fired, count, cap) : count;
}

static void kqueue_wake(void *opaque)
{
	struct kqueue_state *state = opaque;

	xp_count_shared(&state->set.counters->syscalls_wake);
	xp_wakefd_signal(&state->wake);
}

const struct xp_backend_ops xp_backend_kqueue = {
	.name = "kqueue",
	.caps = XP_CAP_CONCURRENT | XP_CAP_FREE_CHANGE | XP_CAP_KNOWS_FILE | XP_CAP_CHEAP_MASK |
		(XP_KQ_EXCEPT ? XP_CAP_EXCEPT : 0),
	.state_size = sizeof(struct kqueue_state),
	.open = kqueue_open,
	.close = kqueue_close,
	.owns = kqueue_owns,
	.attach = xp_kq_attach,
	.change = xp_kq_change,
	.detach = xp_kq_detach,
	.has_pending = xp_kq_has_pending,
	.flush = xp_kq_flush,
	.wait = kqueue_await,
	.wake = kqueue_wake,
	.outer = &xp_kq_outer_ops,
};
