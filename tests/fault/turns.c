/*
 * Goal: the turn of the poll and select back ends (the right to sleep in the
 * kernel for all threads of the queue) passes to the right thread, also in
 * orders that rarely happen by chance.
 * Method: the calls in which threads sleep are wrapped at link time, so that a
 * test can hold a thread just before or just after its sleep.
 */
#include "xt.h"

#include "base/mutex.h"
#include "sys/sys.h"

#include <sched.h>

/*
 * A thread that waits on the queue, the points where the test holds the thread, and counters of its
 * sleeps.
 */
struct waiter {
	struct xpoll *queue;
	struct xt_thread *thread;
	int rc;
	atomic_bool hold_before;
	atomic_bool hold_after;
	atomic_int turns; /* begun sleeps for its turn */
	atomic_int waits; /* begun sleeps in the kernel, as the leader */
	atomic_int woken; /* sleeps that have ended */
	atomic_int asides; /* begun waits for other threads to leave */
};

static _Thread_local struct waiter *self;

static void held(atomic_bool *hold)
{
	while (atomic_load(hold))
		(void)sched_yield();
}

XT_WRAP(xp_mutex_wait);
XT_WRAP(xp_sys_poll_wait);
XT_WRAP(xp_sys_select_wait);

void __wrap_xp_mutex_wait(struct xp_mutex *mutex, pthread_cond_t *condition)
{
	if (self)
		atomic_fetch_add(&self->asides, 1);
	__real_xp_mutex_wait(mutex, condition);
	if (!self || !atomic_load(&self->hold_after))
		return;
	/* Release the mutex while held, so that other threads take it first. */
	xp_mutex_unlock(mutex);
	held(&self->hold_after);
	xp_mutex_lock(mutex);
}

int __wrap_xp_sys_poll_wait(struct pollfd *fds, size_t count,
                            int64_t deadline_ns, const sigset_t *mask)
{
	int rc;

	if (!self)
		return __real_xp_sys_poll_wait(fds, count, deadline_ns, mask);
	/*
	 * A poll array of one entry is a follower's sleep for its turn: the leader's array always
	 * has two entries of the back end's own.
	 */
	atomic_fetch_add(count == 1 ? &self->turns : &self->waits, 1);
	held(&self->hold_before);
	rc = __real_xp_sys_poll_wait(fds, count, deadline_ns, mask);
	atomic_fetch_add(&self->woken, 1);
	held(&self->hold_after);
	return rc;
}

int __wrap_xp_sys_select_wait(int count, long *const sets[3],
                              int64_t deadline_ns, const sigset_t *mask)
{
	int rc;

	if (!self)
		return __real_xp_sys_select_wait(count, sets, deadline_ns, mask);
	atomic_fetch_add(&self->waits, 1);
	held(&self->hold_before);
	rc = __real_xp_sys_select_wait(count, sets, deadline_ns, mask);
	atomic_fetch_add(&self->woken, 1);
	held(&self->hold_after);
	return rc;
}

static void waiter_run(void *argument)
{
	struct waiter *waiter = argument;
	struct xpoll_event event;

	self = waiter;
	waiter->rc = xpoll_event(waiter->queue, NULL, 0, &event, 1, -1);
}

static void waiter_start(struct waiter *waiter, struct xpoll *queue)
{
	waiter->queue = queue;
	waiter->rc = -2;
	waiter->thread = xt_start(waiter_run, waiter);
}

/* Start a thread that sleeps in the kernel as the leader. */
static void leader_start(struct waiter *waiter, struct xpoll *queue)
{
	waiter_start(waiter, queue);
	xt_until(&waiter->waits, 1);
	xt_asleep(waiter->thread);
}

/* Start a follower that is held just before it sleeps. */
static void slow_follower_start(struct waiter *waiter, struct xpoll *queue)
{
	atomic_store(&waiter->hold_before, true);
	waiter_start(waiter, queue);
	xt_until(&waiter->turns, 1);
}

static bool returns_soon(struct waiter *waiter)
{
	int64_t end = xt_now() + XT_SOON / 4;

	while (!xt_done(waiter->thread) && xt_now() < end)
		(void)sched_yield();
	return xt_done(waiter->thread);
}

static void send_home(struct waiter *waiter)
{
	atomic_store(&waiter->hold_before, false);
	atomic_store(&waiter->hold_after, false);
	xt_send_home(waiter->queue, waiter->thread);
}

/*
 * The second follower comes after xpoll_wake_all, so it must not consume the wake-up of the first
 * one, nor take its turn.
 */
XT_TEST(wake_all_while_another_follower_overtakes_reaches_the_first)
{
	static struct waiter leader, first, second;
	struct xpoll *queue = xt_open_quiet();

	leader_start(&leader, queue);
	slow_follower_start(&first, queue);
	atomic_store(&leader.hold_after, true);
	XT_EXPECT_EQ(xpoll_wake_all(queue), 0);
	waiter_start(&second, queue);
	xt_asleep(second.thread);
	atomic_store(&leader.hold_after, false);
	xt_join(leader.thread);
	xt_asleep(second.thread);
	atomic_store(&first.hold_before, false);
	XT_EXPECT(returns_soon(&first));
	XT_EXPECT_EQ(first.rc, 0);
	XT_EXPECT(!xt_done(second.thread));
	send_home(&first);
	send_home(&second);
}

