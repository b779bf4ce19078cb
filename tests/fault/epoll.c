/*
 * Goal: the epoll back end loses no report that the kernel makes late, and
 * assigns none to a new file if the descriptor is reused meanwhile.
 * Method: the system calls around the race are wrapped at link time.
 */
#include "xt.h"

#include "core/slot.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <sched.h>
#include <sys/epoll.h>

/*
 * These descriptors are beyond the first page of the slot table, as in a program with many
 * descriptors.
 */
enum { HUNG_UP = 700, DEAD };

/*
 * Points at which a wait of this thread is held: before it sleeps, or when it has its first report.
 */
static _Thread_local bool holds_before, holds_after;
static atomic_int held; /* number of threads that have reached such a point */
static atomic_bool released;
static atomic_int sleeps; /* sleeps that any thread has begun */

static void (*when_replaced)(void);
static uint32_t last_watch; /* event bits of the last entry that was added or modified */

/*
 * Each write to a wake-up descriptor checks whether this queue's lock is held, and counts the
 * result.
 */
static struct xpoll *written_for;
static atomic_int writes, writes_locked;
static _Thread_local bool holds_write;

/*
 * Simulates a thread that still sleeps in the old epoll set during a renewal: the events that such
 * a thread would get.
 */
static bool reports_old;
static struct epoll_event old_report[4];
static int old_reports;

XT_WRAP(xp_sys_epoll_wait);
XT_WRAP(xp_sys_epoll_ctl);
XT_WRAP(xp_sys_write);
XT_WRAP(xp_sys_dup_to);

static void hold(bool *here)
{
	*here = false;
	atomic_fetch_add(&held, 1);
	while (!atomic_load(&released))
		(void)sched_yield();
}

int __wrap_xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                             int64_t deadline_ns)
{
	int rc;

	atomic_fetch_add(&sleeps, 1);
	if (holds_before)
		hold(&holds_before);
	if (old_reports > 0 && !reports_old) {
		rc = old_reports < cap ? old_reports : cap;
		memcpy(events, old_report, (size_t)rc * sizeof *events);
		old_reports = 0;
		return rc;
	}
	rc = __real_xp_sys_epoll_wait(epoll_fd, events, cap, deadline_ns);
	if (holds_after && rc > 0)
		hold(&holds_after);
	return rc;
}

int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token)
{
	int rc = __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);

	if (rc == 0 && op != EPOLL_CTL_DEL)
		last_watch = events;
	/*
	 * A renewal modifies the entry in the old set so that it requests nothing; get the events
	 * right after that.
	 */
	if (reports_old && fd == HUNG_UP && op == EPOLL_CTL_MOD && events == EPOLLET)
		old_reports = epoll_wait(epoll_fd, old_report, 4, 0);
	return rc;
}

int __wrap_xp_sys_write(int fd, const void *buffer, size_t size)
{
	if (written_for) {
		atomic_fetch_add(&writes, 1);
		if (pthread_mutex_trylock(&written_for->lock.mutex) == 0)
			(void)pthread_mutex_unlock(&written_for->lock.mutex);
		else
			atomic_fetch_add(&writes_locked, 1);
	}
	if (holds_write)
		hold(&holds_write);
	return __real_xp_sys_write(fd, buffer, size);
}

int __wrap_xp_sys_dup_to(int fd, int number)
{
	int rc = __real_xp_sys_dup_to(fd, number);

	if (when_replaced)
		when_replaced();
	when_replaced = NULL;
	return rc;
}

static void held_before(void *sleeper)
{
	holds_before = true;
	xt_sleep(sleeper);
}

static void held_after(void *sleeper)
{
	holds_after = true;
	xt_sleep(sleeper);
}

static bool returns_soon(struct xt_thread *thread)
{
	int64_t end = xt_now() + XT_SOON / 4;

	while (!xt_done(thread) && xt_now() < end)
		(void)sched_yield();
	return xt_done(thread);
}

/*
 * xpoll_wake_all signals a sleeping thread; a call with timeout 0 by another thread must not
 * consume that signal.
 */
XT_TEST(wake_all_then_a_look_by_another_still_reaches_the_sleeper)
{
	static struct xt_sleeper sleeper = {.timeout_ns = -1};
	struct xt_thread *thread;

	sleeper.queue = xt_open_quiet();
	atomic_store(&held, 0);
	atomic_store(&released, false);
	thread = xt_start(held_before, &sleeper);
	xt_until(&held, 1);
	XT_OK(xpoll_wake_all(sleeper.queue));
	XT_NONE(sleeper.queue);
	atomic_store(&released, true);
	XT_EXPECT(returns_soon(thread));
	while (!xt_done(thread))
		XT_OK(xpoll_wake(sleeper.queue));
	xt_join(thread);
	XT_EXPECT_EQ(sleeper.rc, 0);
}

