/*
 * timers: a million of them, armed, cancelled, expired.
 *
 * The timers of a server with many connections: each has a timeout that is seldom
 * reached.  In a pass all of them are armed, to random times more than an hour ahead;
 * cancelled, in another order; armed again, to random times within the next half second
 * at most; and when the last one is due, all are taken.  Arming for the last phase, and
 * waiting, are not measured.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include "loop.h"

#define BATCH  64
#define FAR_NS (INT64_C(3600) * 1000000000)

enum timers_phase { TIMERS_ARM, TIMERS_CANCEL, TIMERS_EXPIRE };

/* Half a microsecond for each, from a millisecond to half a second. */
#define NEAR_NS(n) \
	((n) < 2000 ? 1000000 : (n) < 1000000 ? 500 * (uint32_t)(n) : 500000000)

struct timers {
	struct bench_field field;
	int n;
	uint32_t *ids;    /* 0, 1, 2, ... */
	uint32_t *order;  /* of cancelling */
	uint32_t *delays; /* ns, less than near_ns */
	uint32_t near_ns;
};

static const struct timers *timers_of(const struct bench_turn *turn)
{
	return (const struct timers *)turn->field;
}

static void timers_end(void *setup)
{
	struct timers *test = setup;

	free(test->ids);
	free(test->order);
	free(test->delays);
}

/* xorshift64*: the same numbers in each run. */
static uint32_t timers_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (uint32_t)(*seed * UINT64_C(2685821657736338717) >> 32);
}

static int timers_begin(const struct bench_options *options, void *setup)
{
	struct timers *test = setup;
	size_t n = (size_t)options->n;
	uint64_t seed = 20010630;

	test->n = options->n;
	test->near_ns = NEAR_NS(test->n);
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

/* All of them in this order: in more_ns and their delay, or if ns is NULL cancelled. */
static int timers_set(struct bench_turn *turn, const uint32_t *ids, int64_t *ns,
                      int64_t more_ns)
{
	const struct timers *test = timers_of(turn);
	int rc = 0;

	for (int first = 0; first < test->n && rc >= 0; first += BATCH) {
		int len = test->n - first < BATCH ? test->n - first : BATCH;

		for (int i = 0; i < len && ns != NULL; i++)
			ns[i] = more_ns + test->delays[first + i];
		rc = turn->loop.ops->timers(turn->loop.state, ids + first, ns, len);
		bench_signals_progress();
	}
	return rc;
}

static int timers_arm(struct bench_turn *turn, int64_t more_ns)
{
	int64_t ns[BATCH];

	return timers_set(turn, timers_of(turn)->ids, ns, more_ns);
}

static int timers_take(struct bench_turn *turn)
{
	int rc = 0;

	for (int left = timers_of(turn)->n; left > 0 && rc >= 0; left -= rc) {
		rc = loop_wait(&turn->loop, NULL, 0, false);
		bench_signals_progress();
		if (bench_interrupted() != 0)
			return -EINTR;
	}
	return rc;
}

/*
 * Until everything that was armed is due, also in whole milliseconds.  The watchdog is of
 * no use here: a pass may take long, but waits for nothing else.
 */
static int timers_sleep(const struct timers *test)
{
	int64_t end_ns = bench_now_ns() + test->near_ns + 2000000;

	for (int64_t left_ns; (left_ns = end_ns - bench_now_ns()) > 0;) {
		struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };

		if (nanosleep(&left, NULL) < 0 && bench_interrupted() != 0)
			return -EINTR;
	}
	bench_signals_progress();
	return 0;
}

static int timers_phase(void *turn, int phase)
{
	int rc = phase == TIMERS_EXPIRE ? timers_arm(turn, 0) : 0;

	return rc < 0 || phase != TIMERS_EXPIRE ? rc : timers_sleep(timers_of(turn));
}

static int64_t timers_step(void *turn, int phase)
{
	const struct timers *test = timers_of(turn);
	int rc = phase == TIMERS_ARM      ? timers_arm(turn, FAR_NS)
	         : phase == TIMERS_CANCEL ? timers_set(turn, test->order, NULL, 0)
	                                  : timers_take(turn);

	return rc < 0 ? rc : test->n;
}

/* --- By hand: a heap, and a timerfd that is set to its first --------------------- */

struct timerfd_loop {
	int fd;
	int len;
	int64_t set_ns;   /* what it is set to; 0: not set */
	int64_t *due_ns;  /* of each timer */
	uint32_t *heap;   /* timers, from 1 on; the first is due first */
	uint32_t *places; /* of each timer in it; 0: not armed */
};

static void timerfd_close(void *opened)
{
	struct timerfd_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
	free(loop->due_ns);
	free(loop->heap);
	free(loop->places);
}

static int timerfd_open(void *opened, const struct bench_field *field,
                        const struct bench_way *way)
{
	struct timerfd_loop *loop = opened;
	size_t len = (size_t)field->len + 1;

	(void)way;
	loop->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->due_ns = calloc(len, sizeof *loop->due_ns);
	loop->heap = calloc(len, sizeof *loop->heap);
	loop->places = calloc(len, sizeof *loop->places);
	if (loop->due_ns == NULL || loop->heap == NULL || loop->places == NULL)
		return -ENOMEM;
	return loop->fd < 0 ? -errno : 0;
}

