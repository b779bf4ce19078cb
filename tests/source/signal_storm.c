/*
 * Goal: no signal is lost or counted twice, however many arrive, for whichever
 * thread, and while queues are created and destroyed; a handler that runs
 * during the destruction of a queue writes to no other descriptor than the
 * queue's (S21, hazard 14).
 * Method: real-time signals, which the kernel queues; for other signals the
 * program's own handler counts.
 */
#include "xt.h"

#include <sched.h>

#define SIGNAL XPOLL_FILT_SIGNAL

static atomic_long handled;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

/*
 * A delivery is counted just before its handler runs, on any thread: wait until the handlers have
 * run.
 */
static long handled_of(long wanted)
{
	int64_t end = xt_now() + XT_SOON;

	while (atomic_load(&handled) < wanted && xt_now() < end)
		(void)sched_yield();
	return atomic_load(&handled);
}

static void begin(struct xpoll *queue, int number)
{
	atomic_store(&handled, 0);
	(void)signal(number, on_signal);
	XT_OK(xt_change(queue, (uint64_t)number, SIGNAL, XPOLL_ADD, 0, 0,
	                NULL));
}

struct sender {
	int target; /* send to this thread; 0: to the process */
	int number;
	int count;
	atomic_bool stop;
};

/* Queue the signals; send a signal again if the queue of the process is full. */
static void send_all(void *argument)
{
	struct sender *sender = argument;

	for (int i = 0; i < sender->count; i++)
		while (xt_queue_signal(sender->target, sender->number, 0))
			(void)sched_yield();
}

static void send_on(void *argument)
{
	struct sender *sender = argument;

	while (!atomic_load(&sender->stop)) {
		(void)kill(getpid(), sender->number);
		(void)sched_yield();
	}
}

#define SENDERS 3

static void send_on_from(struct sender *senders, struct xt_thread **threads,
                         int number)
{
	for (int i = 0; i < SENDERS; i++) {
		senders[i].number = number;
		atomic_init(&senders[i].stop, false);
		threads[i] = xt_start(send_on, &senders[i]);
	}
}

static void stop(struct sender *senders, struct xt_thread **threads)
{
	for (int i = 0; i < SENDERS; i++)
		atomic_store(&senders[i].stop, true);
	for (int i = 0; i < SENDERS; i++)
		xt_join(threads[i]);
}

/*
 * Take events until this number of deliveries was reported.  Returns -1 for another event.  EINTR
 * is correct if the kernel woke this thread for a signal that another one then handled.
 */
static long total_until(struct xpoll *queue, int number, long count)
{
	long total = 0;

	while (total < count) {
		struct xpoll_event event;
		int rc = xpoll_event(queue, NULL, 0, &event, 1, XT_SOON);

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc != 1 || event.filter != SIGNAL ||
		    event.ident != (uint64_t)number || event.data < 1)
			return -1;
		total += event.data;
	}
	return total;
}

XT_TEST(storm_of_real_time_signals_is_counted_each)
{
	struct xpoll *queue = xt_open();
	struct sender sender = {.target = xt_thread_number(),
	                        .number = XT_RTMIN,
	                        .count = 3000};

	XT_NEEDS_RT();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	XT_CALL(begin(queue, XT_RTMIN));
	for (int i = 0; i < SENDERS; i++)
		(void)xt_start(send_all, &sender);
	XT_EQ(total_until(queue, XT_RTMIN, 9000), 9000);
	XT_EXPECT_EQ(handled_of(9000), 9000);
	XT_NONE(queue);
	(void)signal(XT_RTMIN, SIG_DFL);
}

/* A signal of the process is handled by any thread that does not block it. */
XT_TEST(storm_of_signals_to_any_thread_is_counted_as_handled)
{
	struct xpoll *queue = xt_open();
	struct sender senders[SENDERS];
	struct xt_thread *threads[SENDERS];

	XT_CALL(begin(queue, SIGUSR1));
	send_on_from(senders, threads, SIGUSR1);
	long total = total_until(queue, SIGUSR1, 5000);
	stop(senders, threads);
	XT_CHECK(total > 0);
	long rest = atomic_load(&handled) - total;
	if (rest > 0)
		total += total_until(queue, SIGUSR1, rest);
	XT_EXPECT_EQ(total, atomic_load(&handled));
	XT_NONE(queue);
	(void)signal(SIGUSR1, SIG_DFL);
}

