/*
 * Goal: whatever the order of changes, of activity of a file and of waits, one
 * descriptor is reported as the contract says: a level-triggered filter while
 * its condition holds, an edge-triggered one once for each activity, a disabled
 * or deleted one never; no thread sleeps while a filter is ready, and a thread
 * that waits alone does not return without an event if a filter was ready all
 * the time.
 * Method: the library runs over a back end that is a small model of epoll.
 * Every sequence of steps up to a length is run, except sequences that lead to
 * a state that was seen before; then long ones at random.  A sleeping thread is
 * a call of the back end's `wait`, inside which the steps of another thread are
 * made, before or after the kernel's reports are taken.
 */
#include "explore_model.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXHAUSTIVE = 5, /* all sequences up to this length are run */
	WALKS = 4000,
	SECONDS = 600, /* time limit, for instrumented builds on a busy machine */
	STATES_MOST = 1 << 22,
};

const char *const step_names[STEPS] = {
	"add read", "add read clear", "add read oneshot", "add read dispatch",
	"add write", "add write clear", "add write oneshot", "add write dispatch",
	"delete read", "delete write", "enable read", "enable write",
	"disable read", "disable write", "put", "take", "fill", "look", "peek",
	"sleep", "nap", "doze", "come out", "expire", "harvest",
};

/*
 * A second thread that sleeps all the time, so that the library takes its path for several threads.
 */
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

/* A hash table of the states that were seen; no entry is ever removed. */
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

/* Breadth first: the sequences of one length are made from those of the length before. */
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

/* If the last step cannot be made in this state, take it back and choose another one. */
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
