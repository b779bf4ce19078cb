/*
 * wake: one thread ends another one's wait.
 *
 * Two threads with a queue each wake each other in turns.  An operation is one
 * wake, from the call to the return of the wait: half of a turn there and back.
 * On an idle machine most of it is the kernel's scheduler.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "workloads.h"

enum { WAKE_HERE, WAKE_THERE, WAKE_SIDES };

/* What one thread waits for: a loop, or an eventfd that is read. */
struct wake_side {
	struct loop loop;
	int fd; /* -1: the loop */
};

struct wake_state {
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

static int wake_open_side(struct wake_side *side, const struct bench_way *way)
{
	static const struct loop_target none = { -1, 0 };
	struct loop_setup setup = { .targets = &none, .mode = LOOP_LEVEL, .wakes = true };

	side->fd = -1;
	if (way->loop != NULL)
		return loop_open(&side->loop, way, &setup, 4);
	side->fd = eventfd(0, EFD_CLOEXEC);
	return side->fd < 0 ? -errno : 0;
}

static int wake_open(void *opened, void *setup, const struct bench_way *way)
{
	struct wake_state *state = opened;
	int rc = 0;

	(void)setup;
	while (rc >= 0 && state->opened < WAKE_SIDES)
		rc = wake_open_side(&state->sides[state->opened++], way);
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
	uint64_t calls = here->fd < 0 ? loop_syscalls(&here->loop) : bench_calls;

	return calls == BENCH_UNKNOWN ? BENCH_UNKNOWN : 2 * calls;
}

static const struct bench_ops wake_ops = {
	.size = sizeof(struct wake_state),
	.open = wake_open,
	.run = wake_run,
	.syscalls = wake_syscalls,
	.close = wake_close,
};

static const struct bench_variant wake_limit = { .name = "limit", .ops = &wake_ops };

const struct bench_workload bench_wake = {
	.name = "wake",
	.summary = "a thread wakes another thread",
	.help =
		"Two threads, each with a queue, wake each other in turns.  A time is that of\n"
		"one wake, from the call to the return of the wait.  N has no effect.\n"
		LOOP_HELP
		"limit        an eventfd, and a read that waits\n"
		"\n"
		"Much of the time is the kernel's scheduler.  --pin shows what is left when both\n"
		"threads share a processor.\n",
	.unit = "wake",
	.items = "queues",
	.n_default = 2,
	.n_max = 2,
	.references = { "raw-epoll", "raw-poll", "limit" },
	.by_clock = true,
	.queue = &wake_ops,
	.loops = LOOP_WAKE,
	.limit = &wake_limit,
};
