/*
 * Stress: two threads wait and pass tokens from pipe to pipe, while two others
 * disable, enable and add the same registrations (S9, S10, S16, S17; hazards 3,
 * 4, 5).
 * Oracle: the tokens are bytes, so their number stays the same; and they never
 * stop moving: a lost event would leave a token in its pipe.
 */
#include "xt.h"

#include <sched.h>

enum { PIPES = 32, TOKENS = 12, WAITERS = 2, CHANGERS = 2 };

struct game {
	struct xpoll *queue;
	struct xt_pair pipes[PIPES];
	int mode;
	uint64_t seed;
	int64_t end_ns;
	atomic_int number;
	atomic_int changers_left;
	atomic_int collected; /* tokens taken out of the pipes at the end */
	_Atomic long hops;
	_Atomic long events;
};

static bool arm(struct game *game, int index)
{
	int fd = game->pipes[index].r;
	void *udata = (void *)(uintptr_t)index;
	int rc = 0;

	if (game->mode & XPOLL_ONESHOT)
		rc = xt_change(game->queue, (uint64_t)fd, READ,
		               XPOLL_ADD | game->mode, 0, 0, udata);
	else if (game->mode & XPOLL_DISPATCH)
		rc = xt_flag(game->queue, (uint64_t)fd, READ, XPOLL_ENABLE);
	return XT_EXPECT_STATUS(rc, 0);
}

/* Take all tokens out of a pipe, and write each to another pipe, or count them at the end. */
static void move_tokens(struct game *game, int index, uint64_t *seed)
{
	while (xt_get(game->pipes[index].r) == 'x') {
		if (atomic_load(&game->changers_left) == 0) {
			atomic_fetch_add(&game->collected, 1);
			continue;
		}
		atomic_fetch_add(&game->hops, 1);
		xt_put(game->pipes[xt_random(seed) % PIPES].w);
	}
}

static void wait_and_move(void *argument)
{
	struct game *game = argument;
	uint64_t seed =
	    game->seed + (uint64_t)atomic_fetch_add(&game->number, 1);

	while (atomic_load(&game->collected) < TOKENS && !xt_failures()) {
		struct xpoll_event events[4];
		int count = xpoll_event(game->queue, NULL, 0, events, 4, -1);

		if (!XT_EXPECT(count >= 0))
			return;
		atomic_fetch_add(&game->events, count);
		for (int i = 0; i < count; i++) {
			int index = (int)(uintptr_t)events[i].udata;

			move_tokens(game, index, &seed);
			if (!arm(game, index))
				return;
		}
	}
	(void)xpoll_wake(game->queue);
}

static int change(struct game *game, uint32_t random)
{
	int index = (int)(random % PIPES);
	uint64_t ident = (uint64_t)game->pipes[index].r;
	void *udata = (void *)(uintptr_t)index;
	int rc;

	if (game->mode & XPOLL_ONESHOT || random / PIPES % 8 == 0)
		return xt_change(game->queue, ident, READ,
		                 XPOLL_ADD | XPOLL_ENABLE | game->mode, 0, 0,
		                 udata);
	rc = xt_flag(game->queue, ident, READ, XPOLL_DISABLE);
	if (random / PIPES % 8 == 1)
		(void)sched_yield();
	return rc ? rc : xt_flag(game->queue, ident, READ, XPOLL_ENABLE);
}

static void change_at_random(void *argument)
{
	struct game *game = argument;
	uint64_t seed =
	    game->seed + (uint64_t)atomic_fetch_add(&game->number, 1);

	while (xt_now() < game->end_ns && !xt_failures())
		if (!XT_EXPECT_STATUS(change(game, xt_random(&seed)), 0))
			break;
	atomic_fetch_sub(&game->changers_left, 1);
}

static void play(int mode, double seconds)
{
	struct game game = {.queue = xt_open_quiet(),
	                    .mode = mode,
	                    .seed = xt_seed(),
	                    .changers_left = CHANGERS};
	struct xt_thread *threads[WAITERS + CHANGERS];

	for (int i = 0; i < PIPES; i++) {
		game.pipes[i] =
		    i % 3 ? xt_pipe() : xt_socketpair(SOCK_STREAM);
		XT_OK(xt_change(game.queue, (uint64_t)game.pipes[i].r, READ,
		                XPOLL_ADD | mode, 0, 0, (void *)(uintptr_t)i));
	}
	for (int i = 0; i < TOKENS; i++)
		xt_put(game.pipes[i].w);
	game.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < WAITERS + CHANGERS; i++)
		threads[i] = xt_start(
		    i < WAITERS ? wait_and_move : change_at_random, &game);
	for (int i = 0; i < WAITERS + CHANGERS; i++)
		xt_join(threads[i]);
	XT_EQ(atomic_load(&game.collected), TOKENS);
	XT_EQ(xt_stats(game.queue).events, atomic_load(&game.events));
	xt_note("mode 0x%x: %ld hops, %ld events", (unsigned)mode,
	        atomic_load(&game.hops), atomic_load(&game.events));
}

static void play_for(int mode)
{
	double seconds = xt_stress_seconds(0.5);

	xt_watchdog((unsigned)seconds + 30);
	play(mode, seconds);
}

XT_TEST(stress_tokens_level_none_is_lost)
{
	play_for(0);
}

XT_TEST(stress_tokens_clear_none_is_lost)
{
	play_for(XPOLL_CLEAR);
}

XT_TEST(stress_tokens_dispatch_none_is_lost)
{
	play_for(XPOLL_DISPATCH);
}

XT_TEST(stress_tokens_dispatch_clear_none_is_lost)
{
	play_for(XPOLL_DISPATCH | XPOLL_CLEAR);
}

XT_TEST(stress_tokens_oneshot_none_is_lost)
{
	play_for(XPOLL_ONESHOT);
}
