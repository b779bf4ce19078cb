/*
 * Stress: some threads start, change and delete timers while others wait (S17,
 * S20); which waiting thread sleeps until the next deadline changes all the
 * time.
 * Oracle: each running timer has a mark, which its expiry or its deletion
 * clears once.  When no thread changes timers any more, all marks must be
 * cleared: if one expiry wakes no thread, the test hangs.  Periodic timers: the
 * sum of the delivered counts matches the clock.
 */
#include "xt.h"

#include <sched.h>

enum {
	TIMER = XPOLL_FILT_TIMER,
	WAITERS = 3,
	ARMERS = 2,
	EACH = 24, /* number of timers of each thread that starts timers */
	TIMERS = ARMERS * EACH,
};

#define NSECONDS XPOLL_NOTE_NSECONDS

struct game {
	struct xpoll *queue;
	uint64_t seed;
	int64_t end_ns;
	int room; /* room for events in each wait */
	atomic_int number;
	atomic_bool over;
	atomic_int marks[TIMERS];
	_Atomic long armed;
	_Atomic long deleted;
	_Atomic long expired;
	_Atomic long waits;
};

static void expired(struct game *game, const struct xpoll_event *event)
{
	if (!XT_EXPECT_EQ(event->filter, TIMER) ||
	    !XT_EXPECT_EQ(event->data, 1) || !XT_EXPECT(event->ident < TIMERS))
		return;
	atomic_fetch_add(&game->expired, 1);
	XT_EXPECT_EQ(atomic_exchange(&game->marks[event->ident], 0), 1);
}

static bool take(struct game *game, int64_t timeout_ns)
{
	struct xpoll_event events[8];
	int count = xpoll_event(game->queue, NULL, 0, events, game->room, timeout_ns);

	if (!XT_EXPECT(count >= 0))
		return false;
	atomic_fetch_add(&game->waits, 1);
	for (int i = 0; i < count; i++)
		expired(game, &events[i]);
	return true;
}

static void wait_for_timers(void *argument)
{
	struct game *game = argument;

	while (!atomic_load(&game->over) && take(game, -1))
		continue;
}

/*
 * Wait by xpoll_event and by the poll-like level in turn; timers also expire in waits of that
 * level, which do not return them.
 */
static void wait_at_both_levels(void *argument)
{
	struct game *game = argument;
	struct xpoll_ready ready;

	while (!atomic_load(&game->over) &&
	       XT_EXPECT_EQ(xpoll_pwait(game->queue, &ready, 1, 50000, NULL), 0) &&
	       take(game, 0))
		continue;
}

static bool delete_one(struct game *game, uint64_t ident)
{
	int rc = xt_flag(game->queue, ident, TIMER, XPOLL_DELETE);

	if (rc == 0) {
		atomic_fetch_add(&game->deleted, 1);
		return XT_EXPECT_EQ(atomic_exchange(&game->marks[ident], 0), 1);
	}
	/* The timer has expired already, and the waiting thread is about to clear the mark. */
	while (atomic_load(&game->marks[ident]) && !xt_failures())
		(void)sched_yield();
	return XT_EXPECT_STATUS(rc, ENOENT);
}

static bool change_one(struct game *game, uint64_t ident, uint32_t random)
{
	int64_t delay = random % 300000;

	/* Let some timers expire at once: many at the same time, and earlier than all others. */
	if (random % 16 == 0)
		delay = 0;
	if (atomic_load(&game->marks[ident]))
		return delete_one(game, ident);
	atomic_store(&game->marks[ident], 1);
	atomic_fetch_add(&game->armed, 1);
	return XT_EXPECT_STATUS(
		xt_change(game->queue, ident, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		          NSECONDS, delay, NULL), 0);
}

/* No thread changes the timers any more, so all running timers have to expire. */
static void all_come_out(struct game *game, uint64_t first)
{
	for (uint64_t i = first; i < first + EACH; i++)
		while (atomic_load(&game->marks[i]) && !xt_failures())
			(void)sched_yield();
}

static void arm_at_random(void *argument)
{
	struct game *game = argument;
	int number = atomic_fetch_add(&game->number, 1);
	uint64_t first = (uint64_t)number * EACH;
	uint64_t seed = game->seed + (uint64_t)number;

	while (xt_now() < game->end_ns && !xt_failures()) {
		uint32_t changes = 1 + xt_random(&seed) % 64;

		while (changes-- > 0) {
			uint64_t ident = first + xt_random(&seed) % EACH;

			if (!change_one(game, ident, xt_random(&seed)))
				return;
		}
		all_come_out(game, first);
	}
}