struct taker {
	struct xpoll *queue;
	atomic_long *total;
	long wanted;
};

static void take_some(void *argument)
{
	struct taker *taker = argument;

	while (atomic_load(taker->total) < taker->wanted) {
		struct xpoll_event event;
		int rc = xpoll_event(taker->queue, NULL, 0, &event, 1, XT_SOON);

		if (rc > 0)
			atomic_fetch_add(taker->total, event.data);
		else if (rc < 0 && !XT_EXPECT_EQ(errno, EINTR))
			return;
	}
	(void)xpoll_wake(taker->queue);
}

/* Each delivery is reported to exactly one of the waiting threads. */
XT_TEST(storm_with_several_waiters_is_counted_once_each)
{
	struct xpoll *queue = xt_open();
	struct sender sender = {.target = xt_thread_number(),
	                        .number = XT_RTMIN,
	                        .count = 4000};
	atomic_long total;
	struct taker taker = {queue, &total, 4000};
	struct xt_thread *threads[4];

	atomic_init(&total, 0);
	XT_NEEDS_RT();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	XT_CALL(begin(queue, XT_RTMIN));
	for (int i = 0; i < 4; i++)
		threads[i] = i ? xt_start(take_some, &taker)
		               : xt_start(send_all, &sender);
	take_some(&taker);
	for (int i = 0; i < 4; i++)
		xt_join(threads[i]);
	XT_EXPECT_EQ(atomic_load(&total), 4000);
	XT_EXPECT_EQ(handled_of(4000), 4000);
	(void)signal(XT_RTMIN, SIG_DFL);
}

/*
 * Queues are created and destroyed, and pipes reuse their descriptors at once, while signals
 * arrive: a late handler must not write into a pipe.
 */
XT_TEST(storm_while_queues_come_and_go_touches_nothing_else)
{
	struct xpoll *queue = xt_open();
	struct sender senders[SENDERS];
	struct xt_thread *threads[SENDERS];
	int64_t end = xt_now() +
	              (int64_t)(xt_stress_seconds(0.5) * 1e9);

	xt_watchdog((unsigned)xt_stress_seconds(0.5) + 60);
	XT_CALL(begin(queue, SIGUSR1));
	send_on_from(senders, threads, SIGUSR1);
	for (int i = 0; xt_now() < end && !xt_failures(); i++) {
		struct xpoll *other = xpoll_create(1);
		int skipped[3] = {-1, -1, -1};
		int numbers[2];

		if (!XT_EXPECT(other != NULL))
			break;
		(void)XT_EXPECT_STATUS(xt_change(other, SIGUSR1, SIGNAL,
		                                 XPOLL_ADD, 0, 0, NULL), 0);
		xpoll_destroy(other);
		/* The write end of the next self-pipe gets one of the numbers that are free now. */
		for (int k = 0; k < i % 4; k++)
			skipped[k] = dup(STDOUT_FILENO);
		if (!XT_EXPECT_EQ(pipe(numbers), 0))
			break;
		(void)sched_yield();
		(void)XT_EXPECT_EQ(fcntl(numbers[0], F_SETFL, O_NONBLOCK), 0);
		(void)XT_EXPECT_EQ(xt_get(numbers[0]), -1);
		(void)close(numbers[0]);
		(void)close(numbers[1]);
		for (int k = 0; k < i % 4; k++)
			(void)close(skipped[k]);
	}
	stop(senders, threads);
	(void)signal(SIGUSR1, SIG_DFL);
}

/* The signal is registered and deleted while it arrives. */
XT_TEST(storm_while_it_is_added_and_deleted_always_runs_the_handler)
{
	struct xpoll *queue = xt_open();
	struct sender sender = {.target = xt_thread_number(),
	                        .number = XT_RTMIN,
	                        .count = 3000};

	XT_NEEDS_RT();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	XT_CALL(begin(queue, XT_RTMIN));
	struct xt_thread *thread = xt_start(send_all, &sender);
	while (!xt_done(thread)) {
		XT_OK(xt_flag(queue, (uint64_t)XT_RTMIN, SIGNAL, XPOLL_DELETE));
		XT_OK(xt_change(queue, (uint64_t)XT_RTMIN, SIGNAL, XPOLL_ADD, 0,
		                0, NULL));
	}
	xt_join(thread);
	XT_EXPECT_EQ(handled_of(3000), 3000);
	(void)signal(XT_RTMIN, SIG_DFL);
}
