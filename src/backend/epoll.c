/*
 * The epoll back end.
 *
 * One epoll set and one eventfd that wakes it, edge-triggered so that it is
 * never read.  epoll knows a registration by (number, open file): a reopened
 * number is a new registration, and a closed file stays in the set as long as
 * a duplicate is open anywhere.  Both shape the queue's use of it; here they
 * are only reported.
 *
 * xpoll_fd hands out an outer epoll set that holds the inner one: the inner
 * can be renewed without the holder of the descriptor noticing.
 */
#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"
#include "os/sys_linux.h"

enum { EPOLL_CHUNK = 256 };

struct epoll_state {
	int epoll_fd;
	int wake_fd;
	int previous_fd;  /* the set before, while it is renewed */
	int outer_fd;     /* -1: xpoll_fd was not called */
	int attention_fd; /* -1: likewise */
	bool apart;       /* the outer set is readable, and does not hold this one */
	int alarm_fd;     /* -1: likewise, or there was no timer since */
	int64_t alarm_ns; /* alarm_fd is, from then on */
	struct xp_counters *counters;
};

static void close_any(int fd)
{
	if (fd >= 0)
		xp_sys_close(fd);
}

static uint32_t to_kernel(uint32_t watch)
{
	/* On Linux EPOLLIN is POLLIN, and so on; asserted below. */
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

static int epoll_control(struct epoll_state *state, int op, int fd,
                         uint32_t watch, uint64_t token)
{
	xp_count(&state->counters->syscalls_change);
	return xp_sys_epoll_ctl(state->epoll_fd, op, fd, to_kernel(watch), token);
}

static bool epoll_owns(const void *opaque, int fd)
{
	const struct epoll_state *state = opaque;

	return fd == state->wake_fd || fd == state->epoll_fd ||
		fd == state->outer_fd || fd == state->attention_fd ||
		fd == state->alarm_fd;
}

static int epoll_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	int rc = epoll_control(opaque, EPOLL_CTL_ADD, fd, watch, token);

	/* An O_PATH descriptor is open, whatever epoll says. */
	if (rc == -EBADF && xp_sys_open_flags(fd) >= 0)
		return -ENOTSUP;
	return rc;
}

static int epoll_detach(void *opaque, int fd)
{
	int rc = epoll_control(opaque, EPOLL_CTL_DEL, fd, 0, 0);

	/* A file that cannot be waited for: not the one that was attached. */
	return rc == -EPERM ? -ENOENT : rc;
}

static int epoll_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	int rc;

	if (!(watch & XP_WATCH_EXCLUSIVE)) {
		rc = epoll_control(opaque, EPOLL_CTL_MOD, fd, watch, token);
		if (rc != -EINVAL)
			return rc;
	}
	/* Exclusive registrations cannot be modified. */
	rc = epoll_detach(opaque, fd);
	return rc < 0 ? rc : epoll_attach(opaque, fd, watch, token);
}

static int epoll_open(void *opaque, int size_hint, struct xp_counters *counters)
{
	struct epoll_state *state = opaque;
	int rc;

	(void)size_hint;
	state->counters = counters;
	state->outer_fd = -1;
	state->attention_fd = -1;
	state->apart = false;
	state->alarm_fd = -1;
	state->alarm_ns = XP_NEVER;
	state->epoll_fd = xp_sys_epoll_create();
	if (state->epoll_fd < 0)
		return state->epoll_fd;
	rc = xp_sys_eventfd(false);
	state->wake_fd = rc;
	if (rc >= 0)
		rc = epoll_control(state, EPOLL_CTL_ADD, state->wake_fd,
		                   POLLIN | XP_WATCH_EDGE, XP_TOKEN_WAKE);
	if (rc >= 0)
		return 0;
	close_any(state->wake_fd);
	xp_sys_close(state->epoll_fd);
	return rc;
}

static void epoll_close(void *opaque)
{
	struct epoll_state *state = opaque;

	close_any(state->outer_fd);
	close_any(state->attention_fd);
	close_any(state->alarm_fd);
	xp_sys_close(state->epoll_fd);
	xp_sys_close(state->wake_fd);
}

static int epoll_await(void *opaque, int64_t deadline_ns, const sigset_t *mask,
                       struct xp_fired *fired, int cap)
{
	struct epoll_state *state = opaque;
	struct epoll_event events[EPOLL_CHUNK];
	int count;

	XP_ASSERT(cap > 0);
	if (cap > EPOLL_CHUNK)
		cap = EPOLL_CHUNK;
	if (deadline_ns == XP_NOW)
		count = xp_sys_epoll_now(state->epoll_fd, events, cap);
	else
		count = xp_sys_epoll_sleep(state->epoll_fd, events, cap, deadline_ns,
		                           mask);
	for (int i = 0; i < count; i++) {
		fired[i].token = events[i].data.u64;
		fired[i].events = events[i].events;
	}
	return count;
}

static void epoll_wake(void *opaque)
{
	static const uint64_t one = 1;
	struct epoll_state *state = opaque;

	xp_count_shared(&state->counters->syscalls_wake);
	xp_sys_write(state->wake_fd, &one, sizeof one);
}

/* Have the outer set hold this one under this number; 0 as well without one. */
static int outer_control(struct epoll_state *state, int op, int fd)
{
	if (state->outer_fd < 0 || state->apart)
		return 0;
	return xp_sys_epoll_ctl(state->outer_fd, op, fd, EPOLLIN, 0);
}

/*
 * From now on the number stands for the fresh set.  The outer set holds the old
 * or the fresh one at every moment, and both in between: what fails then is
 * without harm.
 */
