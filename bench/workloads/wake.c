/*
 * wake: one thread ends another thread's wait.
 *
 * Two threads with a queue each wake each other in turns.  An operation is one wake, from the call
 * to the return of the other thread's wait.  On an idle machine most of that time is the kernel's
 * scheduler.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "loop.h"

#define EVENTS 4 /* most events of one wait */

/* --- The limit: an eventfd, and a read that waits ------------------------------- */

static int eventfd_open(void *fd, const struct bench_field *field, const struct bench_way *way)
{
	(void)field, (void)way;
	*(int *)fd = eventfd(0, EFD_CLOEXEC);
	return *(int *)fd < 0 ? -errno : 0;
}

static int eventfd_wait(void *fd, struct loop_hand *hand, bool block)
{
	(void)hand, (void)block; /* the read always waits */
	bench_calls++;
	return bench_await(*(int *)fd);
}

static int eventfd_wake(void *fd)
{
	bench_calls++;
	return eventfd_write(*(int *)fd, 1) < 0 ? -errno : 0;
}

static void eventfd_close(void *fd)
{
	if (*(int *)fd >= 0)
		close(*(int *)fd);
}

static const struct loop_ops loop_eventfd = {
	.size = sizeof(int),
	.open = eventfd_open,
	.wait = eventfd_wait,
	.wake = eventfd_wake,
	.close = eventfd_close,
};

/* --- Two threads ----------------------------------------------------------------- */

struct wake_state {
	struct loop there; /* the other thread's loop; this thread has the turn's */
	struct loop *here;
	bool started;
	atomic_bool stopping;
	pthread_t thread;
};

static int wake_send(struct loop *loop)
{
	return loop->ops->wake(loop->state);
}

/* Wait until the loop is woken.  Returns -EINTR after a signal. */
static int wake_wait(struct loop *loop)
{
	return loop_wait(loop, true);
}

static void *wake_answer(void *opened)
{
	struct wake_state *state = opened;

	while (wake_wait(&state->there) >= 0 && !state->stopping)
		if (wake_send(state->here) < 0)
			break;
	return NULL;
}

static void wake_close(struct bench_turn *turn)
{
	struct wake_state *state = turn->own;

	if (state->started) {
		state->stopping = true;
		(void)wake_send(&state->there);
		pthread_join(state->thread, NULL);
	}
	loop_close(&state->there);
}

static int wake_open(struct bench_turn *turn)
{
	struct wake_state *state = turn->own;
	int rc = loop_open(&state->there, turn->way, turn->field, EVENTS);

	state->here = &turn->loop;
	if (rc >= 0)
		rc = bench_thread_start(&state->thread, wake_answer, state);
	state->started = rc >= 0;
	return rc;
}

/* Wake the other thread, and wait until it wakes this one: two operations. */
static int wake_run(struct bench_turn *turn)
{
	int rc = wake_send(&((struct wake_state *)turn->own)->there);

	if (rc >= 0)
		rc = wake_wait(&turn->loop);
	return rc < 0 ? rc : 2;
}

/* Returns the system calls of this thread, twice, because the other thread makes the same ones. */
static uint64_t wake_syscalls(const struct bench_turn *turn)
{
	uint64_t calls = loop_syscalls(&turn->loop);

	return calls == BENCH_UNKNOWN ? BENCH_UNKNOWN : 2 * calls;
}

static const struct bench_variant wake_limit = { .name = "limit", .loop = &loop_eventfd };

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
		.room = EVENTS,
		.open = wake_open,
		.run = wake_run,
		.syscalls = wake_syscalls,
		.close = wake_close,
	},
	.loops = LOOP_WAKE,
	.limit = &wake_limit,
};
