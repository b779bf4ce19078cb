/*
 * timers: a million timers are armed, armed again, cancelled, and expire.
 *
 * These are the timers of a server with many connections, each with a timeout that is seldom
 * reached.  In a pass all timers are armed, to random times more than an hour ahead; armed again,
 * in another order, like at each activity of a connection; cancelled, in that order; armed again,
 * to random times within the next half second; and taken when the last one is due.  Arming for the
 * last phase, and waiting, are not measured.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop.h"

#define BATCH  64
#define FAR_NS (INT64_C(3600) * 1000000000)

/*
 * The range of times for the last phase, in ns: half a microsecond for each timer, from a
 * millisecond to half a second.
 */
#define NEAR_NS(n) \
	((n) < 2000 ? 1000000 : (n) < 1000000 ? 500 * (uint32_t)(n) : 500000000)

struct timers {
	uint32_t *ids;    /* 0, 1, 2, ... */
	uint32_t *order;  /* random order in which timers are armed again and cancelled */
	uint32_t *delays; /* random times of the timers in ns, less than near_ns */
	uint32_t near_ns;
};

static void timers_end(struct bench_field *field)
{
	const struct timers *test = field->own;

	free(test->ids);
	free(test->order);
	free(test->delays);
}

/* Returns a random number, by xorshift64*; the same ones in each run. */
static uint32_t timers_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (uint32_t)(*seed * UINT64_C(2685821657736338717) >> 32);
}

static int timers_begin(struct bench_field *field)
{
	struct timers *test = field->own;
	size_t n = (size_t)field->len;
	uint64_t seed = 20010630;

	test->near_ns = NEAR_NS(n);
	test->ids = calloc(n, sizeof *test->ids);
	test->order = calloc(n, sizeof *test->order);
	test->delays = calloc(n, sizeof *test->delays);
	if (test->ids == NULL || test->order == NULL || test->delays == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t other = timers_random(&seed) % (i + 1);

		test->ids[i] = i;
		test->order[i] = test->order[other];
		test->order[other] = i;
		test->delays[i] = timers_random(&seed) % test->near_ns;
	}
	return 0;
}

/*
 * Arm all timers in this order, to more_ns plus their delay; if ns is NULL, cancel them.  ns:
 * memory for BATCH times.
 */
static int timers_set(struct bench_turn *turn, const uint32_t *ids, int64_t *ns,
                      int64_t more_ns)
{
	const struct timers *test = turn->field->own;
	int n = turn->field->len;
	int rc = 0;

	for (int first = 0; first < n && rc >= 0; first += BATCH) {
		int len = n - first < BATCH ? n - first : BATCH;

		for (int i = 0; i < len && ns != NULL; i++)
			ns[i] = more_ns + test->delays[first + i];
		rc = turn->loop.ops->timers(turn->loop.state, ids + first, ns, len);
		bench_signals_progress();
	}
	return rc < 0 ? rc : n;
}

static int timers_arm_in(struct bench_turn *turn, int64_t more_ns)
{
	int64_t ns[BATCH];

	return timers_set(turn, ((const struct timers *)turn->field->own)->ids, ns, more_ns);
}

static int timers_arm(struct bench_turn *turn)
{
	return timers_arm_in(turn, FAR_NS);
}

static int timers_rearm(struct bench_turn *turn)
{
	int64_t ns[BATCH];

	return timers_set(turn, ((const struct timers *)turn->field->own)->order, ns, FAR_NS);
}

static int timers_cancel(struct bench_turn *turn)
{
	return timers_set(turn, ((const struct timers *)turn->field->own)->order, NULL, 0);
}

static int timers_take(struct bench_turn *turn)
{
	int n = turn->field->len;
	int rc = 0;

	for (int left = n; left > 0 && rc >= 0; left -= rc) {
		rc = loop_wait(&turn->loop, false);
		bench_signals_progress();
		if (bench_interrupted() != 0)
			return -EINTR;
	}
	return rc < 0 ? rc : n;
}

/*
 * Arm all timers, and sleep until all are due, also for libraries that count whole milliseconds.
 * An interruption by the watchdog is ignored: the sleep is long, but it ends.
 */
static int timers_sleep(struct bench_turn *turn)
{
	const struct timers *test = turn->field->own;
	int64_t end_ns;
	int rc = timers_arm_in(turn, 0);

	if (rc < 0)
		return rc;
	end_ns = bench_now_ns() + test->near_ns + 2000000;
	for (int64_t left_ns; (left_ns = end_ns - bench_now_ns()) > 0;) {
		struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };

		if (nanosleep(&left, NULL) < 0 && bench_interrupted() != 0)
			return -EINTR;
	}
	bench_signals_progress();
	return 0;
}

const struct bench_workload bench_timers = {
	.name = "timers", .unit = "timer", .items = "timers", .n_default = 1000000,
	.summary = "a million timers: armed, armed again, cancelled, expired",
	.help =
		"N timers in one queue, in passes of four phases.  arm: all are added, to\n"
		"random times more than an hour ahead.  re-arm: each gets another time, in random\n"
		"order, as an idle timeout does.  cancel: all are deleted, in random order.\n"
		"expire: all are due, and are taken until there are no more.\n"
		"\n"
		"xpoll-NAME   one-shot timers in a queue on a back end, 64 changes or events\n"
		"             in a call; a timer is made by arming it and is gone afterwards\n"
		"timerfd      by hand: a heap in an array, and one timerfd; a timer is the index\n"
		"             of three arrays, so none is looked for: the limit\n"
		"kevent       EVFILT_TIMER of libxpoll-kqueue\n"
		"libev        ev_timer_again, ev_timer_stop; the structures are made beforehand\n"
		"libevent     event_add, event_del; the structures are made beforehand\n"
		"libuv        uv_timer_start, uv_timer_stop; likewise\n"
		"\n"
		"Nothing waits in a phase, so the times are processor time.  The first pass of\n"
		"each turn only warms up.  bytes: memory for each timer, with the program's\n"
		"structures, after the phase.\n",
	.rounds_default = 5, /* because a pass takes a second */
	.phases = {
		{ .name = "arm", .run = timers_arm },
		{ .name = "re-arm", .run = timers_rearm },
		{ .name = "cancel", .run = timers_cancel },
		{ .name = "expire", .run = timers_take, .prepare = timers_sleep },
	},
	.references = { "timerfd", "libevent", "libev", "libuv" },
	.tells_bytes = true,
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct timers),
	.open = timers_begin,
	.close = timers_end,
	.ops = { .room = BATCH, .passes = true },
	.loops = LOOP_TIMERS,
};
