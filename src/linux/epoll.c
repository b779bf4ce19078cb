/*
 * The epoll back end: one epoll set, and in it one eventfd that wakes threads, edge-triggered so
 * that it need not be read.
 *
 * epoll identifies a registration by descriptor and open file.  So a reused descriptor is a new
 * registration, and a closed file stays in the set as long as a duplicate is open anywhere.  The
 * queue handles both; this file only returns the kernel's results.
 *
 * xpoll_fd returns an outer epoll set that contains this one: see posix/outer.h.
 */

#include <fcntl.h>

#include "base/assert.h"
#include "linux/sys_linux.h"
#include "linux/system.h"
#include "posix/outer.h"
#include "posix/solo.h"
#include "sys/sys.h"

struct epoll_state {
	struct xp_outer outer; /* first member: xp_outer_ops gets a pointer to the state */
	int epoll_fd; /* the main set, which also contains the solo sets */
	/*
	 * equals epoll_fd, on which a thread may then wait directly (direct_fd_at); -1 once there
	 * are solo sets, which such a wait would not read
	 */
	int direct_fd;
	struct xp_wakefd wake;
	/* descriptor of the set that is replaced, from `begin` to `end` of xp_renew_ops */
	int previous_fd;
	struct xp_solo solo; /* sets inside the main one, for entries of one filter */
	struct xp_counters *counters;
};

static uint32_t to_kernel(uint32_t watch)
{
	/* EPOLLIN equals POLLIN, and so on: asserted below. */
	uint32_t events = watch & XP_WATCH_BITS;

	if (watch & XP_WATCH_EDGE)
		events |= EPOLLET;
	if (watch & XP_WATCH_ONESHOT)
		events |= EPOLLONESHOT;
	if (watch & XP_WATCH_EXCLUSIVE)
		events = (events & (EPOLLIN | EPOLLOUT)) | EPOLLEXCLUSIVE;
	return events;
}

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT &&
               EPOLLPRI == POLLPRI && EPOLLERR == POLLERR &&
               EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP,
               "epoll and poll share their bits on Linux");

static int epoll_control(struct epoll_state *state, int op, int fd, uint32_t watch, uint64_t token)
{
	xp_count(&state->counters->syscalls_change);
	return xp_sys_epoll_ctl(state->epoll_fd, op, fd, to_kernel(watch), token);
}

static bool epoll_owns(const void *opaque, int fd)
{
	const struct epoll_state *state = opaque;

	return xp_wakefd_has(&state->wake, fd) || fd == state->epoll_fd ||
		xp_outer_owns(&state->outer, fd) ||
		(xp_solo_was_opened(&state->solo) && xp_solo_owns(&state->solo, fd));
}

static int epoll_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct epoll_state *state = opaque;
	int rc;

	if (XP_UNLIKELY(watch & XP_WATCH_SOLO_ANY)) {
		state->direct_fd = -1;
		return xp_solo_attach(&state->solo, state->epoll_fd, fd, watch, token);
	}
	rc = epoll_control(opaque, EPOLL_CTL_ADD, fd, watch, token);
	/*
	 * The kernel refuses EPOLLEXCLUSIVE for an epoll set.  The flag is only a hint: leave it
	 * out.
	 */
	if (rc == -EINVAL && watch & XP_WATCH_EXCLUSIVE)
		rc = epoll_control(opaque, EPOLL_CTL_ADD, fd,
		                   watch & ~(uint32_t)XP_WATCH_EXCLUSIVE, token);
	/* EBADF of an open descriptor: an O_PATH descriptor, which epoll refuses. */
	return rc == -EBADF && xp_sys_open_flags(fd) >= 0 ? -ENOTSUP : rc;
}

static int epoll_detach(void *opaque, int fd)
{
	int rc = epoll_control(opaque, EPOLL_CTL_DEL, fd, 0, 0);

	/* EPERM: the file cannot be polled, so fd was reused since it was attached. */
	return rc == -EPERM ? -ENOENT : rc;
}

static int epoll_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct epoll_state *state = opaque;
	int rc;

	if (watch & XP_WATCH_SOLO_ANY)
		return xp_solo_change(&state->solo, fd, watch, token);
	if (!(watch & XP_WATCH_EXCLUSIVE)) {
		rc = epoll_control(opaque, EPOLL_CTL_MOD, fd, watch, token);
		if (rc != -EINVAL)
			return rc;
	}
	/*
	 * The kernel cannot modify exclusive entries, nor make an entry exclusive: delete and add.
	 */
	rc = epoll_detach(opaque, fd);
	return rc < 0 ? rc : epoll_attach(opaque, fd, watch, token);
}

