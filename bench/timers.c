/*
 * timers: what its variants share, and how a pass is measured.
 */
#include "timers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libevent.h"
#include "libuv.h"

/* Half a microsecond for each, from a millisecond to half a second. */
#define NEAR_NS(n) \
	((n) < 2000 ? 1000000 : (n) < 1000000 ? 500 * (uint32_t)(n) : 500000000)

static int64_t timers_descriptors(int n)
{
	(void)n;
	return 0;
}

static void timers_close(void *setup)
{
	struct timers *test = setup;

	free(test->order);
	free(test->delays);
	free(test);
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

static int timers_open(const struct bench_options *options, void **setup)
{
	struct timers *test = calloc(1, sizeof *test);
	size_t n = (size_t)options->n;

	if (test != NULL) {
		test->n = options->n;
		test->near_ns = NEAR_NS(test->n);
		test->order = calloc(n, sizeof *test->order);
		test->delays = calloc(n, sizeof *test->delays);
	}
	if (test == NULL || test->order == NULL || test->delays == NULL) {
		if (test != NULL)
			timers_close(test);
		bench_complain(&bench_timers, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	timers_shuffle(test);
	*setup = test;
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

static int timers_step(const struct timers_steps *steps, void *state,
                       enum timers_phase phase)
{
	switch (phase) {
	case TIMERS_ARM:
		return steps->arm(state, true);
	case TIMERS_CANCEL:
		return steps->cancel(state);
	default:
		return steps->take(state);
	}
}

int timers_pass(const struct timers *test, const struct timers_steps *steps,
                void *state, uint64_t memory_before,
                struct bench_sample *samples)
{
	for (int i = 0; i < TIMERS_PHASES; i++) {
		struct bench_sample *sample = &samples[i];
		uint64_t syscalls;
		int64_t start_ns;
		int rc = 0;

		if (i == TIMERS_EXPIRE)
			rc = steps->arm(state, false);
		if (rc == 0 && i == TIMERS_EXPIRE)
			rc = timers_sleep(test);
		syscalls = steps->syscalls(state);
		start_ns = bench_elapsed_ns(&bench_timers);
		if (rc == 0)
			rc = timers_step(steps, state, (enum timers_phase)i);
		if (rc < 0)
			return rc;
		sample->elapsed_ns = (uint64_t)(bench_elapsed_ns(&bench_timers) - start_ns);
		sample->operations = (uint64_t)test->n;
		sample->syscalls = steps->syscalls(state) - syscalls;
		sample->bytes = 0;
		if (i == TIMERS_ARM && memory_before > 0)
			sample->bytes = bench_memory_used() - memory_before;
		bench_signals_progress();
	}
	return 0;
}

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
	"Nothing waits in a phase, so it is processor time that is measured.  The\n"
	"first pass of each turn only warms up.  bytes: memory for each timer\n"
	"while it is armed, the program's structure included.  The libraries are\n"
	"looked for when this runs; one that is not here is named.\n";

const struct bench_workload bench_timers = {
	.name = "timers",
	.summary = "a million timers, armed, cancelled, expired",
	.help = timers_help,
	.unit = "timer",
	.items = "timers",
	.n_default = 1000000,
	.n_max = 10000000,
	.rounds_default = 5, /* a pass takes a second */
	.phases = timers_phases,
	.references = { "libevent", "libuv" },
	.tells_bytes = true,
	.by_processor = true,
	.descriptors = timers_descriptors,
	.open = timers_open,
	.close = timers_close,
	.queue = &timers_queue_ops,
	.peers = timers_peers,
};