static void asleep(struct xt_thread *thread)
{
	xt_until(&sleeps, 1);
	xt_asleep(thread);
}

static void wake_all(struct xpoll *queue)
{
	XT_OK(xpoll_wake_all(queue));
}

static void trigger(struct xpoll *queue)
{
	XT_OK(xt_trigger(queue, 1));
}

static void sleep_once(void *argument)
{
	struct xpoll_event event;

	XT_EXPECT(xpoll_event(argument, NULL, 0, &event, 1, -1) >= 0);
}

/*
 * Check that `kick` writes to the wake-up descriptor after it has released the queue's lock: a
 * thread that is woken while the lock is held would sleep again at once, for the lock.
 */
static void kicks_without_the_lock(void (*kick)(struct xpoll *queue))
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_thread *thread;

	XT_OK(xt_add(queue, 1, USER, XPOLL_CLEAR));
	atomic_store(&sleeps, 0);
	atomic_store(&writes, 0);
	atomic_store(&writes_locked, 0);
	thread = xt_start(sleep_once, queue);
	asleep(thread);
	written_for = queue;
	kick(queue);
	written_for = NULL;
	xt_join(thread);
	XT_EXPECT_EQ(atomic_load(&writes), 1);
	XT_EXPECT_EQ(atomic_load(&writes_locked), 0);
}

XT_TEST(wake_all_writes_when_the_lock_is_free)
{
	XT_CALL(kicks_without_the_lock(wake_all));
}

XT_TEST(user_event_for_a_sleeper_writes_when_the_lock_is_free)
{
	XT_CALL(kicks_without_the_lock(trigger));
}

static void kick_slowly(void *argument)
{
	holds_write = true;
	(void)XT_EXPECT_EQ(xpoll_wake_all(argument), 0);
}

static void destroy(void *argument)
{
	xpoll_destroy(argument);
}

static void wait_until_destroyed(void *argument)
{
	struct xpoll_event event;

	while (xpoll_event(argument, NULL, 0, &event, 1, -1) == 0)
		continue;
}

/*
 * A thread that wakes others writes to a descriptor of the queue, so xpoll_destroy must keep that
 * descriptor open until the write is done.
 */
XT_TEST(destroy_waits_for_a_thread_that_is_waking_others)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xt_thread *sleeper, *kicker, *destroyer;

	XT_CHECK(queue != NULL);
	atomic_store(&sleeps, 0);
	atomic_store(&held, 0);
	atomic_store(&released, false);
	sleeper = xt_start(wait_until_destroyed, queue);
	asleep(sleeper);
	kicker = xt_start(kick_slowly, queue);
	xt_until(&held, 1);
	destroyer = xt_start(destroy, queue);
	xt_join(sleeper);
	xt_asleep(destroyer);
	XT_EXPECT(!xt_done(destroyer));
	atomic_store(&released, true);
	xt_join(kicker);
	xt_join(destroyer);
}

static void wake_slowly(void *argument)
{
	holds_write = true;
	(void)XT_EXPECT_EQ(xpoll_wake(argument), 0);
}

/*
 * The wait that xpoll_wake ends may return before xpoll_wake has finished its write, and the
 * program may then destroy the queue.
 */
XT_TEST(destroy_waits_for_a_thread_that_wakes_the_queue)
{
	struct xpoll *queue = xpoll_open(NULL);
	struct xt_thread *waker, *destroyer;
	struct xpoll_event event;

	XT_CHECK(queue != NULL);
	atomic_store(&held, 0);
	atomic_store(&released, false);
	waker = xt_start(wake_slowly, queue);
	xt_until(&held, 1);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	destroyer = xt_start(destroy, queue);
	xt_asleep(destroyer);
	XT_EXPECT(!xt_done(destroyer));
	atomic_store(&released, true);
	xt_join(waker);
	xt_join(destroyer);
}

/*
 * Make a dead entry: close a registered file of which a ready duplicate stays open, so that epoll
 * keeps reporting the entry.
 */
static void make_dead_entry(struct xpoll *queue)
{
	struct xt_pair pipe = xt_pipe();
	struct xt_pair fresh = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	(void)xt_dup(pipe.r);
	xt_put(pipe.w);
	xt_number(fresh.r, pipe.r);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
}

static void wait_until_renewed(struct xpoll *queue)
{
	for (int i = 0; i < 100 && !xt_stats(queue).rebuilds; i++)
		XT_NONE(queue);
	XT_EXPECT_EQ(xt_stats(queue).rebuilds, 1);
}

enum { SLEEPERS = 8 };