static int epoll_change_unlocked(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	return xp_sys_epoll_ctl(((struct epoll_state *)opaque)->epoll_fd, EPOLL_CTL_MOD, fd,
	                        to_kernel(watch), token);
}

static int epoll_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct epoll_state *state = opaque;
	struct epoll_event event;
	int rc;

	(void)size_hint;
	state->counters = counters;
	xp_solo_init(&state->solo, counters);
	state->epoll_fd = xp_sys_epoll_create();
	if (state->epoll_fd < 0)
		return state->epoll_fd;
	state->direct_fd = state->epoll_fd;
	xp_outer_init(&state->outer, state->epoll_fd, -1);
	rc = xp_wakefd_open(&state->wake);
	if (rc >= 0)
		rc = epoll_control(state, EPOLL_CTL_ADD, state->wake.fd,
		                   POLLIN | XP_WATCH_EDGE, XP_TOKEN_WAKE);
	/*
	 * Test epoll_wait(2) and poll(2): if a sandbox refuses one, the back end fails to open, so
	 * that the queue can use another.
	 */
	if (rc >= 0)
		rc = xp_sys_epoll_now(state->epoll_fd, &event, 1);
	if (rc >= 0)
		rc = xp_sys_check_poll();
	if (rc >= 0)
		return 0;
	xp_wakefd_close(&state->wake);
	xp_sys_close(state->epoll_fd);
	return rc;
}

static int epoll_set_busy_poll(void *opaque, uint32_t microseconds)
{
	return xp_sys_busy_poll_set(((struct epoll_state *)opaque)->epoll_fd, microseconds);
}

static void epoll_close(void *opaque)
{
	struct epoll_state *state = opaque;

	xp_outer_fini(&state->outer);
	xp_solo_fini(&state->solo);
	xp_sys_close(state->epoll_fd);
	xp_wakefd_close(&state->wake);
}

/* Arrays of struct xp_fired are passed to epoll_wait(2) here, in epoll_solo.c and in sys_hot.h. */
_Static_assert(sizeof(struct xp_fired) == sizeof(struct epoll_event) &&
               offsetof(struct xp_fired, token) == offsetof(struct epoll_event, data),
               "a struct xp_fired is a struct epoll_event");

/*
 * Sleep with a signal mask, by ppoll(2) of the set.  epoll_pwait(2) is not used: it fails with
 * EINTR even for ignored signals that were pending, and, with timeout 0, although nothing was
 * interrupted.
 */
static int epoll_sleep_masked(const struct epoll_state *state, int64_t deadline_ns,
                              const sigset_t *mask, struct xp_fired *fired, int cap)
{
	struct pollfd probe = {.fd = state->epoll_fd, .events = POLLIN};
	int rc = xp_sys_poll_wait(&probe, 1, deadline_ns, mask);

	if (rc <= 0)
		return rc;
	rc = xp_sys_epoll_now(state->epoll_fd, (void *)fired, cap);
	if (rc != 0)
		return rc;
	/*
	 * Another thread has taken the report.  Return an entry that means "call again", because 0
	 * would mean that the deadline has passed.
	 */
	fired[0] = (struct xp_fired){.token = XP_TOKEN_WAKE, .events = XP_FIRED_MORE};
	return 1;
}

static int epoll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                       struct xp_fired *fired, int cap)
{
	struct epoll_state *state = opaque;
	/*
	 * First take reports of the solo sets (inner sets of entries for one filter) for which the
	 * last call had no room.  Reports of the main set are stored behind these.
	 */
	int first = xp_solo_take_unread(&state->solo, fired, cap);
	int room = cap - first;
	int count = 0;
	bool full;

	XP_ASSERT(cap > 0 && cap <= XP_FIRED_ALONE);
	if (XP_UNLIKELY(first > 0) || deadline_ns <= XP_NOW)
		count = room > 0
			? xp_sys_epoll_now(state->epoll_fd, (void *)(fired + first), room) : 0;
	else if (XP_LIKELY(!mask))
		count = xp_sys_epoll_wait(state->epoll_fd, (void *)fired, cap, deadline_ns);
	else
		count = epoll_sleep_masked(state, deadline_ns, mask, fired, cap);
	/*
	 * Solo sets are inner sets of entries for one filter: a report that an inner set is ready
	 * has to be replaced by the reports of that set.  Test for them after the sleep, because
	 * another thread may have made the first one meanwhile.
	 */
	if (XP_LIKELY(!xp_solo_was_opened(&state->solo)))
		return count;
	if (count <= 0)
		return first > 0 ? first : count;
	full = count == room;
	first += xp_solo_expand(&state->solo, fired + first, count, room);
	return full ? xp_fired_add_more(fired, first, cap) : first;
}

