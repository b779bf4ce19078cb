/*
 * Goal: two threads that share a queue do not pass a report of the kernel from
 * one to the other for ever: the thread that has got the report delivers its
 * event (S10, S17).
 * Method: each thread is held before it calls epoll_wait.  The test lets one
 * continue at a time, in turns, so that each thread is back at its wait before
 * the last change that the other one made.
 */
#include "xt.h"

#include "base/time.h"
#include "core/slot.h"
#include "linux/sys_linux.h"

#include <sched.h>
#include <sys/epoll.h>

enum {
	THREADS = 2,
	ROUNDS = 10,
	TURNS_MOST = 8, /* at most this many turns in a round, until each filter has had an event */
	EACH = 4,       /* at most this many system calls of a kind for each event */
};

struct worker {
	struct xpoll *queue;
	struct xt_thread *thread;
	atomic_int arrived; /* number of times that this thread was held */
	atomic_int let_go;
};

static _Thread_local struct worker *self;
static struct worker workers[THREADS];
static atomic_int events;
static atomic_bool over;

XT_WRAP(xp_sys_epoll_wait);

/*
 * Call epoll_wait without sleeping, so that each turn ends.  The library accepts this, because any
 * sleep may end early.
 */
int __wrap_xp_sys_epoll_wait(int epoll_fd, struct epoll_event *fired, int cap,
                             int64_t deadline_ns)
{
	int turn;

	if (!self || atomic_load(&over))
		return __real_xp_sys_epoll_wait(epoll_fd, fired, cap, deadline_ns);
	turn = atomic_fetch_add(&self->arrived, 1) + 1;
	while (atomic_load(&self->let_go) < turn && !atomic_load(&over))
		(void)sched_yield();
	return __real_xp_sys_epoll_wait(epoll_fd, fired, cap, XP_NOW_UNLOCKED);
}

static void work(void *argument)
{
	struct xpoll_event event;

	self = argument;
	while (!atomic_load(&over))
		if (xpoll_event(self->queue, NULL, 0, &event, 1, -1) == 1)
			atomic_fetch_add(&events, 1);
}

/* Let one thread poll the kernel, and continue until it is held again. */
static void take_turn(struct worker *worker)
{
	int arrived = atomic_load(&worker->arrived);

	atomic_store(&worker->let_go, arrived);
	xt_until(&worker->arrived, arrived + 1);
}

static void workers_start(struct xpoll *queue, int count)
{
	atomic_store(&events, 0);
	atomic_store(&over, false);
	for (int i = 0; i < count; i++) {
		workers[i].queue = queue;
		atomic_store(&workers[i].arrived, 0);
		atomic_store(&workers[i].let_go, 0);
		workers[i].thread = xt_start(work, &workers[i]);
		xt_until(&workers[i].arrived, 1);
	}
}

static void workers_end(struct xpoll *queue, int count)
{
	atomic_store(&over, true);
	for (int i = 0; i < count; i++)
		xt_send_home(queue, workers[i].thread);
}

/*
 * In each round enable the filters of a ready socket again by this change, and check that a bounded
 * number of turns delivers their events.
 */
static void each_round_ends(int filters, int mode, int again)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_stats before, after;

	xt_put(pair.w);
	if (mode == XPOLL_DISPATCH)
		for (int i = 0; i < filters; i++)
			XT_OK(xt_add(queue, pair.r, i ? WRITE : READ,
			             XPOLL_DISPATCH | XPOLL_DISABLE));
	workers_start(queue, THREADS);
	before = xt_stats(queue);
	for (int round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < filters; i++)
			XT_EXPECT_STATUS(xt_flag(queue, (uint64_t)pair.r, i ? WRITE : READ, again),
			                 0);
		for (int i = 0; i < TURNS_MOST && atomic_load(&events) < round * filters; i++)
			take_turn(&workers[i % THREADS]);
		if (!XT_EXPECT_EQ(atomic_load(&events), round * filters))
			break;
	}
	after = xt_stats(queue);
	workers_end(queue, THREADS);
	XT_CHECK(after.syscalls_wait - before.syscalls_wait <= (uint64_t)(EACH * ROUNDS * filters));
	XT_CHECK(after.syscalls_change - before.syscalls_change <=
	         (uint64_t)(EACH * ROUNDS * filters));
}

XT_TEST(dispatch_enabled_while_two_threads_sleep_is_delivered)
{
	each_round_ends(1, XPOLL_DISPATCH, XPOLL_ENABLE);
}

XT_TEST(oneshot_added_again_while_two_threads_sleep_is_delivered)
{
	each_round_ends(1, XPOLL_ONESHOT, XPOLL_ADD | XPOLL_ONESHOT);
}

XT_TEST(dispatch_of_two_filters_enabled_while_two_threads_sleep_is_delivered)
{
	each_round_ends(2, XPOLL_DISPATCH, XPOLL_ENABLE);
}

XT_TEST(oneshot_of_two_filters_added_again_while_two_threads_sleep_is_delivered)
{
	each_round_ends(2, XPOLL_ONESHOT, XPOLL_ADD | XPOLL_ONESHOT);
}

/*
 * One active descriptor and two threads: while one thread handles the descriptor, the other finds
 * nothing a few times, which is cheaper than a change of the entry for each event.  If that
 * continues, the entry is made silent.
 */