static int epoll_switch(struct epoll_state *state, int fresh)
{
	int rc = outer_control(state, EPOLL_CTL_ADD, fresh);

	if (rc < 0)
		return rc;
	(void)outer_control(state, EPOLL_CTL_DEL, state->epoll_fd);
	rc = xp_sys_put(fresh, state->epoll_fd);
	if (outer_control(state, EPOLL_CTL_ADD, state->epoll_fd) == 0)
		(void)outer_control(state, EPOLL_CTL_DEL, fresh);
	return rc;
}

/*
 * Threads inside epoll_wait hold the old set's file; they stay with it until
 * they are woken, which the shared wake_fd can still do.
 */
static int epoll_renew(void *opaque)
{
	struct epoll_state *state = opaque;
	int previous = xp_sys_dup(state->epoll_fd);
	int fresh = previous < 0 ? previous : xp_sys_epoll_create();
	int rc = fresh;

	XP_ASSERT(fresh != state->epoll_fd);
	if (fresh >= 0)
		rc = xp_sys_epoll_ctl(fresh, EPOLL_CTL_ADD, state->wake_fd,
		                      EPOLLIN | EPOLLET, XP_TOKEN_WAKE);
	if (rc >= 0)
		rc = epoll_switch(state, fresh);
	close_any(fresh);
	if (rc < 0)
		close_any(previous);
	state->previous_fd = previous;
	return rc;
}

/* An exclusive entry cannot be modified, which tells that it is there. */
static bool epoll_renew_knows(void *opaque, int fd)
{
	struct epoll_state *state = opaque;
	int rc;

	xp_count(&state->counters->syscalls_change);
	rc = xp_sys_epoll_ctl(state->previous_fd, EPOLL_CTL_MOD, fd, EPOLLET, 0);
	return rc != -ENOENT && rc != -EBADF && rc != -EPERM;
}

static void epoll_renew_end(void *opaque)
{
	struct epoll_state *state = opaque;

	xp_sys_close(state->previous_fd);
}

/* Nobody takes events from this set: all are in it by level. */
static int outer_add(int outer_fd, int fd)
{
	if (outer_fd < 0 || fd < 0)
		return outer_fd < 0 ? outer_fd : fd;
	return xp_sys_epoll_ctl(outer_fd, EPOLL_CTL_ADD, fd, EPOLLIN, 0);
}

static int outer_open(struct epoll_state *state)
{
	int outer_fd = xp_sys_epoll_create();
	int attention_fd = xp_sys_eventfd(false);
	int rc = outer_add(outer_fd, state->epoll_fd);

	if (rc >= 0)
		rc = outer_add(outer_fd, attention_fd);
	if (rc < 0) {
		close_any(attention_fd);
		close_any(outer_fd);
		return rc;
	}
	state->attention_fd = attention_fd;
	state->outer_fd = outer_fd;
	return 0;
}

static int epoll_queue_fd(void *opaque)
{
	struct epoll_state *state = opaque;
	int rc = state->outer_fd < 0 ? outer_open(state) : 0;

	return rc < 0 ? rc : state->outer_fd;
}

static int epoll_set_attention(void *opaque, bool on)
{
	struct epoll_state *state = opaque;
	uint64_t count = 1;
	int rc = 0;

	XP_ASSERT(state->attention_fd >= 0);
	if (on) {
		xp_sys_write(state->attention_fd, &count, sizeof count);
		return 0;
	}
	if (state->apart)
		rc = outer_add(state->outer_fd, state->epoll_fd);
	if (rc == 0)
		xp_sys_read(state->attention_fd, &count, sizeof count);
	state->apart = rc < 0;
	return rc;
}

/* Each event of this set would be told to the outer one: a tenth of its price. */
static void epoll_attention_lasts(void *opaque)
{
	struct epoll_state *state = opaque;

	state->apart = outer_control(state, EPOLL_CTL_DEL, state->epoll_fd) == 0;
}

static int alarm_open(struct epoll_state *state)
{
	int fd = xp_sys_timer_fd();
	int rc = outer_add(state->outer_fd, fd);

	if (rc >= 0)
		state->alarm_fd = fd;
	else
		close_any(fd);
	return rc;
}

static int epoll_set_alarm(void *opaque, int64_t deadline_ns)
{
	struct epoll_state *state = opaque;
	int rc = 0;

	XP_ASSERT(state->outer_fd >= 0);
	if (deadline_ns == state->alarm_ns)
		return 0;
	/* Too early is right, too: most timers are put off before they expire. */
	if (state->alarm_ns < deadline_ns && state->alarm_ns > xp_sys_now())
		return 0;
	if (state->alarm_fd < 0)
		rc = alarm_open(state);
	if (rc < 0)
		return rc;
	xp_sys_timer_set(state->alarm_fd, deadline_ns);
	state->alarm_ns = deadline_ns;
	return 0;
}

const struct xp_backend_ops xp_backend_epoll = {
	.name = "epoll",
	.caps = XP_CAP_CONCURRENT | XP_CAP_ONESHOT | XP_CAP_QUEUE_FD,
	.state_size = sizeof(struct epoll_state),
	.open = epoll_open,
	.close = epoll_close,
	.owns = epoll_owns,
	.attach = epoll_attach,
	.change = epoll_change,
	.detach = epoll_detach,
	.wait = epoll_await,
	.wake = epoll_wake,
	.renew = epoll_renew,
	.renew_knows = epoll_renew_knows,
	.renew_end = epoll_renew_end,
	.queue_fd = epoll_queue_fd,
	.set_attention = epoll_set_attention,
	.attention_lasts = epoll_attention_lasts,
	.set_alarm = epoll_set_alarm,
};