static void heap_put(struct timerfd_loop *loop, uint32_t timer, uint32_t place)
{
	loop->heap[place] = timer;
	loop->places[timer] = place;
}

/* Put it into this place, which is empty, or where else it belongs. */
static void heap_sift(struct timerfd_loop *loop, uint32_t timer, uint32_t place)
{
	const int64_t *due_ns = loop->due_ns;
	uint32_t len = (uint32_t)loop->len;

	for (; place > 1 && due_ns[timer] < due_ns[loop->heap[place / 2]]; place /= 2)
		heap_put(loop, loop->heap[place / 2], place);
	for (uint32_t child; (child = 2 * place) <= len; place = child) {
		if (child < len && due_ns[loop->heap[child + 1]] < due_ns[loop->heap[child]])
			child++;
		if (due_ns[loop->heap[child]] >= due_ns[timer])
			break;
		heap_put(loop, loop->heap[child], place);
	}
	heap_put(loop, timer, place);
}

static void heap_remove(struct timerfd_loop *loop, uint32_t timer)
{
	uint32_t place = loop->places[timer];
	uint32_t last = loop->heap[loop->len];

	loop->places[timer] = 0;
	loop->len--;
	if (last != timer)
		heap_sift(loop, last, place);
}

static int timerfd_set(struct timerfd_loop *loop)
{
	int64_t first_ns = loop->len > 0 ? loop->due_ns[loop->heap[1]] : 0;
	struct itimerspec at = { .it_value = { first_ns / 1000000000, first_ns % 1000000000 } };

	if (first_ns == loop->set_ns)
		return 0;
	bench_calls++;
	loop->set_ns = first_ns;
	return timerfd_settime(loop->fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

static int timerfd_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct timerfd_loop *loop = opened;
	int64_t now_ns = bench_now_ns();

	for (int i = 0; i < len; i++) {
		if (ns == NULL) {
			heap_remove(loop, ids[i]);
			continue;
		}
		loop->due_ns[ids[i]] = now_ns + ns[i];
		if (loop->places[ids[i]] == 0)
			loop->places[ids[i]] = (uint32_t)++loop->len;
		heap_sift(loop, ids[i], loop->places[ids[i]]);
	}
	return timerfd_set(loop);
}

static int timerfd_wait(void *opened, struct loop_hand *hand, const int *enable,
                        int enable_len, bool block)
{
	struct timerfd_loop *loop = opened;
	int64_t now_ns = bench_now_ns();
	uint64_t times;
	int count = 0;
	int rc;

	(void)hand, (void)enable, (void)enable_len, (void)block; /* it looks */
	bench_calls++;
	if (read(loop->fd, &times, sizeof times) != sizeof times)
		return errno == EAGAIN ? 0 : -errno;
	for (; loop->len > 0 && loop->due_ns[loop->heap[1]] <= now_ns; count++)
		heap_remove(loop, loop->heap[1]);
	loop->set_ns = 0; /* it has expired */
	rc = loop->len > 0 ? timerfd_set(loop) : 0;
	return rc < 0 ? rc : count;
}

const struct loop_ops loop_timerfd = {
	.name = "timerfd",
	.can = LOOP_TIMERS,
	.size = sizeof(struct timerfd_loop),
	.open = timerfd_open,
	.wait = timerfd_wait,
	.timers = timerfd_timers,
	.close = timerfd_close,
};

/* --- The workload ------------------------------------------------------------ */

static const char *const timers_phases[] = { "arm", "cancel", "expire", NULL };

const struct bench_workload bench_timers = {
	.name = "timers", .unit = "timer", .items = "timers", .n_default = 1000000,
	.summary = "a million timers, armed, cancelled, expired",
	.help =
		"N timers in one queue, in passes of three phases.  arm: all are added, to\n"
		"random times more than an hour ahead.  cancel: all are deleted, in another\n"
		"order.  expire: all are due, and are taken until there are no more.\n"
		"\n"
		"xpoll-NAME   one-shot timers in a queue on a back end, 64 changes or events\n"
		"             in a call; a timer is made by arming it and is gone afterwards\n"
		"timerfd      by hand: a heap in an array, and one timerfd\n"
		"libevent     event_add, event_del; the structures are made beforehand\n"
		"libuv        uv_timer_start, uv_timer_stop; likewise\n"
		"\n"
		"Nothing waits in a phase, so the times are processor time.  The first pass of\n"
		"each turn only warms up.  bytes: memory for each timer, with the program's\n"
		"structures, after the phase.\n",
	.rounds_default = 5, /* a pass takes a second */
	.phases = timers_phases,
	.references = { "timerfd", "libevent", "libuv" },
	.tells_bytes = true,
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct timers),
	.open = timers_begin,
	.close = timers_end,
	.ops = { .room = BATCH, .phase = timers_phase, .step = timers_step },
	.loops = LOOP_TIMERS,
};
