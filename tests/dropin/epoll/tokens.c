/*
 * Goal: a set that several threads wait for loses no event: an event that one
 * thread has no room for, or that poll(2) of the set's descriptor has taken
 * from the queue, wakes another thread.
 * Method: a few bytes go from pipe to pipe, passed on by threads that wait
 * without a timeout.  If an event is lost, its byte stays where it is; when all
 * do, the test hangs, and its time limit ends it.
 */
#include <pthread.h>

#include "kit.h"

enum { PIPES = 6, TOKENS = 3, WAITERS = 4, POLLS = 64 };

struct tokens {
	int set;
	struct xt_pair pipes[PIPES];
	bool edges;         /* the entries are edge-triggered, too */
	atomic_int stops;
	atomic_uint moves;  /* number of bytes passed on */
	atomic_uint rooms;  /* number of waiters that have chosen the size of their array */
};

static uint32_t mode_of(const struct tokens *tokens)
{
	return EPOLLIN | EPOLLONESHOT | (tokens->edges ? EPOLLET : 0u);
}

static void pass_on(void *argument)
{
	struct tokens *tokens = argument;
	int room = 1 + (int)(atomic_fetch_add(&tokens->rooms, 1) % 3);

	while (!atomic_load(&tokens->stops)) {
		struct epoll_event events[3];
		int count = epoll_wait(tokens->set, events, room, -1);

		XT_EXPECT(count > 0);
		for (int i = 0; i < count; i++) {
			int fd = (int)(events[i].data.u64 & UINT32_MAX);
			unsigned move = atomic_fetch_add(&tokens->moves, 1);

			XT_EXPECT_EQ(xt_get(fd), 'x');
			XT_EXPECT_EQ(kit_mod(tokens->set, fd, mode_of(tokens)), 0);
			xt_put(tokens->pipes[move * 7 / 3 % PIPES].w);
		}
	}
}

static void poll_at_times(void *argument)
{
	struct tokens *tokens = argument;
	struct pollfd look = {.fd = tokens->set, .events = POLLIN};

	while (!atomic_load(&tokens->stops)) {
		for (int i = 0; i < POLLS; i++)
			(void)poll(&look, 1, i == 0 ? 1 : 0);
		(void)poll(NULL, 0, 1);
	}
}

static void circulate(bool edges, bool polls, double seconds)
{
	struct tokens tokens = {.set = kit_open(), .edges = edges};
	struct xt_thread *threads[WAITERS + 1];
	int len = 0;

	for (int i = 0; i < PIPES; i++) {
		tokens.pipes[i] = xt_pipe();
		XT_OK(kit_add(tokens.set, tokens.pipes[i].r, mode_of(&tokens)));
	}
	for (int i = 0; i < WAITERS; i++)
		threads[len++] = xt_start(pass_on, &tokens);
	if (polls)
		threads[len++] = xt_start(poll_at_times, &tokens);
	for (int i = 0; i < TOKENS; i++)
		xt_put(tokens.pipes[i].w);
	(void)poll(NULL, 0, (int)(seconds * 1000));
	/* The bytes go on until each waiter has returned once more. */
	atomic_store(&tokens.stops, 1);
	for (int i = 0; i < len; i++)
		xt_join(threads[i]);
	XT_EXPECT(atomic_load(&tokens.moves) > 0);
}

XT_TEST(threads_that_share_a_set_lose_no_event)
{
	for (int i = 0; i < 4; i++)
		XT_CALL(circulate(i & 1, i & 2, xt_stress_seconds(1) / 4));
}
