/*
 * epoll(7), used by hand: a loop on it, and looptest without one.
 */
#include "loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * The loop: one set, one epoll_ctl for each change.  To be woken it has an eventfd in
 * the set, edge-triggered so that it need not be read.
 */
struct epoll_loop {
	const struct loop_target *targets;
	uint32_t mode; /* EPOLLET, EPOLLONESHOT, or 0 */
	int fd;
	int wake_fd;
	int all_fd; /* likewise, but level-triggered, for all */
};

static void epoll_close(void *opened)
{
	const struct epoll_loop *loop = opened;
	const int fds[] = { loop->fd, loop->wake_fd, loop->all_fd };

	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int epoll_open_wake(struct epoll_loop *loop, int *fd, uint32_t mode)
{
	struct epoll_event event = {
		.events = EPOLLIN | mode,
		.data.u32 = (uint32_t)LOOP_WOKEN,
	};

	*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 || epoll_ctl(loop->fd, EPOLL_CTL_ADD, *fd, &event) < 0 ? -errno : 0;
}

static int epoll_open(void *opened, const struct bench_field *field,
                      const struct bench_way *way)
{
	struct epoll_loop *loop = opened;
	unsigned uses = way->workload->loops;

	loop->targets = field->targets;
	loop->mode = uses & LOOP_EDGE        ? EPOLLET
	             : uses & LOOP_DISPATCH  ? EPOLLONESHOT
	             : uses & LOOP_EXCLUSIVE ? EPOLLEXCLUSIVE : 0;
	loop->wake_fd = loop->all_fd = -1;
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->fd < 0)
		return -errno;
	return uses & LOOP_WAKE ? epoll_open_wake(loop, &loop->wake_fd, EPOLLET) : 0;
}

static int epoll_change(void *opened, enum loop_change change, const int *ids, int len)
{
	static const int ops[] = {
		[LOOP_ADD] = EPOLL_CTL_ADD, [LOOP_DELETE] = EPOLL_CTL_DEL,
		[LOOP_DISABLE] = EPOLL_CTL_MOD, [LOOP_ENABLE] = EPOLL_CTL_MOD,
		[LOOP_SWITCH] = EPOLL_CTL_MOD,
	};
	struct epoll_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		struct epoll_event event = { .data.u32 = (uint32_t)ids[i] };

		bench_calls++;
		if (change == LOOP_CLOSE) {
			close(target->fd);
			continue;
		}
		if (change != LOOP_DISABLE) /* POLLIN is EPOLLIN, as the others */
			event.events = (uint32_t)target->events | loop->mode;
		if (epoll_ctl(loop->fd, ops[change], target->fd, &event) < 0)
			return -errno;
	}
	return 0;
}

static int epoll_wait_ready(void *opened, struct loop_hand *hand, const int *enable,
                            int enable_len, bool block)
{
	struct epoll_loop *loop = opened;
	struct epoll_event *events = hand->records;
	int count = epoll_change(loop, LOOP_ENABLE, enable, enable_len);

	if (count < 0)
		return count;
	count = epoll_wait(loop->fd, events, hand->cap, block ? -1 : 0);
	bench_calls++;
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++)
		hand->ready[i] = (struct loop_ready){
			(int)events[i].data.u32, (short)events[i].events,
		};
	return count;
}

static int epoll_wake(void *opened)
{
	struct epoll_loop *loop = opened;

	bench_calls++;
	return eventfd_write(loop->wake_fd, 1) < 0 ? -errno : 0;
}

static int epoll_wake_all(void *opened, bool on)
{
	struct epoll_loop *loop = opened;
	eventfd_t count;
	int rc = loop->all_fd < 0 ? epoll_open_wake(loop, &loop->all_fd, 0) : 0;

	if (rc < 0)
		return rc;
	bench_calls++;
	rc = on ? eventfd_write(loop->all_fd, 1) : eventfd_read(loop->all_fd, &count);
	return rc < 0 ? -errno : 0;
}

static int epoll_fd(void *opened)
{
	return ((struct epoll_loop *)opened)->fd;
}