static void epoll_wake(void *opaque)
{
	struct epoll_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_wakefd_signal(&state->wake);
}

/*
 * Make epoll_fd refer to the fresh set.  The outer set always contains the old set, the fresh one,
 * or both.  First the fresh set is added to the outer set as the descriptor `fresh`, and then again
 * as epoll_fd, in place of that entry.  If the second addition fails, the first entry stays: the
 * kernel keeps it even after `fresh` is closed, because epoll_fd refers to the same set.
 */
static int epoll_install_set(struct epoll_state *state, int fresh)
{
	int rc = xp_outer_add_inner(&state->outer, fresh);

	if (rc < 0)
		return rc;
	xp_outer_remove_inner(&state->outer, state->epoll_fd);
	rc = xp_sys_dup_to(fresh, state->epoll_fd);
	if (xp_outer_add_inner(&state->outer, state->epoll_fd) == 0)
		xp_outer_remove_inner(&state->outer, fresh);
	return rc;
}

/*
 * Replace the set by an empty one.  Threads in epoll_wait(2) use the old set until they are woken;
 * the wake-up descriptor is in both sets.
 */
static int epoll_renew_begin(void *opaque)
{
	struct epoll_state *state = opaque;
	int previous = xp_sys_dup(state->epoll_fd);
	int fresh = previous < 0 ? previous : xp_sys_epoll_create();
	int rc = fresh;

	XP_ASSERT(fresh != state->epoll_fd);
	if (fresh >= 0)
		xp_sys_busy_poll_copy(fresh, state->epoll_fd);
	if (fresh >= 0)
		rc = xp_sys_epoll_ctl(fresh, EPOLL_CTL_ADD, state->wake.fd,
		                      EPOLLIN | EPOLLET, XP_TOKEN_WAKE);
	if (rc >= 0)
		rc = epoll_install_set(state, fresh);
	if (fresh >= 0)
		xp_sys_close(fresh);
	if (rc < 0 && previous >= 0)
		xp_sys_close(previous);
	state->previous_fd = previous;
	if (rc >= 0)
		xp_solo_renew(&state->solo, state->epoll_fd);
	return rc;
}

/*
 * Returns true if the old set has an entry of fd, and makes the entry useless: no requested bits,
 * and the token of the wake-up descriptor.  The kernel refuses to modify an exclusive entry, but
 * the error shows that the entry exists.  A hang-up still wakes a thread that sleeps in the old
 * set.
 */
static bool epoll_renew_retire_old(void *opaque, int fd)
{
	struct epoll_state *state = opaque;
	int rc;

	xp_count(&state->counters->syscalls_change);
	rc = xp_sys_epoll_ctl(state->previous_fd, EPOLL_CTL_MOD, fd, EPOLLET, XP_TOKEN_WAKE);
	return rc != -ENOENT && rc != -EBADF && rc != -EPERM;
}

static void epoll_renew_end(void *opaque)
{
	struct epoll_state *state = opaque;

	xp_sys_close(state->previous_fd);
}

const struct xp_backend_ops xp_backend_epoll = {
	.name = "epoll",
	.caps = XP_CAP_CONCURRENT | XP_CAP_KNOWS_FILE | XP_CAP_EXCEPT | XP_CAP_CHEAP_MASK,
	.fired_most = XP_FIRED_ALONE,
	.state_size = sizeof(struct epoll_state),
	.direct_fd_at = offsetof(struct epoll_state, direct_fd),
	.open = epoll_open,
	.close = epoll_close,
	.busy_poll = epoll_set_busy_poll,
	.owns = epoll_owns,
	.attach = epoll_attach,
	.change = epoll_change,
	.change_unlocked = epoll_change_unlocked,
	.detach = epoll_detach,
	.wait = epoll_await,
	.wake = epoll_wake,
	.renew = &(const struct xp_renew_ops){epoll_renew_begin, epoll_renew_retire_old,
	                                      epoll_renew_end},
	.outer = &xp_outer_ops,
};
