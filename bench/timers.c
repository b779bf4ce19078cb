/*
 * timers: a million of them, armed, cancelled, expired.
 *
 * The timers of a server with many connections: each has a timeout that is
 * seldom reached.  In a pass all of them are armed, to random times more than
 * an hour ahead; cancelled, in another order; armed again, to random times
 * within the next half second at most; and when the last one is due, all are
 * taken.  Three phases are measured; arming for the last one, and waiting, are
 * not.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "workloads.h"

#define BATCH 64

enum timers_phase { TIMERS_ARM, TIMERS_CANCEL, TIMERS_EXPIRE, TIMERS_PHASES };

/* Half a microsecond for each, from a millisecond to half a second. */
#define NEAR_NS(n) \
	((n) < 2000 ? 1000000 : (n) < 1000000 ? 500 * (uint32_t)(n) : 500000000)

static void timers_close(void *setup)
{
	struct timers *test = setup;

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

static void timers_shuffle(struct timers *test)
{
	uint64_t seed = 20010630;

	for (int i = 0; i < test->n; i++) {
		test->delays[i] = timers_random(&seed) % test->near_ns;
		test->order[i] = (uint32_t)i;
	}
	for (int i = test->n - 1; i > 0; i--) {
		uint32_t other = timers_random(&seed) % (uint32_t)(i + 1);
		uint32_t index = test->order[i];

		test->order[i] = test->order[other];
		test->order[other] = index;
	}
}

static int timers_open(const struct bench_options *options, void *setup)
{
	struct timers *test = setup;
	size_t n = (size_t)options->n;

	test->n = options->n;
	test->near_ns = NEAR_NS(test->n);
	test->order = calloc(n, sizeof *test->order);
	test->delays = calloc(n, sizeof *test->delays);
	if (test->order == NULL || test->delays == NULL)
		return -ENOMEM;
	timers_shuffle(test);
	return 0;
}

/*
 * Until everything that was armed is due, also in whole milliseconds.  The
 * watchdog is of no use here: a pass may take long, but waits for nothing else.
 */
static int timers_sleep(const struct timers *test)
{
	int64_t end_ns = bench_now_ns() + test->near_ns + 2000000;

	for (int64_t left_ns; (left_ns = end_ns - bench_now_ns()) > 0;) {
		struct timespec left = {
			.tv_sec = left_ns / 1000000000,
			.tv_nsec = left_ns % 1000000000,
		};

		if (nanosleep(&left, NULL) < 0 && bench_interrupted() != 0)
			return -EINTR;
	}
	return 0;
}

static int timers_take(struct timers_state *state)
{
	int rc = 0;

	state->expired = 0;
	while (state->expired < state->test->n && rc == 0) {
		rc = state->steps->take(state);
		if (bench_interrupted() != 0)
			rc = -EINTR;
	}
	return rc;
}

static int timers_step(struct timers_state *state, enum timers_phase phase)
{
	switch (phase) {
	case TIMERS_ARM:
		return state->steps->arm(state, true);
	case TIMERS_CANCEL:
		return state->steps->cancel(state);
	default:
		return timers_take(state);
	}
}

static uint64_t timers_syscalls(const struct timers_state *state)
{
	return state->steps->syscalls != NULL ? state->steps->syscalls(state) : bench_calls;
}

int timers_begin(struct timers_state *state, void *setup, const struct timers_steps *steps,
                 size_t made_size)
{
	state->test = setup;
	state->steps = steps;
	state->memory_before = bench_memory_used();
	state->made_size = made_size;
	state->made = made_size > 0 ? calloc((size_t)state->test->n, made_size) : NULL;
	return made_size > 0 && state->made == NULL ? -ENOMEM : 0;
}

int timers_pass(void *opened, struct bench_sample *samples)
{
	struct timers_state *state = opened;

	for (int i = 0; i < TIMERS_PHASES; i++) {
		struct bench_sample *sample = &samples[i];
		uint64_t syscalls;
		int64_t start_ns;
		int rc = 0;

		if (i == TIMERS_EXPIRE)
			rc = state->steps->arm(state, false);
		if (rc == 0 && i == TIMERS_EXPIRE)
			rc = timers_sleep(state->test);
		syscalls = timers_syscalls(state);
		start_ns = bench_elapsed_ns(&bench_timers);
		if (rc == 0)
			rc = timers_step(state, (enum timers_phase)i);
		if (rc < 0)
			return rc;
		sample->elapsed_ns = (uint64_t)(bench_elapsed_ns(&bench_timers) - start_ns);
		sample->operations = (uint64_t)state->test->n;
		sample->syscalls = timers_syscalls(state) - syscalls;
		sample->bytes = 0;
		if (i == TIMERS_ARM && state->memory_before > 0)
			sample->bytes = bench_memory_used() - state->memory_before;
		bench_signals_progress();
	}
	return 0;
}

/* --- On xpoll: many changes in one call --------------------------------------- */

struct timers_queue {
	struct timers_state timers;
	struct xpoll *queue;
	struct xpoll_event changes[BATCH];
};

static void queue_close(void *opened)
{
	xpoll_destroy(((struct timers_queue *)opened)->queue);
}

static int queue_submit(struct timers_queue *state, int count)
{
	return xpoll_event(state->queue, state->changes, count, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_arm(void *opened, bool far)
{
	struct timers_queue *state = opened;
	const struct timers *test = state->timers.test;
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
	const struct timers *test = state->timers.test;
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
	int count = xpoll_event(state->queue, NULL, 0, state->changes, BATCH, 0);

	if (count == 0)
		return -EPROTO; /* all were due */
	if (count > 0)
		state->timers.expired += count;
	return count < 0 && errno != EINTR ? -errno : 0;
}

static uint64_t queue_syscalls(const void *opened)
{
	return queue_calls(((const struct timers_queue *)opened)->queue);
}

static const struct timers_steps queue_steps = {
	queue_arm, queue_cancel, queue_take, queue_syscalls
};

static int queue_open(void *opened, void *setup, const struct bench_way *way)
{
	struct timers_queue *state = opened;
	struct xpoll_options options = { .size = sizeof options, .backend = way->backend };

	(void)timers_begin(&state->timers, setup, &queue_steps, 0);
	state->queue = xpoll_open(&options);
	return state->queue == NULL ? -errno : 0;
}

static const struct bench_ops queue_ops = {
	.size = sizeof(struct timers_queue),
	.open = queue_open,
	.pass = timers_pass,
	.close = queue_close,
};

/* --- The workload ------------------------------------------------------------ */

static const char *const timers_phases[] = { "arm", "cancel", "expire", NULL };

static const struct bench_variant timers_peers[] = {
	{ "libevent", &timers_libevent_ops, &libevent_library, NULL },
	{ "libuv", &timers_libuv_ops, &libuv_library, NULL },
	{ 0 },
};

static const char timers_help[] =
	"N timers in one queue, in passes of three phases.  arm: all are added, to\n"
	"random times more than an hour ahead.  cancel: all are deleted, in another\n"
	"order.  expire: all are due, and are taken until there are no more.\n"
	"\n"
	"xpoll-NAME   one-shot timers in a queue on a back end, 64 changes or events\n"
	"             in a call; a timer is made by arming it and is gone afterwards\n"
	"libevent     event_add, event_del; the structures are made beforehand\n"
	"libuv        uv_timer_start, uv_timer_stop; likewise\n"
	"\n"
	"Nothing waits in a phase, so the times are processor time.  The\n"
	"first pass of each turn only warms up.  bytes: memory for each timer\n"
	"while it is armed, the program's structure included.  The libraries are\n"
	"looked for at run time; one that is missing is named.\n";

const struct bench_workload bench_timers = {
	.name = "timers",
	.summary = "a million timers, armed, cancelled, expired",
	.help = timers_help,
	.unit = "timer",
	.items = "timers",
	.n_default = 1000000,
	.rounds_default = 5, /* a pass takes a second */
	.phases = timers_phases,
	.references = { "libevent", "libuv" },
	.tells_bytes = true,
	.setup_size = sizeof(struct timers),
	.open = timers_open,
	.close = timers_close,
	.queue = &queue_ops,
	.peers = timers_peers,
};
