/*
 * The io_uring back end, for programs that ask for it by name.
 *
 * Each descriptor has a multishot poll in a ring.  It reports edges into memory
 * that is read without a system call; as what it tells may be past by then, it
 * is a hint, and the queue looks at the state.  A poll is bound to the open
 * file, not to the number, and keeps the file open until it is cancelled.
 *
 * The kernel carries a poll out on behalf of the thread that submitted it.  If
 * that thread has ended the poll ends with ECANCELED; then, and whenever a poll
 * ends by itself, whoever finds that out submits it anew.
 *
 * Where looking takes the news away the report itself is what is told; of a state
 * that lasts each wait after it looks, and tells the answer.  Others that must
 * not be looked at from the side, and the library's own descriptors,
 * which are watched by level, are in a set of their own.  A thread sleeps in
 * poll(2) on that, on the ring and on the eventfd that wakes it: unlike
 * io_uring_enter(2) it is a cancellation point, and tells EINTR in all cases.
 */
#include "backend/backend.h"

#include <errno.h>
#include <stdatomic.h>

#include "backend/outer.h"
#include "backend/own.h"
#include "backend/ringmap.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"
#include "os/sys_uring.h"

#ifdef XP_HAVE_POLLRING

/* What a sleeping thread waits for: its own entries, and the ring. */
enum { IORING_ENTRY = XP_OWN_ENTRIES, IORING_ENTRIES };

/* So long a thread sleeps at most while the kernel lacks memory for a poll. */
#define IORING_AGAIN_NS (10 * XP_NS_PER_MS)

struct ioring_state {
	struct xp_ringmap ring; /* it has a lock of its own */
	struct xp_own own;      /* immutable */
	struct xp_outer outer;
	atomic_uint turns;      /* odd: the edges come first */
	struct xp_counters *counters;
};

static int ioring_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct ioring_state *state = opaque;

	return xp_ringmap_attach(&state->ring, fd, watch, token);
}

static int ioring_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct ioring_state *state = opaque;

	return xp_ringmap_change(&state->ring, fd, watch, token);
}

static int ioring_detach(void *opaque, int fd)
{
	struct ioring_state *state = opaque;

	return xp_ringmap_detach(&state->ring, fd);
}

static int ioring_harvest(void *opaque, struct xp_fired *fired, int cap)
{
	struct ioring_state *state = opaque;

	return xp_ringmap_harvest(&state->ring, fired, cap);
}

/* What poll(2) has found; the kinds take turns in being first. */
static int ioring_take(struct ioring_state *state, const struct pollfd *fds,
                       struct xp_fired *fired, int cap)
{
	bool edges_first = atomic_fetch_add(&state->turns, 1) & 1;
	int count = xp_own_report_wake(&state->own, fds, fired);

	if (edges_first)
		count += xp_own_report_edges(&state->own, fds, fired + count,
		                             cap - count);
	if (fds[IORING_ENTRY].revents)
		count += ioring_harvest(state, fired + count, cap - count);
	if (!edges_first)
		count += xp_own_report_edges(&state->own, fds, fired + count,
		                             cap - count);
	if (fds[IORING_ENTRY].revents && count == 0) {
		xp_pollring_flush(&state->ring.polls);
		count = ioring_harvest(state, fired, cap);
	}
	return count;
}

/* The queue looks at the clock, and harvests again before it sleeps again. */
static int64_t ioring_deadline(struct ioring_state *state, int64_t deadline_ns)
{
	int64_t again_ns;

	if (!xp_ringmap_behind(&state->ring))
		return deadline_ns;
	again_ns = xp_sys_now() + IORING_AGAIN_NS;
	return again_ns < deadline_ns ? again_ns : deadline_ns;
}

static int ioring_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                        struct xp_fired *fired, int cap)
{
	struct ioring_state *state = opaque;
	struct pollfd fds[IORING_ENTRIES];
	int rc;

	XP_ASSERT(cap > 0);
	xp_own_entries(&state->own, fds);
	fds[IORING_ENTRY].fd = xp_pollring_fd(&state->ring.polls);
	fds[IORING_ENTRY].events = POLLIN;
	if (deadline_ns == XP_NOW)
		rc = xp_sys_poll_now(fds, IORING_ENTRIES);
	else
		rc = xp_sys_poll_wait(fds, IORING_ENTRIES,
		                      ioring_deadline(state, deadline_ns), mask);
	return rc <= 0 ? rc : ioring_take(state, fds, fired, cap);
}

static bool ioring_owes(void *opaque)
{
	struct ioring_state *state = opaque;

	return xp_ringmap_owes(&state->ring);
}

static void ioring_wake(void *opaque)
{
	struct ioring_state *state = opaque;

	xp_count_shared(&state->ring.polls.counters->syscalls_wake);
	xp_beacon_light(&state->own.wake);
}

static int ioring_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct ioring_state *state = opaque;
	int rc = xp_own_open(&state->own, counters);

	(void)size_hint;
	if (rc < 0)
		return rc;
	xp_outer_init(&state->outer);
	state->counters = counters;
	rc = xp_ringmap_open(&state->ring, &state->own.edge, counters);
	if (rc < 0)
		xp_own_close(&state->own);
	/* Whoever looked whether it is allowed may see it otherwise by now. */
	return rc == -ENOSYS || rc == -EPERM || rc == -EACCES ? -ENOTSUP : rc;
}

static void ioring_close(void *opaque)
{
	struct ioring_state *state = opaque;

	xp_outer_fini(&state->outer);
	xp_ringmap_close(&state->ring);
	xp_own_close(&state->own);
}

static bool ioring_owns(const void *opaque, int fd)
{
	const struct ioring_state *state = opaque;

	return xp_own_has(&state->own, fd) || xp_outer_owns(&state->outer, fd) ||
		fd == xp_pollring_fd(&state->ring.polls);
}

static int ioring_queue_fd(void *opaque)
{
	struct ioring_state *state = opaque;

	return xp_outer_fd(&state->outer, xp_pollring_fd(&state->ring.polls),
	                   state->own.edge.fd);
}

static int ioring_set_attention(void *opaque, bool on)
{
	struct ioring_state *state = opaque;

	return xp_outer_set_attention(&state->outer, on,
	                              xp_pollring_fd(&state->ring.polls));
}

static void ioring_attention_lasts(void *opaque)
{
	struct ioring_state *state = opaque;

	xp_outer_attention_lasts(&state->outer, xp_pollring_fd(&state->ring.polls));
}

static int ioring_set_alarm(void *opaque, int64_t deadline_ns)
{
	struct ioring_state *state = opaque;

	return xp_outer_set_alarm(&state->outer, deadline_ns);
}

const struct xp_backend_ops xp_backend_io_uring = {
	.name = "io_uring",
	.caps = XP_CAP_CONCURRENT | XP_CAP_QUEUE_FD | XP_CAP_EXCEPT | XP_CAP_BY_EDGE |
		XP_CAP_STAYS,
	.state_size = sizeof(struct ioring_state),
	.open = ioring_open,
	.close = ioring_close,
	.owns = ioring_owns,
	.usable = xp_sys_uring_allowed,
	.attach = ioring_attach,
	.change = ioring_change,
	.detach = ioring_detach,
	.harvest = ioring_harvest,
	.wait = ioring_await,
	.owes = ioring_owes,
	.wake = ioring_wake,
	.queue_fd = ioring_queue_fd,
	.set_attention = ioring_set_attention,
	.attention_lasts = ioring_attention_lasts,
	.set_alarm = ioring_set_alarm,
};

#endif
