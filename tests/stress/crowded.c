/*
 * Stress: of 20000 descriptors a few are active in each round, while
 * registrations of others are enabled and disabled (S11, hazard 7).
 * Oracle: each descriptor that was written to is delivered once in its round,
 * and no other descriptor.
 */
#include "xt.h"

enum { WANTED = 20000, SPARE = 100, ACTIVE = 50 };

struct place {
	struct xpoll *queue;
	struct xt_pair *pipes;
	unsigned char *expected;
	int count; /* number of pipes */
	uint64_t seed;
};

static int pick(struct place *place)
{
	return (int)(xt_random(&place->seed) % (uint32_t)place->count);
}

/* Read the bytes that were written in this round, and check that only these pipes are delivered. */
static void take_round(struct place *place, int active)
{
	while (active > 0) {
		struct xpoll_event events[16];
		int count = xpoll_event(place->queue, NULL, 0, events, 16,
		                        XT_SOON);

		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			int index = (int)(uintptr_t)events[i].udata;

			XT_CHECK(place->expected[index]);
			XT_EQ(xt_get(place->pipes[index].r), 'x');
			place->expected[index] = 0;
			active--;
		}
	}
}

static void one_round(struct place *place)
{
	int active = 0;
	struct xpoll_event event;

	for (int i = 0; i < ACTIVE; i++) {
		uint64_t ident = (uint64_t)place->pipes[pick(place)].r;

		XT_OK(xt_flag(place->queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(place->queue, ident, READ, XPOLL_ENABLE));
	}
	for (int i = 0; i < ACTIVE; i++) {
		int index = pick(place);

		if (place->expected[index])
			continue;
		place->expected[index] = 1;
		xt_put(place->pipes[index].w);
		active++;
	}
	XT_CALL(take_round(place, active));
	XT_EQ(xpoll_event(place->queue, NULL, 0, &event, 1, 0), 0);
}

static void run(struct place *place, int64_t end_ns)
{
	int rounds = 0;

	for (int i = 0; i < place->count; i++) {
		place->pipes[i] = xt_pipe();
		XT_OK(xt_change(place->queue, (uint64_t)place->pipes[i].r, READ,
		                XPOLL_ADD, 0, 0, (void *)(uintptr_t)i));
	}
	do {
		XT_CALL(one_round(place));
		rounds++;
	} while (xt_now() < end_ns);
	xt_note("%d descriptors, %d rounds", 2 * place->count, rounds);
}

XT_TEST(stress_20000_descriptors_the_active_ones_come)
{
	double seconds = xt_stress_seconds(1);
	int files = xt_raise_files(WANTED + SPARE);
	struct place place = {.queue = xt_open_quiet(), .seed = xt_seed()};

	xt_watchdog((unsigned)seconds + 60);
	place.count = (files < WANTED + SPARE ? files - SPARE : WANTED) / 2;
	place.pipes = calloc((size_t)place.count, sizeof *place.pipes);
	place.expected = calloc((size_t)place.count, 1);
	XT_CHECK(place.pipes && place.expected);
	run(&place, xt_now() + (int64_t)(seconds * 1e9));
	free(place.pipes);
	free(place.expected);
}
