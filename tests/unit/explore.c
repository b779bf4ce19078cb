/*
 * Goal: whatever the order of changes, of what happens to a file and of waits, one
 * descriptor is reported as the contract says: a level while it holds, an edge once
 * for each activity, nothing that is disabled or gone; nobody sleeps beside what is
 * ready, and who waits alone does not return with nothing if it was ready all the time.
 * Method: the library itself, over a back end that is a small model of epoll, runs
 * every sequence of steps up to a length, but for those that lead to a state that was
 * seen before; then long ones at random.  A thread that sleeps is a call of the back
 * end's `wait` inside which the steps of another thread are made, before the kernel's
 * reports are taken or after.
 */
#include "explore_model.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXHAUSTIVE = 5, /* length of the sequences that are all gone through */
	WALKS = 4000,
	SECONDS = 600, /* a limit for instrumented builds on a busy machine */
	STATES_MOST = 1 << 22,
};

const char *const step_names[STEPS] = {
	"add read", "add read clear", "add read oneshot", "add read dispatch",
	"add write", "add write clear", "add write oneshot", "add write dispatch",
	"delete read", "delete write", "enable read", "enable write",
	"disable read", "disable write", "put", "take", "fill", "look", "peek",
	"sleep", "nap", "doze", "come out", "expire", "harvest",
};

/* A second thread exists, so the library takes its path for several threads. */
static sem_t over;

static void parked(void *argument)
{
	(void)argument;
	while (sem_wait(&over) < 0)
		continue;
}

static struct xt_thread *explore_begin(void)
{
	explore_open();
	sem_init(&over, 0, 0);
	return xt_start(parked, NULL);
}

static void explore_end(struct xt_thread *other)
{
	sem_post(&over);
	xt_join(other);
	sem_destroy(&over);
	explore_close();
}

/* States that were seen, in a table without deletion. */
static uint64_t *seen;
static unsigned seen_count;

static bool seen_before(uint64_t state)
{
	size_t i = state % STATES_MOST;

	state += !state;
	while (seen[i] && seen[i] != state)
		i = (i + 1) % STATES_MOST;
	if (seen[i])
		return true;
	seen[i] = state;
	return !XT_EXPECT(++seen_count < STATES_MOST / 2);
}

/* Breadth first: the sequences of one length, from those of the last. */
XT_TEST(every_order_of_steps_keeps_the_contract)
{
	static uint8_t (*front)[EXHAUSTIVE], (*fresh)[EXHAUSTIVE];
	unsigned front_len = 1, fresh_len, runs = 0;
	struct xt_thread *other;

	xt_watchdog(SECONDS);
	seen = calloc(STATES_MOST, sizeof *seen);
	front = calloc(STATES_MOST / 2, EXHAUSTIVE);
	fresh = calloc(STATES_MOST / 2, EXHAUSTIVE);
	XT_CHECK(seen && front && fresh);
	other = explore_begin();
	for (length = 1; length <= EXHAUSTIVE && !fault; length++) {
		fresh_len = 0;
		for (unsigned k = 0; k < front_len * STEPS && !fault; k++) {
			memcpy(sequence, front[k / STEPS], EXHAUSTIVE);
			sequence[length - 1] = (uint8_t)(k % STEPS);
			runs++;
			if (run() && !fault && !seen_before(state_at_end))
				memcpy(fresh[fresh_len++], sequence, EXHAUSTIVE);
		}
		memcpy(front, fresh, (size_t)fresh_len * EXHAUSTIVE);
		front_len = fresh_len;
	}
	xt_note("%u sequences, %u states", runs, seen_count);
	free(seen);
	free(front);
	free(fresh);
	explore_end(other);
}

static uint64_t random_state;

static unsigned random_below(unsigned most)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(random_state >> 33) % most;
}

/* Steps that cannot be made are left out by going back one. */
XT_TEST(long_sequences_keep_the_contract)
{
	struct xt_thread *other = explore_begin();

	xt_watchdog(SECONDS);
	for (unsigned walk = 0; walk < WALKS && !fault; walk++) {
		random_state = walk;
		length = 0;
		while (length < LENGTH_MOST / 2 && !fault) {
			sequence[length++] = (uint8_t)random_below(STEPS);
			if (!run())
				length--;
		}
	}
	explore_end(other);
}