/* When the leader leaves, one follower gets the turn and is woken; the other followers sleep on. */
XT_TEST(turn_passed_wakes_one_follower)
{
	enum { FOLLOWERS = 8 };
	static struct waiter leader, followers[FOLLOWERS];
	struct xpoll *queue = xt_open_quiet();

	leader_start(&leader, queue);
	for (int i = 0; i < FOLLOWERS; i++) {
		waiter_start(&followers[i], queue);
		xt_until(&followers[i].turns, 1);
	}
	for (int i = 0; i < FOLLOWERS; i++)
		xt_asleep(followers[i].thread);
	XT_EXPECT_EQ(xpoll_wake(queue), 0);
	xt_join(leader.thread);
	xt_until(&followers[0].waits, 1);
	for (int i = 1; i < FOLLOWERS; i++) {
		xt_asleep(followers[i].thread);
		XT_EXPECT_EQ(atomic_load(&followers[i].turns), 1);
	}
	for (int i = 0; i < FOLLOWERS; i++)
		send_home(&followers[i]);
}

/*
 * The turn is passed on several times while this follower is slow to wake up: it is woken only
 * once.
 */
XT_TEST(turn_passed_often_slow_follower_comes_out_once)
{
	static struct waiter leader, follower, next;
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	leader_start(&leader, queue);
	slow_follower_start(&follower, queue);
	XT_EXPECT_EQ(xpoll_wake(queue), 0);
	xt_join(leader.thread);
	for (int i = 0; i < 50; i++)
		XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	leader_start(&next, queue);
	atomic_store(&follower.hold_before, false);
	xt_asleep(follower.thread);
	XT_EXPECT(atomic_load(&follower.turns) <= 3);
	send_home(&next);
	send_home(&follower);
}

/*
 * A leader that leaves its sleep for another thread's change polls the kernel once more: both polls
 * count as one system call.
 */
XT_TEST(change_beside_a_leader_counts_one_look)
{
	enum { CHANGES = 20 };
	static struct waiter leader;
	struct xpoll *queue = xt_open_quiet();
	uint64_t before;

	leader_start(&leader, queue);
	before = xt_stats(queue).syscalls_wait;
	for (uint64_t i = 0; i < CHANGES; i++) {
		int waits = atomic_load(&leader.waits);

		XT_OK(xt_flag(queue, i, USER, XPOLL_ADD));
		xt_until(&leader.waits, waits + 1);
		xt_asleep(leader.thread);
	}
	XT_EXPECT_EQ(xt_stats(queue).syscalls_wait - before, CHANGES);
	send_home(&leader);
}

XT_TEST(close_wakes_the_leader_of_queues_that_know_the_descriptor_alone)
{
	static struct waiter leader;
	struct xpoll *queue = xt_open_quiet();
	int registered = xt_pipe().r;
	int other = xt_pipe().r;

	XT_OK(xt_add(queue, registered, READ, 0));
	leader_start(&leader, queue);
	int woken = atomic_load(&leader.woken);
	XT_EXPECT_EQ(xpoll_close_fd(other), 0);
	XT_EXPECT_EQ(atomic_load(&leader.woken), woken);
	XT_EXPECT_EQ(xpoll_forget_fd(registered), 0);
	XT_EXPECT(atomic_load(&leader.woken) > woken);
	send_home(&leader);
}

/*
 * xpoll_lookup of a process may attach descriptors to the array, which the leader's poll(2) uses:
 * it waits until the leader has left its sleep.
 */
XT_TEST(lookup_of_a_process_begins_when_the_leader_is_out)
{
	static struct waiter leader;
	struct xpoll *queue = xt_open_quiet();
	uint64_t ident = (uint64_t)getpid();
	struct xpoll_event now;

	XT_OK(xt_change(queue, ident, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0, NULL));
	leader_start(&leader, queue);
	int before = atomic_load(&leader.woken);
	XT_EXPECT_EQ(xpoll_lookup(queue, ident, XPOLL_FILT_PROC, &now), 0);
	XT_EXPECT(atomic_load(&leader.woken) > before);
	send_home(&leader);
}

static void poll_level_run(void *argument)
{
	struct waiter *waiter = argument;
	struct xpoll_ready ready;

	self = waiter;
	waiter->rc = xpoll_pwait(waiter->queue, &ready, 1, -1, NULL);
}

/* A thread that waits with a change. */
static struct xpoll_event made;

static void changer_run(void *argument)
{
	struct waiter *waiter = argument;
	struct xpoll_event event;

	self = waiter;
	waiter->rc = xpoll_event(waiter->queue, &made, 1, &event, 1, 0) < 0 ? errno : 0;
}

/*
 * When the poll-like call is made, waiting is allowed; when the leader has returned, it no longer
 * is, so the call fails and makes no change.
 */
XT_TEST(event_while_a_poll_like_wait_begins_fails_before_its_changes)
{
	static struct waiter leader, changer, poller;
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair first = xt_pipe(), second = xt_pipe();
	struct xpoll_event now;

	XT_OK(xt_add(queue, first.r, READ, 0));
	leader_start(&leader, queue);
	atomic_store(&leader.hold_after, true);
	/* The leader has got the event, and was not also woken. */
	int woken = atomic_load(&leader.woken);
	xt_put(first.w);
	xt_until(&leader.woken, woken + 1);
	made = xt_record((uint64_t)second.r, READ, XPOLL_ADD);
	changer.queue = poller.queue = queue;
	atomic_store(&changer.hold_after, true);
	changer.thread = xt_start(changer_run, &changer);
	xt_until(&changer.asides, 1);
	atomic_store(&leader.hold_after, false);
	xt_join(leader.thread);
	XT_EQ(xt_get(first.r), 'x');
	poller.thread = xt_start(poll_level_run, &poller);
	xt_until(&poller.asides, 1);
	atomic_store(&changer.hold_after, false);
	xt_join(changer.thread);
	XT_EXPECT_EQ(changer.rc, EBUSY);
	XT_EXPECT_FAILS(xpoll_lookup(queue, (uint64_t)second.r, READ, &now), ENOENT);
	send_home(&poller);
}
