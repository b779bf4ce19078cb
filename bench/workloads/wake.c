/*
 * wake: one thread ends another one's wait.
 *
 * Two threads with a queue each wake each other in turns.  An operation is one
 * wake, from the call to the return of the wait: half of a turn there and back.
 * On an idle machine most of it is the kernel's scheduler.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "loop.h"

enum { WAKE_HERE, WAKE_THERE, WAKE_SIDES };

/* What one thread waits for: a loop, or an eventfd that is read. */
struct wake_side {
	struct loop loop;
	int fd; /* -1: the loop */
};

struct wake_state {
	struct bench_turn turn;
	struct wake_side sides[WAKE_SIDES];
	int opened; /* sides */
	bool started;
	atomic_bool stopping;
	pthread_t thread;
};

static int wake_send(struct wake_side *side)
{
	if (side->fd < 0)
		return side->loop.ops->wake(side->loop.state);
	bench_calls++;
	return eventfd_write(side->fd, 1) < 0 ? -errno : 0;
}

/* Returns when it was woken, or when a signal came: -EINTR. */
static int wake_wait(struct wake_side *side)
{
	int rc;

	if (side->fd < 0) {
		rc = loop_wait(&side->loop, NULL, 0, true);
		return rc < 0 ? rc : 0;
	}
	bench_calls++;
	return bench_await(side->fd);
}

static void *wake_answer(void *opened)
{
	struct wake_state *state = opened;

	while (wake_wait(&state->sides[WAKE_THERE]) == 0 && !state->stopping)
		if (wake_send(&state->sides[WAKE_HERE]) < 0)
			break;
	return NULL;
}

static void wake_close(void *opened)
{
	struct wake_state *state = opened;

	if (state->started) {
		state->stopping = true;
		(void)wake_send(&state->sides[WAKE_THERE]);
		pthread_join(state->thread, NULL);
	}
	for (int i = 0; i < state->opened; i++) {
		if (state->sides[i].fd < 0)
			loop_close(&state->sides[i].loop);
		else
			close(state->sides[i].fd);
	}
}

static int wake_open(void *opened)
{
	struct wake_state *state = opened;
	const struct bench_way *way = state->turn.way;
	int rc = 0;

	while (rc >= 0 && state->opened < WAKE_SIDES) {
		struct wake_side *side = &state->sides[state->opened++];

		side->fd = way->loop != NULL ? -1 : eventfd(0, EFD_CLOEXEC);
		if (way->loop != NULL)
			rc = loop_open(&side->loop, way, state->turn.field, 4);
		else if (side->fd < 0)
			rc = -errno;
	}
	if (rc >= 0)
		rc = bench_thread_start(&state->thread, wake_answer, state);
	state->started = rc >= 0;
	return rc;
}

static int wake_run(void *opened, uint64_t count)
{
	struct wake_state *state = opened;

	for (uint64_t done = 0; done < count; done += 2) {
		int rc = wake_send(&state->sides[WAKE_THERE]);

		if (rc >= 0)
			rc = wake_wait(&state->sides[WAKE_HERE]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Those of this thread, twice: the other one makes the same. */
static uint64_t wake_syscalls(const void *opened)
{
	const struct wake_side *here = &((const struct wake_state *)opened)->sides[WAKE_HERE];
	uint64_t calls = loop_syscalls(&here->loop);

	return calls == BENCH_UNKNOWN ? BENCH_UNKNOWN : 2 * calls;
}

static const struct bench_variant wake_limit = { .name = "limit" };

const struct bench_workload bench_wake = {
	.name = "wake", .unit = "wake", .items = "queues", .n_default = 2, .n_max = 2,
	.summary = "a thread wakes another thread",
	.help =
		"Two threads, each with a queue, wake each other in turns.  A time is that of\n"
		"one wake, from the call to the return of the wait.  N has no effect.\n"
		LOOP_HELP
		"limit        an eventfd, and a read that waits\n"
		"\n"
		"Much of the time is the kernel's scheduler.  --pin shows what is left when both\n"
		"threads share a processor.\n",
	.references = { "raw-epoll", "raw-poll", "limit" },
	.by_clock = true,
	.kind = BENCH_NOTHING,
	.ops = {
		.size = sizeof(struct wake_state),
		.open = wake_open,
		.run = wake_run,
		.syscalls = wake_syscalls,
		.close = wake_close,
	},
	.loops = LOOP_WAKE,
	.limit = &wake_limit,
};