const struct loop_ops loop_epoll = {
	.name = "raw-epoll",
	.can = LOOP_MODES | LOOP_THREADS | LOOP_WAKE | LOOP_CLOSES | LOOP_SWITCHES | LOOP_NESTS,
	.size = sizeof(struct epoll_loop),
	.record_size = sizeof(struct epoll_event),
	.open = epoll_open,
	.change = epoll_change,
	.wait = epoll_wait_ready,
	.wake = epoll_wake,
	.wake_all = epoll_wake_all,
	.fd = epoll_fd,
	.close = epoll_close,
};

/*
 * looptest, twice; pointers are the cookies.
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
struct token_state {
	struct bench_turn turn;
	const struct bench_pairs *pipes;
	struct bench_pair *wanted; /* of four-calls: its write end is enabled */
	int fd;
	struct epoll_event events[LOOPTEST_EVENTS];
};

static int token_change(struct token_state *state, int op, int fd, uint32_t events,
                        struct bench_pair *pipe)
{
	struct epoll_event event = { .events = events, .data.ptr = pipe };

	bench_calls++;
	return epoll_ctl(state->fd, op, fd, &event) < 0 ? -errno : 0;
}

static int token_fill(struct token_state *state, uint32_t write_events)
{
	int rc = 0;

	state->pipes = &state->turn.field->pairs;
	state->fd = epoll_create1(EPOLL_CLOEXEC);
	if (state->fd < 0)
		return -errno;
	for (int i = 0; i < state->pipes->len && rc == 0; i++) {
		struct bench_pair *pipe = &state->pipes->at[i];

		rc = token_change(state, EPOLL_CTL_ADD, pipe->read_fd, EPOLLIN, pipe);
		if (rc == 0)
			rc = token_change(state, EPOLL_CTL_ADD, pipe->write_fd,
			                  write_events, pipe);
	}
	return rc < 0 ? rc : looptest_start(state->pipes);
}

static void token_close(void *opened)
{
	struct token_state *state = opened;

	if (state->fd >= 0)
		close(state->fd);
}

/* Wait, and serve what is ready; how many reads that were, or -errno. */
static inline int token_serve(struct token_state *state,
                              int (*serve)(struct token_state *, const struct epoll_event *))
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

static int raw_open(void *state)
{
	return token_fill(state, 0);
}

static int raw_event(struct token_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;
	struct bench_pair *next;
	int changed;
	int rc;

	if ((event->events & EPOLLIN) == 0) {
		rc = token_change(state, EPOLL_CTL_MOD, pipe->write_fd, 0, pipe);
		return rc < 0 ? rc : bench_give(pipe);
	}
	next = looptest_next(state->pipes, pipe);
	rc = looptest_take(pipe);
	if (rc < 0)
		return rc;
	changed = token_change(state, EPOLL_CTL_MOD, next->write_fd, EPOLLOUT, next);
	return changed < 0 ? changed : rc;
}

static int raw_turn(void *state)
{
	return token_serve(state, raw_event);
}

static int raw_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, raw_turn);
}

const struct bench_ops looptest_epoll_ops = {
	.size = sizeof(struct token_state),
	.open = raw_open,
	.run = raw_run,
	.close = token_close,
};

/* --- four-calls -------------------------------------------------------------- */

static int four_open(void *state)
{
	return token_fill(state, EPOLLOUT | EPOLLET);
}

/* The write end is ready: it is disabled, and written to. */
static int four_writable(struct token_state *state)
{
	struct bench_pair *pipe = state->wanted;

	state->wanted = NULL;
	return bench_give(pipe);
}

static int four_event(struct token_state *state, const struct epoll_event *event)
{
	struct bench_pair *pipe = event->data.ptr;

	if (event->events & EPOLLIN) {
		state->wanted = looptest_next(state->pipes, pipe);
		return looptest_take(pipe);
	}
	/* An edge of a write end that nobody wants means nothing. */
	return pipe == state->wanted ? four_writable(state) : 0;
}

static int four_probe(struct token_state *state)
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
	struct token_state *state = opened;
	int rc = state->wanted != NULL ? four_probe(state) : 0;

	return rc < 0 ? rc : token_serve(state, four_event);
}

static int four_run(void *state, uint64_t count)
{
	return looptest_turns(state, count, four_turn);
}

const struct bench_ops looptest_four_ops = {
	.size = sizeof(struct token_state),
	.open = four_open,
	.run = four_run,
	.close = token_close,
};
