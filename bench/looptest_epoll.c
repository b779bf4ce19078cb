/*
 * looptest on epoll(7), written by hand, twice; pointers are the cookies.
 *
 * raw-epoll: level-triggered, one epoll_ctl(MOD) for each change.  A write end that
 * is not wanted stays in the set with an empty mask.
 *
 * four-calls: the system calls that lazy interest needs.  Each end is registered
 * once, the read ends level-triggered and the write ends edge-triggered, and
 * poll(2) with timeout 0 looks at the write end that is wanted.  There is no
 * bookkeeping: it knows that one write end at a time is.  This is what the method
 * can reach at best.
 */
#include <sys/epoll.h>

#include "workloads.h"

struct epoll_state {
	const struct bench_pairs *pipes;
	struct bench_pair *wanted; /* of four-calls: its write end is enabled */
	int fd;
	struct epoll_event events[LOOPTEST_EVENTS];
};

static int epoll_change(struct epoll_state *state, int op, int fd, uint32_t events,
                        struct bench_pair *pipe)
{
	struct epoll_event event = { .events = events, .data.ptr = pipe };

	bench_calls++;
	return epoll_ctl(state->fd, op, fd, &event) < 0 ? -errno : 0;
}

static int epoll_fill(struct epoll_state *state, void *setup, uint32_t write_events)
{
	int rc = 0;

	state->pipes = &((struct loop_field *)setup)->pairs;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	if (state->fd < 0)
		return -errno;
	for (int i = 0; i < state->pipes->len && rc == 0; i++) {
		struct bench_pair *pipe = &state->pipes->at[i];

		rc = epoll_change(state, EPOLL_CTL_ADD, pipe->read_fd, EPOLLIN, pipe);
		if (rc == 0)
			rc = epoll_change(state, EPOLL_CTL_ADD, pipe->write_fd,
			                  write_events, pipe);
	}
	return rc < 0 ? rc : looptest_start(state->pipes);
}

static void epoll_close(void *opened)
{
	struct epoll_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
}

/* Wait, and serve what is ready; how many reads that were, or -errno. */
static inline int epoll_serve(struct epoll_state *state,
                              int (*serve)(struct epoll_state *, const struct epoll_event *))
{
	int ready = epoll_wait(state->fd, state->events, LOOPTEST_EVENTS, -1);
	int reads = 0;

	bench_calls++;
	if (ready < 0 && !bench_goes_on(errno))
		return -errno;
	for (int i = 0; i < ready; i++) {
		int rc = serve(state, &state->events[i]);

		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

/* --- raw-epoll --------------------------------------------------------------- */

static int raw_open(void *opened, void *setup, const struct bench_way *way)
{
	(void)way;
	return epoll_fill(opened, setup, 0);
}

static int raw_event(struct epoll_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;
	struct bench_pair *next;
	int changed;
	int rc;

	if ((event->events & EPOLLIN) == 0) {
		rc = epoll_change(state, EPOLL_CTL_MOD, pipe->write_fd, 0, pipe);
		return rc < 0 ? rc : bench_give(pipe);
	}
	next = looptest_next(state->pipes, pipe);
	rc = looptest_take(pipe);
	if (rc < 0)
		return rc;
	changed = epoll_change(state, EPOLL_CTL_MOD, next->write_fd, EPOLLOUT, next);
	return changed < 0 ? changed : rc;
}

static int raw_turn(void *state)
{
	return epoll_serve(state, raw_event);
}

static int raw_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, raw_turn);
}

const struct bench_ops looptest_epoll_ops = {
	.size = sizeof(struct epoll_state),
	.open = raw_open,
	.run = raw_run,
	.close = epoll_close,
};

/* --- four-calls -------------------------------------------------------------- */

static int four_open(void *opened, void *setup, const struct bench_way *way)
{
	(void)way;
	return epoll_fill(opened, setup, EPOLLOUT | EPOLLET);
}

/* The write end is ready: it is disabled, and written to. */
static int four_writable(struct epoll_state *state)
{
	struct bench_pair *pipe = state->wanted;

	state->wanted = NULL;
	return bench_give(pipe);
}

static int four_event(struct epoll_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;

	if (event->events & EPOLLIN) {
		state->wanted = looptest_next(state->pipes, pipe);
		return looptest_take(pipe);
	}
	/* An edge of a write end that nobody wants means nothing. */
	return pipe == state->wanted ? four_writable(state) : 0;
}

static int four_probe(struct epoll_state *state)
{
	struct pollfd probe = { .fd = state->wanted->write_fd, .events = POLLOUT };
	int rc = poll(&probe, 1, 0);

	bench_calls++;
	if (rc > 0)
		return four_writable(state);
	return rc < 0 && !bench_goes_on(errno) ? -errno : 0;
}

static int four_turn(void *opened)
{
	struct epoll_state *state = opened;
	int rc = state->wanted != NULL ? four_probe(state) : 0;

	return rc < 0 ? rc : epoll_serve(state, four_event);
}

static int four_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, four_turn);
}

const struct bench_ops looptest_four_ops = {
	.size = sizeof(struct epoll_state),
	.open = four_open,
	.run = four_run,
	.close = epoll_close,
};
