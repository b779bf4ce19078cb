/*
 * Goal: xpoll_wake makes exactly one wait, the present or the next one, return
 * 0; several wakes that have ended no wait yet count as one; ready events are
 * delivered first; the function is async-signal-safe and preserves errno.
 * xpoll_wake_all ends the waits of all threads that wait now (S15, S16).
 * Method: the counter of wakes that have ended a wait distinguishes a wake from
 * a timeout.
 */
#include "xt.h"

#include <sched.h>

XT_TEST(wake_before_the_wait_ends_it_once)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < 10; i++) {
		XT_EQ(xpoll_wake(queue), 0);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
		XT_EQ(xt_stats(queue).wakes, i + 1);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
		XT_EQ(xt_stats(queue).wakes, i + 1);
	}
}

XT_TEST(wakes_without_an_answer_count_as_one)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	for (int i = 0; i < 100; i++)
		XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	for (int i = 0; i < 5; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
	XT_EQ(xt_stats(queue).wakes, 1);
}

XT_TEST(wake_waits_behind_ready_events)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_EQ(xpoll_wake(queue), 0);
	for (int i = 0; i < 3; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	XT_EQ(xt_stats(queue).wakes, 1);
}

XT_TEST(wake_is_answered_by_a_look_too)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_EQ(xt_stats(queue).wakes, 1);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
	XT_EQ(xt_stats(queue).wakes, 1);
}

/* A call that only makes changes does not consume a wake. */
XT_TEST(wake_is_not_answered_by_changes_alone)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event change = xt_record(1, USER, XPOLL_ADD);
	struct xpoll_event event;

	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_event(queue, &change, 1, NULL, 0, -1), 0);
	change.flags |= XPOLL_RECEIPT;
	XT_EQ(xpoll_event(queue, &change, 1, &event, 1, -1), 1);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	XT_EQ(xt_stats(queue).wakes, 1);
}

struct waiter {
	struct xpoll *queue;
	struct xt_thread *thread;
	int rc;
	atomic_int *returned;
};

static void waiter_run(void *argument)
{
	struct waiter *self = argument;
	struct xpoll_event event;

	self->rc = xpoll_event(self->queue, NULL, 0, &event, 1, -1);
	atomic_fetch_add(self->returned, 1);
}

static void waiters_start(struct waiter *waiters, int count,
                          struct xpoll *queue, atomic_int *returned)
{
	for (int i = 0; i < count; i++) {
		waiters[i].queue = queue;
		waiters[i].returned = returned;
		waiters[i].rc = -2;
		waiters[i].thread = xt_start(waiter_run, &waiters[i]);
	}
	for (int i = 0; i < count; i++)
		xt_asleep(waiters[i].thread);
}

XT_TEST(wake_ends_exactly_one_of_several_waits)
{
	enum { COUNT = 4 };
	struct waiter waiters[COUNT];
	struct xpoll *queue = xt_open();
	atomic_int returned = 0;

	waiters_start(waiters, COUNT, queue, &returned);
	for (int i = 1; i <= COUNT; i++) {
		XT_EQ(xpoll_wake(queue), 0);
		xt_until(&returned, i);
		/* Give other threads, which must not be woken, time to return. */
		for (int j = 0; j < 100; j++)
			(void)sched_yield();
		XT_EQ(atomic_load(&returned), i);
	}
	for (int i = 0; i < COUNT; i++) {
		xt_join(waiters[i].thread);
		XT_EQ(waiters[i].rc, 0);
	}
	XT_EQ(xt_stats(queue).wakes, COUNT);
}

XT_TEST(wake_all_ends_every_wait_and_is_not_sticky)
{
	enum { COUNT = 4 };
	struct waiter waiters[COUNT];
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	atomic_int returned = 0;

	XT_EQ(xpoll_wake_all(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 1000), 0);
	XT_EQ(xt_stats(queue).wakes, 0);
	waiters_start(waiters, COUNT, queue, &returned);
	while (atomic_load(&returned) < COUNT) {
		XT_EQ(xpoll_wake_all(queue), 0);
		(void)sched_yield();
	}
	for (int i = 0; i < COUNT; i++) {
		xt_join(waiters[i].thread);
		XT_EQ(waiters[i].rc, 0);
	}
	/* No wake is left over for the next wait. */
	uint64_t wakes = xt_stats(queue).wakes;
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2000000), 0);
	XT_EQ(xt_stats(queue).wakes, wakes);
}