/*
 * All sleeping threads return with the report of the dead entry, and half of these reports suffice
 * for a renewal of the set.  The other threads' reports come from the old set, and must not renew
 * it again.
 */
XT_TEST(dead_entry_reported_to_many_sleepers_renews_the_set_once)
{
	static struct xt_sleeper sleepers[SLEEPERS];
	struct xt_thread *threads[SLEEPERS];
	struct xpoll *queue = xt_open_quiet();

	make_dead_entry(queue);
	atomic_store(&held, 0);
	atomic_store(&released, false);
	for (int i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct xt_sleeper){.queue = queue, .timeout_ns = -1};
		threads[i] = xt_start(held_after, &sleepers[i]);
	}
	xt_until(&held, SLEEPERS);
	atomic_store(&released, true);
	while (xt_stats(queue).stale_dropped < SLEEPERS)
		(void)sched_yield();
	for (int i = 0; i < SLEEPERS; i++)
		xt_send_home(queue, threads[i]);
	XT_EXPECT_EQ(xt_stats(queue).rebuilds, 1);
}

static int reused;

static void reuse_number(void)
{
	struct xt_pair fresh = xt_pipe();

	xt_put(fresh.w);
	xt_number(fresh.r, reused);
}

/*
 * S7: the descriptor is reused for a new file that is not registered, so no event of that file is
 * delivered.
 */
XT_TEST(number_reused_while_the_set_is_renewed_is_silent)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	reused = pipe.r;
	when_replaced = reuse_number;
	make_dead_entry(queue);
	wait_until_renewed(queue);
	XT_NONE(queue);
	XT_NONE(queue);
}

static void wait_for_wake(void *argument)
{
	struct xpoll_event event;

	(void)xpoll_event(argument, NULL, 0, &event, 1, -1);
}

/* Have two threads sleep in the queue at a time, after which DISPATCH uses EPOLLONESHOT. */
static void sleep_together(struct xpoll *queue)
{
	struct xt_thread *threads[2];

	atomic_store(&sleeps, 0);
	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(wait_for_wake, queue);
	xt_until(&sleeps, 2);
	XT_OK(xpoll_wake_all(queue));
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
}

XT_TEST(number_reused_before_the_set_is_renewed_is_silent_by_dispatch)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	sleep_together(queue);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	reused = pipe.r;
	reuse_number();
	make_dead_entry(queue);
	wait_until_renewed(queue);
	XT_NONE(queue);
	XT_NONE(queue);
}

/*
 * epoll reports a hang-up whatever the entry requests, so the entry that a renewal leaves in the
 * old set wakes a thread that still sleeps there.
 */
XT_TEST(hung_up_file_while_the_set_is_renewed_means_nothing_to_a_sleeper)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair gone = xt_pipe();
	struct xt_pair dead = xt_pipe();
	struct xt_pair fresh = xt_pipe();
	struct xpoll_event event[4];

	xt_number(gone.r, HUNG_UP);
	XT_OK(xt_add(queue, HUNG_UP, READ, XPOLL_DISPATCH));
	(void)close(gone.w);
	XT_GETS(queue, event, HUNG_UP, READ);
	xt_number(dead.r, DEAD);
	XT_OK(xt_add(queue, DEAD, READ, 0));
	(void)xt_dup(DEAD);
	xt_put(dead.w);
	xt_number(fresh.r, DEAD);
	XT_OK(xt_add(queue, DEAD, READ, 0));
	reports_old = true;
	wait_until_renewed(queue);
	reports_old = false;
	XT_EXPECT_EQ(old_reports, 2);
	/*
	 * Pass the old set's events to this wait, as if its thread had slept in the old set: they
	 * are dropped.
	 */
	XT_EQ(xpoll_event(queue, NULL, 0, event, 4, 1000000), 0);
	XT_EXPECT_EQ(old_reports, 0);
}

/*
 * Without EPOLLEXCLUSIVE all queues that watch a listener are woken; no result of the library shows
 * that, so check the entry's bits.
 */
XT_TEST(exclusive_entry_is_exclusive_while_all_of_it_is_enabled)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_change(queue, (uint64_t)pair.r, READ, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE, 0, NULL));
	XT_EXPECT_EQ(last_watch, EPOLLIN | EPOLLEXCLUSIVE);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DISABLE));
	XT_CHECK(!(last_watch & EPOLLEXCLUSIVE));
	XT_OK(xt_change(queue, (uint64_t)pair.r, READ, XPOLL_ADD | XPOLL_ENABLE,
	                XPOLL_NOTE_EXCLUSIVE, 0, NULL));
	XT_EXPECT_EQ(last_watch, EPOLLIN | EPOLLEXCLUSIVE);
}