static void play(int waiters, int room)
{
	double seconds = xt_stress_seconds(0.4);
	struct game *game = calloc(1, sizeof *game);
	struct xt_thread *threads[WAITERS + 1 + ARMERS];
	int count = 0;

	XT_CHECK(game);
	xt_watchdog((unsigned)seconds + 30);
	xt_threads_reuse();
	game->queue = xt_open_quiet();
	game->seed = xt_seed();
	game->room = room;
	game->end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < ARMERS; i++)
		threads[count++] = xt_start(arm_at_random, game);
	for (int i = 0; i < waiters; i++)
		threads[count++] = xt_start(wait_for_timers, game);
	if (waiters == 0)
		threads[count++] = xt_start(wait_at_both_levels, game);
	for (int i = 0; i < ARMERS; i++)
		xt_join(threads[i]);
	atomic_store(&game->over, true);
	for (int i = ARMERS; i < count; i++)
		xt_send_home(game->queue, threads[i]);
	XT_EQ(game->armed, game->expired + game->deleted);
	XT_EQ(xt_stats(game->queue).registered, 0);
	XT_EQ(xt_stats(game->queue).events, game->expired);
	xt_note("%ld armed, %ld deleted, %ld expired in %ld waits",
	        game->armed, game->deleted, game->expired, game->waits);
	xt_destroy(game->queue);
	free(game);
}

XT_TEST(stress_timers_one_waiter_none_is_lost)
{
	play(1, 8);
}

XT_TEST(stress_timers_several_waiters_none_is_lost)
{
	play(WAITERS, 1);
	play(WAITERS, 8);
}

XT_TEST(stress_timers_during_poll_like_waits_none_is_lost)
{
	play(0, 1);
	play(0, 8);
}

/* A periodic timer that several threads take in turn (DISPATCH). */
struct beat {
	struct xpoll *queue;
	int64_t period_ns;
	int64_t end_ns;
	atomic_int left;
	_Atomic int64_t told;
};

static void dispatch(void *argument)
{
	struct beat *beat = argument;
	struct xpoll_event event;

	while (xpoll_event(beat->queue, NULL, 0, &event, 1, -1) == 1) {
		atomic_fetch_add(&beat->told, event.data);
		if (xt_now() > beat->end_ns)
			break; /* end, and leave the timer disabled */
		if (!XT_EXPECT_STATUS(xt_flag(beat->queue, event.ident, TIMER,
		                              XPOLL_ENABLE), 0))
			break;
	}
	atomic_fetch_sub(&beat->left, 1);
}

static void beats(int64_t period_ns)
{
	enum { BEATS = 4 };
	double seconds = xt_stress_seconds(0.2);
	struct beat beat = {.queue = xt_open_quiet(), .period_ns = period_ns};
	struct xt_thread *threads[BEATS];
	int64_t least = 0;
	int64_t most = 0;
	int64_t before[BEATS];
	int64_t after[BEATS];

	xt_watchdog((unsigned)seconds + 30);
	xt_threads_reuse();
	atomic_store(&beat.left, BEATS);
	for (int i = 0; i < BEATS; i++) {
		before[i] = xt_now();
		XT_OK(xt_change(beat.queue, (uint64_t)i, TIMER,
		                XPOLL_ADD | XPOLL_DISPATCH, NSECONDS,
		                period_ns, NULL));
		after[i] = xt_now();
	}
	beat.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < BEATS; i++)
		threads[i] = xt_start(dispatch, &beat);
	for (int i = 0; i < BEATS; i++)
		xt_join(threads[i]);
	/*
	 * After the end each timer was delivered once more, and is disabled now: count the periods
	 * that are left.
	 */
	while (xt_now() < beat.end_ns + 2 * period_ns)
		continue;
	for (int i = 0; i < BEATS; i++) {
		struct xpoll_event event;
		int64_t early = xt_now();

		XT_OK(xt_flag(beat.queue, (uint64_t)i, TIMER, XPOLL_ENABLE));
		XT_EQ(xpoll_event(beat.queue, NULL, 0, &event, 1, -1), 1);
		beat.told += event.data;
		least += (early - after[i]) / period_ns;
		most += (xt_now() - before[i]) / period_ns;
	}
	XT_CHECK(beat.told >= least);
	XT_CHECK(beat.told <= most);
	xt_note("period %jd ns: %jd", (intmax_t)period_ns,
	        (intmax_t)beat.told);
	xt_destroy(beat.queue);
}

XT_TEST(stress_beats_of_several_waiters_are_all_counted)
{
	beats(1000);
	beats(50000);
	beats(1000000);
}