/* Wait until this number of waits has begun: a later xpoll_wake_all ends them. */
static void until_waits(struct xpoll *queue, uint64_t count)
{
	while (xt_stats(queue).waits < count)
		(void)sched_yield();
}

/* Threads that begin a new wait as soon as one has ended. */
enum { RETURNING = 16 };

struct returning {
	struct xpoll *queue;
	atomic_int returned; /* number of waits that have ended in all threads */
	atomic_bool stop;
};

static void wait_again_and_again(void *argument)
{
	struct returning *self = argument;
	struct xpoll_event event;

	while (!atomic_load(&self->stop)) {
		(void)XT_EXPECT_EQ(xpoll_event(self->queue, NULL, 0, &event, 1, -1), 0);
		atomic_fetch_add(&self->returned, 1);
	}
}

/* xpoll_wake_all must not write again for threads that have left their wait already. */
XT_TEST(wake_all_of_threads_that_return_at_once_is_few_writes)
{
	static struct returning self;
	struct xt_thread *threads[RETURNING];
	uint64_t writes;
	int before;

	self.queue = xt_open_quiet();
	for (int i = 0; i < RETURNING; i++)
		threads[i] = xt_start(wait_again_and_again, &self);
	for (int round = 0; round < 20; round++) {
		before = atomic_load(&self.returned);
		until_waits(self.queue, (uint64_t)before + RETURNING);
		(void)XT_EXPECT_EQ(xpoll_wake_all(self.queue), 0);
		xt_until(&self.returned, before + RETURNING);
	}
	writes = xt_stats(self.queue).syscalls_wake;
	XT_EXPECT(writes <= 2 * (uint64_t)atomic_load(&self.returned));
	xt_note("%d waits ended by %llu writes", atomic_load(&self.returned),
	        (unsigned long long)writes);
	atomic_store(&self.stop, true);
	for (int i = 0; i < RETURNING; i++)
		xt_send_home(self.queue, threads[i]);
}

/* A thread that waits once; the last one to return wakes the test's own wait. */
struct last {
	struct xpoll *queue;
	struct xt_pair pipe;
	atomic_int left;
};

static void wait_once(void *argument)
{
	struct last *last = argument;
	struct xpoll_event event;

	(void)XT_EXPECT_EQ(xpoll_event(last->queue, NULL, 0, &event, 1, -1), 0);
	if (atomic_fetch_sub(&last->left, 1) == 1)
		xt_put(last->pipe.w);
}

/* Because of the change the call may poll before it sleeps: see has_pending in wait.c. */
XT_TEST(wake_all_then_a_change_and_a_wait_leaves_nobody_asleep)
{
	struct last last = {.queue = xt_open_quiet(), .pipe = xt_pipe()};
	struct xt_pair other = xt_pipe();
	struct xpoll_event change = xt_record((uint64_t)other.r, READ, XPOLL_DISABLE);
	struct xt_thread *threads[RETURNING];

	XT_OK(xt_add(last.queue, last.pipe.r, READ, 0));
	XT_OK(xt_add(last.queue, other.r, READ, 0));
	for (int round = 0; round < 20 && !xt_failures(); round++) {
		uint64_t before = xt_stats(last.queue).waits;
		struct xpoll_event event;

		atomic_store(&last.left, RETURNING);
		for (int i = 0; i < RETURNING; i++)
			threads[i] = xt_start(wait_once, &last);
		until_waits(last.queue, before + RETURNING);
		(void)XT_EXPECT_EQ(xpoll_wake_all(last.queue), 0);
		(void)XT_EXPECT_EQ(xpoll_event(last.queue, &change, 1, &event, 1,
		                               XT_SOON / 4), 1);
		change.flags ^= XPOLL_DISABLE | XPOLL_ENABLE;
		for (int i = 0; i < RETURNING; i++)
			xt_send_home(last.queue, threads[i]);
		XT_EXPECT_EQ(xt_get(last.pipe.r), 'x');
		xt_threads_reuse();
	}
}

