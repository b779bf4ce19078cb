/*
 * timers on xpoll: one-shot timers of a queue, many changes in one call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

#include "timers.h"

#define BATCH 64

struct timers_queue {
	const struct timers *test;
	struct xpoll *queue;
	uint64_t memory_before;
	struct xpoll_event changes[BATCH];
};

static void queue_close(void *opened)
{
	struct timers_queue *state = opened;

	xpoll_destroy(state->queue);
	free(state);
}

static int queue_open(void *setup, const struct bench_way *way, void **opened)
{
	struct xpoll_options options;
	uint64_t memory_before = bench_memory_used();
	struct timers_queue *state = calloc(1, sizeof *state);

	if (state == NULL)
		return -ENOMEM;
	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.backend = way->backend;
	state->test = setup;
	state->memory_before = memory_before;
	state->queue = xpoll_open(&options);
	if (state->queue == NULL) {
		int rc = -errno;

		free(state);
		return rc;
	}
	*opened = state;
	return 0;
}

static int queue_submit(struct timers_queue *state, int count)
{
	return xpoll_event(state->queue, state->changes, count, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_arm(void *opened, bool far)
{
	struct timers_queue *state = opened;
	const struct timers *test = state->test;
	int64_t more_ns = far ? TIMERS_FAR_NS : 0;
	int rc = 0;

	for (int i = 0; i < test->n && rc == 0;) {
		int count = 0;

		for (; count < BATCH && i < test->n; count++, i++)
			xpoll_set(&state->changes[count], (uint64_t)i, XPOLL_FILT_TIMER,
			          XPOLL_ADD | XPOLL_ONESHOT, XPOLL_NOTE_NSECONDS,
			          more_ns + test->delays[i], NULL);
		rc = queue_submit(state, count);
	}
	return rc;
}

static int queue_cancel(void *opened)
{
	struct timers_queue *state = opened;
	const struct timers *test = state->test;
	int rc = 0;

	for (int i = 0; i < test->n && rc == 0;) {
		int count = 0;

		for (; count < BATCH && i < test->n; count++, i++)
			xpoll_set(&state->changes[count], test->order[i],
			          XPOLL_FILT_TIMER, XPOLL_DELETE, 0, 0, NULL);
		rc = queue_submit(state, count);
	}
	return rc;
}

static int queue_take(void *opened)
{
	struct timers_queue *state = opened;
	int left = state->test->n;

	while (left > 0) {
		int count = xpoll_event(state->queue, NULL, 0, state->changes, BATCH, 0);

		if (count < 0 && (errno != EINTR || bench_interrupted() != 0))
			return -errno;
		if (count == 0)
			return -EPROTO; /* all were due */
		if (count > 0)
			left -= count;
	}
	return 0;
}

static uint64_t queue_syscalls(const void *opened)
{
	const struct timers_queue *state = opened;
	struct xpoll_stats stats;

	if (xpoll_stats(state->queue, &stats, sizeof stats) < 0)
		return 0;
	return stats.syscalls_wait + stats.syscalls_change + stats.syscalls_check +
	       stats.syscalls_wake;
}

static const struct timers_steps queue_steps = {
	.arm = queue_arm,
	.cancel = queue_cancel,
	.take = queue_take,
	.syscalls = queue_syscalls,
};

static int queue_pass(void *opened, struct bench_sample *samples)
{
	struct timers_queue *state = opened;

	return timers_pass(state->test, &queue_steps, state, state->memory_before,
	                   samples);
}

const struct bench_ops timers_queue_ops = {
	.open = queue_open,
	.pass = queue_pass,
	.close = queue_close,
};