XT_TEST(level_that_one_of_two_threads_has_is_made_silent_by_the_fourth_report)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_stats before, after;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	xt_put(pipe.w);
	workers_start(queue, 1);
	XT_GETS(queue, NULL, (uint64_t)pipe.r, READ);
	before = xt_stats(queue);
	atomic_store(&workers[0].let_go, 1);
	do {
		(void)sched_yield();
		after = xt_stats(queue);
	} while (after.syscalls_change == before.syscalls_change);
	XT_EXPECT_EQ(after.fruitless - before.fruitless, XP_FRUITLESS_MOST);
	workers_end(queue, 1);
	XT_EXPECT_EQ(atomic_load(&events), 0);
}

/*
 * A sleep with a signal mask is one in poll(2), which ends with every report, whichever thread
 * takes it.  So while several threads wait, one that has slept in vain sleeps again without a mask.
 */
XT_TEST(thread_beside_another_sleeps_again_without_a_mask)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	xt_put(pipe.w);
	workers_start(queue, 1);
	XT_GETS(queue, NULL, (uint64_t)pipe.r, READ);
	atomic_store(&workers[0].let_go, 1);
	xt_until(&workers[0].arrived, 2);
	workers_end(queue, 1);
}

/*
 * Count the system calls for changes while the main thread takes 192 events and a worker sleeps in
 * the queue.
 */
static void count_beside_a_sleeper(bool together, uint64_t *changes)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	uint64_t before;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	xt_put(pipe.w);
	workers_start(queue, 1);
	XT_GETS(queue, NULL, (uint64_t)pipe.r, READ);
	XT_NONE(queue); /* after this the entry is disarmed */
	before = xt_stats(queue).syscalls_change;
	for (int i = 0; i < 3 * XP_RECENT_FOR; i++) {
		queue->threads.together = together;
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, (uint64_t)pipe.r, READ);
	}
	*changes = xt_stats(queue).syscalls_change - before;
	workers_end(queue, 1);
}

/*
 * Each 64th report also verifies that the descriptor still refers to its file, by a call that
 * counts as a change.
 */
XT_TEST(silent_entry_of_two_threads_is_a_level_again_after_64_reports)
{
	uint64_t changes = 0;

	count_beside_a_sleeper(true, &changes);
	XT_CHECK(changes <= XP_RECENT_FOR + 4);
	count_beside_a_sleeper(false, &changes);
	XT_EXPECT_EQ(changes, 3 * XP_RECENT_FOR + 3);
}

/*
 * The queue's counter of changes wraps after some hours on a busy server.  A level-triggered entry
 * that is older than half its range is still reported at once.
 */
XT_TEST(level_that_is_older_than_two_billion_changes_is_reported_at_once)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_stats before, after;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	xt_put(pair.w);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, (uint64_t)pair.r, READ);
	queue->last_cutoff += (1u << 31) + 5;
	before = xt_stats(queue);
	XT_GETS(queue, NULL, (uint64_t)pair.r, READ);
	after = xt_stats(queue);
	XT_EXPECT_EQ(after.syscalls_wait, before.syscalls_wait + 1);
	XT_EXPECT_EQ(after.syscalls_check, before.syscalls_check);
}

/*
 * The counter of waits wraps, too; a wait then has the number 0, which means "never delivered" in a
 * registration.
 */
XT_TEST(wait_whose_number_wraps_delivers_what_is_new)
{
	struct xpoll_ready records[2];

	for (int room = 0; room <= 2; room++) {
		struct xpoll *queue = xt_open_quiet();
		struct xt_pair pipes[] = {xt_pipe(), xt_pipe()};

		for (int i = 0; i < 2; i++) {
			XT_OK(xt_add(queue, pipes[i].r, READ, 0));
			xt_put(pipes[i].w);
		}
		queue->stats.waits = UINT32_MAX;
		for (int i = 0; i < 2; i++)
			XT_EXPECT(0 < (room ? xpoll_pwait(queue, records, room, 0, NULL)
			                    : xpoll_wait(queue, 0)));
		XT_EXPECT_EQ(room ? xpoll_pwait(queue, records, room, 0, NULL)
		                  : xpoll_wait(queue, 0), room ? room : 2);
	}
}

XT_TEST(wait_whose_number_wraps_delivers_a_new_timer)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_OK(xt_change(queue, 1, XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_ONESHOT, 0, 1, NULL));
	queue->stats.waits = UINT32_MAX;
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
}

/*
 * A wait gets the number that an earlier wait had before the counter wrapped; one of the two
 * registrations still has that number as the wait that last delivered it.
 */
XT_TEST(wait_whose_number_comes_again_delivers_level)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[] = {xt_pipe(), xt_pipe()};
	struct xpoll_ready records[2];
	struct xpoll_event event;

	for (int i = 0; i < 2; i++)
		XT_OK(xt_add(queue, pipes[i].r, READ, 0));
	xt_put(pipes[1].w);
	XT_GETS(queue, &event, pipes[1].r, READ);
	queue->stats.waits--;
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	queue->stats.waits--;
	XT_EXPECT_EQ(xpoll_pwait(queue, records, 2, 0, NULL), 1);
	queue->stats.waits--;
	xt_put(pipes[0].w);
	for (int i = 0; i < 2; i++)
		XT_EXPECT_EQ(xpoll_wait(queue, 0), 2);
}