/* Each wake is sent after a wait returned for the one before, so none may be lost. */
struct ping {
	struct xpoll *queue;
	int count;
	atomic_int answered;
};

static void ping_send(void *argument)
{
	struct ping *ping = argument;

	for (int i = 0; i < ping->count; i++) {
		(void)XT_EXPECT_EQ(xpoll_wake(ping->queue), 0);
		xt_until(&ping->answered, i + 1);
	}
}

/* Complaint: Wake-ups are lost, or never end. */
XT_TEST(wakes_one_by_one_are_all_answered)
{
	struct ping ping = {.queue = xt_open(),
	                    .count = XT_SLOW ? 1000 : 5000};
	struct xpoll_event event;
	struct xt_thread *thread = xt_start(ping_send, &ping);

	for (int i = 0; i < ping.count; i++) {
		XT_EQ(xpoll_event(ping.queue, NULL, 0, &event, 1, -1), 0);
		atomic_fetch_add(&ping.answered, 1);
	}
	xt_join(thread);
	XT_EQ(xt_stats(ping.queue).wakes, ping.count);
}

/* xpoll_wake is called in a signal handler, which interrupts the thread anywhere. */
static struct xpoll *signal_queue;
static atomic_int signal_bad_errno;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	errno = 4321;
	if (xpoll_wake(signal_queue) != 0 || errno != 4321)
		atomic_fetch_add(&signal_bad_errno, 1);
	errno = saved;
}

XT_TEST(wake_in_a_signal_handler_ends_the_next_wait)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction old;
	struct xpoll_event event;
	struct xt_pair pipe = xt_pipe();

	signal_queue = xt_open();
	atomic_store(&signal_bad_errno, 0);
	XT_OK(xt_add(signal_queue, pipe.r, READ, 0));
	XT_EQ(sigaction(SIGUSR1, &action, &old), 0);
	for (int i = 0; i < 1000 && !xt_failures(); i++) {
		(void)pthread_kill(pthread_self(), SIGUSR1);
		XT_EXPECT_EQ(xpoll_event(signal_queue, NULL, 0, &event, 1, -1),
		             0);
	}
	XT_EQ(sigaction(SIGUSR1, &old, NULL), 0);
	XT_EQ(atomic_load(&signal_bad_errno), 0);
}

/* The handler runs while its thread is inside the library. */
struct shooter {
	pthread_t target;
	atomic_int stop;
};

static void shoot(void *argument)
{
	struct shooter *shooter = argument;

	while (!atomic_load(&shooter->stop)) {
		(void)pthread_kill(shooter->target, SIGUSR1);
		for (int i = 0; i < 20; i++)
			(void)sched_yield();
	}
}

XT_TEST(wake_in_a_signal_handler_inside_changes_does_not_lock_up)
{
	struct sigaction action = {.sa_handler = on_signal,
	                           .sa_flags = SA_RESTART};
	struct shooter shooter = {.target = pthread_self()};
	struct sigaction old;
	struct xpoll_event event;
	struct xt_pair pipe = xt_pipe();

	signal_queue = xt_open();
	XT_EQ(sigaction(SIGUSR1, &action, &old), 0);
	struct xt_thread *thread = xt_start(shoot, &shooter);
	for (int i = 0; i < 3000 && !xt_failures(); i++) {
		XT_EXPECT_STATUS(xt_add(signal_queue, pipe.r, READ, 0), 0);
		XT_EXPECT_STATUS(xt_flag(signal_queue, (uint64_t)pipe.r, READ,
		                         XPOLL_DISABLE),
		                 0);
		int rc = xpoll_event(signal_queue, NULL, 0, &event, 1, 0);
		XT_EXPECT(rc == 0 || (rc == -1 && errno == EINTR));
	}
	atomic_store(&shooter.stop, 1);
	xt_join(thread);
	XT_EQ(sigaction(SIGUSR1, &old, NULL), 0);
	XT_EQ(atomic_load(&signal_bad_errno), 0);
}
