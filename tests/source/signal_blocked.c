/*
 * Goal: a signal that is blocked when it is registered is counted once when it
 * becomes pending, whether a handler, sigwait(3) or no thread takes it later
 * (S21).
 * Method: a thread sends signals to itself, so that they are pending at once;
 * with several threads the program's own handler counts.
 */
#include "xt.h"

#include <sched.h>
#include <signal.h>

#define SIGNAL XPOLL_FILT_SIGNAL

#define GETS(queue, number, count)                             \
	do {                                                   \
		struct xpoll_event gets_;                      \
		XT_GETS((queue), &gets_, (number), SIGNAL);    \
		XT_EQ(gets_.data, (count));                    \
		XT_EQ(gets_.fflags, 0);                        \
	} while (0)

static atomic_int handled;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void block(int how, int number)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)pthread_sigmask(how, &set, NULL);
}

/*
 * Send the signal to this thread, for which it stays pending: threads of the harness may not block
 * it.
 */
static int send_blocked(int number)
{
	return pthread_kill(pthread_self(), number);
}

static int register_blocked(struct xpoll *queue, int number, unsigned notes)
{
	int rc;

	block(SIG_BLOCK, number);
	rc = xt_change(queue, (uint64_t)number, SIGNAL, XPOLL_ADD, notes, 0, NULL);
	if (rc != 0)
		block(SIG_UNBLOCK, number);
	return rc;
}

/*
 * In threads mode another thread waits, for which this thread's pending signal is not pending: end
 * the test.
 */
#define REGISTER_NOTED(queue, number, notes)                                    \
	do {                                                                    \
		XT_SINGLE_ONLY();                                               \
		int status_ = register_blocked((queue), (number), (notes));     \
		if (status_ == ENOTSUP)                                         \
			XT_SKIP("this kernel does not report blocked signals"); \
		XT_EQ(status_, 0);                                              \
	} while (0)

#define REGISTER_BLOCKED(queue, number) REGISTER_NOTED((queue), (number), 0)

/* Discard the pending signal. */
static void finish(int number)
{
	(void)signal(number, SIG_IGN);
	block(SIG_UNBLOCK, number);
	(void)signal(number, SIG_DFL);
}

XT_TEST(signal_blocked_is_counted_and_stays_pending)
{
	struct xpoll *queue = xt_open();
	sigset_t pending;

	REGISTER_BLOCKED(queue, SIGTERM);
	XT_NONE(queue);
	XT_EQ(send_blocked(SIGTERM), 0);
	GETS(queue, SIGTERM, 1);
	XT_NONE(queue);
	XT_EQ(sigpending(&pending), 0);
	XT_EXPECT_EQ(sigismember(&pending, SIGTERM), 1);
	finish(SIGTERM);
}

XT_TEST(signal_blocked_is_not_counted_again_by_its_handler)
{
	struct xpoll *queue = xt_open();

	atomic_store(&handled, 0);
	(void)signal(SIGUSR2, on_signal);
	REGISTER_BLOCKED(queue, SIGUSR2);
	XT_EQ(send_blocked(SIGUSR2), 0);
	GETS(queue, SIGUSR2, 1);
	block(SIG_UNBLOCK, SIGUSR2);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	XT_NONE(queue);
	XT_EQ(raise(SIGUSR2), 0);
	GETS(queue, SIGUSR2, 1);
	(void)signal(SIGUSR2, SIG_DFL);
}

XT_TEST(signal_blocked_is_counted_each_time_that_sigwait_takes_it)
{
	struct xpoll *queue = xt_open();
	sigset_t set;
	int taken;

	REGISTER_BLOCKED(queue, SIGUSR1);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	for (int i = 0; i < 3; i++) {
		XT_EQ(send_blocked(SIGUSR1), 0);
		GETS(queue, SIGUSR1, 1);
		XT_EQ(sigwait(&set, &taken), 0);
		/* The next signal is sent before a wait in one round, and after it in the other. */
		if (i == 1)
			XT_NONE(queue);
	}
	/* Another signal with this number runs the handler, which counts it. */
	(void)signal(SIGUSR1, on_signal);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	XT_NONE(queue);
	block(SIG_UNBLOCK, SIGUSR1);
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
	(void)signal(SIGUSR1, SIG_DFL);
}

XT_TEST(signal_blocked_before_it_is_registered_is_reported)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	block(SIG_BLOCK, SIGUSR1);
	XT_EQ(send_blocked(SIGUSR1), 0);
	REGISTER_BLOCKED(queue, SIGUSR1);
	GETS(queue, SIGUSR1, 1);
	block(SIG_UNBLOCK, SIGUSR1);
	(void)signal(SIGUSR1, SIG_DFL);
}

XT_TEST(signal_blocked_is_counted_once_in_each_of_two_queues)
{
	struct xpoll *first = xt_open();
	struct xpoll *second = xt_open();

	REGISTER_BLOCKED(first, SIGUSR1);
	XT_OK(xt_change(second, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	XT_EQ(send_blocked(SIGUSR1), 0);
	GETS(first, SIGUSR1, 1);
	GETS(second, SIGUSR1, 1);
	XT_NONE(first);
	XT_NONE(second);
	finish(SIGUSR1);
}

/*
 * A handler will run for the pending signal.  Both are the same delivery, which is counted once
 * even if other signals arrive.
 */
XT_TEST(signal_blocked_is_counted_once_while_others_arrive)
{
	struct xpoll *queue = xt_open();

	atomic_store(&handled, 0);
	(void)signal(SIGUSR2, on_signal);
	(void)signal(SIGWINCH, on_signal);
	REGISTER_BLOCKED(queue, SIGUSR2);
	XT_EQ(send_blocked(SIGUSR2), 0);
	GETS(queue, SIGUSR2, 1);
	for (int i = 0; i < 3; i++) {
		XT_EQ(send_blocked(SIGWINCH), 0);
		XT_NONE(queue);
	}
	block(SIG_UNBLOCK, SIGUSR2);
	XT_EXPECT_EQ(atomic_load(&handled), 4);
	XT_NONE(queue);
	(void)signal(SIGUSR2, SIG_DFL);
	(void)signal(SIGWINCH, SIG_DFL);
}

/* The handler runs before the event is returned, as without the registration. */
XT_TEST(signal_blocked_that_the_wait_lets_in_is_handled_first)
{
	struct xpoll *queue = xt_open();
	struct xt_sleeper waiter = {.queue = queue, .timeout_ns = -1};
	sigset_t before;

	XT_EQ(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
	atomic_store(&handled, 0);
	(void)signal(SIGUSR2, on_signal);
	REGISTER_BLOCKED(queue, SIGUSR2);
	waiter.mask = &before;
	for (int i = 1; i <= 3; i++) {
		XT_EQ(send_blocked(SIGUSR2), 0);
		xt_sleep(&waiter);
		XT_EQ(waiter.rc, 1);
		XT_EXPECT_EQ(waiter.event.data, 1);
		XT_EXPECT_EQ(atomic_load(&handled), i);
		XT_NONE(queue);
	}
	block(SIG_UNBLOCK, SIGUSR2);
	(void)signal(SIGUSR2, SIG_DFL);
}

/*
 * Deliver all events of the signal.  Returns the sum of their counts; -1: there was another event.
 */
static long take_all(struct xpoll *queue, int number)
{
	struct xpoll_event event;
	long total = 0;
	int rc;

	while ((rc = xpoll_event(queue, NULL, 0, &event, 1, 0)) != 0) {
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0 || event.ident != (uint64_t)number || event.data < 1)
			return -1;
		total += event.data;
	}
	return total;
}

static void poll_like(void *argument)
{
	struct xt_sleeper *sleeper = argument;

	block(SIG_UNBLOCK, SIGUSR2);
	sleeper->rc = xpoll_wait(sleeper->queue, -1);
	sleeper->error = errno;
}

/*
 * The library also watches the pending signal by a descriptor; the handler must still end the wait
 * with EINTR.
 */
XT_TEST(signal_blocked_before_and_unblocked_interrupts_a_wait)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_sleeper waiter = {.queue = queue};

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR2, on_signal);
	REGISTER_BLOCKED(queue, SIGUSR2);
	for (int i = 0; i < 20; i++) {
		struct xt_thread *thread = xt_start(poll_like, &waiter);

		/* The first signal may arrive before the wait has begun: send it again. */
		while (!xt_done(thread)) {
			xt_asleep(thread);
			(void)pthread_kill(xt_pthread(thread), SIGUSR2);
		}
		xt_join(thread);
		xt_threads_reuse();
		XT_EQ(waiter.rc, -1);
		XT_EXPECT_STATUS(waiter.error, EINTR);
		XT_EXPECT(take_all(queue, SIGUSR2) > 0);
	}
	block(SIG_UNBLOCK, SIGUSR2);
	(void)signal(SIGUSR2, SIG_DFL);
}

/*
 * The signal was not blocked at the first ADD.  Another ADD, by a thread that blocks it, makes the
 * library report pending ones.
 */
XT_TEST(signal_blocked_later_is_reported_after_another_add)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	REGISTER_BLOCKED(queue, SIGUSR1);
	XT_EQ(send_blocked(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
	finish(SIGUSR1);
}

/* --- XPOLL_NOTE_ACCEPT ------------------------------------------------------- */

/*
 * No other thread takes the signal, so without NOTE_ACCEPT a second one could not become pending.
 */
XT_TEST(note_accept_takes_a_blocked_signal_each_time)
{
	static const int numbers[] = {SIGCHLD, SIGTERM, SIGUSR2};
	struct xpoll *queue = xt_open();
	sigset_t pending;

	atomic_store(&handled, 0);
	(void)signal(SIGUSR2, on_signal);
	for (int k = 0; k < 3; k++) {
		REGISTER_NOTED(queue, numbers[k], XPOLL_NOTE_ACCEPT);
		for (int i = 0; i < 3; i++) {
			XT_EQ(send_blocked(numbers[k]), 0);
			GETS(queue, numbers[k], 1);
			XT_EQ(sigpending(&pending), 0);
			XT_EXPECT_EQ(sigismember(&pending, numbers[k]), 0);
		}
		XT_NONE(queue);
		block(SIG_UNBLOCK, numbers[k]);
	}
	XT_EXPECT_EQ(atomic_load(&handled), 0);
	(void)signal(SIGUSR2, SIG_DFL);
}

XT_TEST(note_accept_counts_each_real_time_signal)
{
	struct xpoll *queue = xt_open();
	int number = XT_RTMIN + 2;

	XT_NEEDS_RT();
	REGISTER_NOTED(queue, number, XPOLL_NOTE_ACCEPT);
	for (int i = 0; i < 20; i++)
		XT_EQ(send_blocked(number), 0);
	GETS(queue, number, 20);
	XT_NONE(queue);
	block(SIG_UNBLOCK, number);
}

XT_TEST(note_accept_counts_for_a_queue_without_it)
{
	struct xpoll *first = xt_open();
	struct xpoll *second = xt_open();

	REGISTER_NOTED(first, SIGUSR1, XPOLL_NOTE_ACCEPT);
	XT_OK(xt_change(second, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	for (int i = 0; i < 3; i++) {
		XT_EQ(send_blocked(SIGUSR1), 0);
		if (i == 1)
			GETS(second, SIGUSR1, 1);
		GETS(first, SIGUSR1, 1);
		if (i != 1)
			GETS(second, SIGUSR1, 1);
	}
	XT_NONE(first);
	XT_NONE(second);
	block(SIG_UNBLOCK, SIGUSR1);
}

/* --- Several threads --------------------------------------------------------- */

struct handler_thread {
	int number;
	bool toggles; /* this thread blocks and unblocks the signal */
	atomic_bool stop;
};

/* Handle the signal in this thread. */
static void handle_on(void *argument)
{
	struct handler_thread *self = argument;

	while (!atomic_load(&self->stop)) {
		block(SIG_UNBLOCK, self->number);
		(void)sched_yield();
		if (self->toggles)
			block(SIG_BLOCK, self->number);
		(void)sched_yield();
	}
	block(SIG_UNBLOCK, self->number);
}

/* Wait with and without a sleep, while some thread handles each signal. */
static long count_while_sent(struct xpoll *queue, int number, int rounds)
{
	long total = 0;

	for (int i = 0; i < rounds; i++) {
		struct xpoll_event event;
		int rc;

		(void)kill(getpid(), number);
		/* Another signal makes the library check its descriptors at any time. */
		if (i % 3 == 0)
			(void)pthread_kill(pthread_self(), SIGWINCH);
		rc = xpoll_event(queue, NULL, 0, &event, 1, i % 2 ? 0 : 20000);
		if (rc == 1)
			total += event.data;
	}
	return total;
}

static void count_beside(struct handler_thread *threads, int count, unsigned notes)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_thread *started[3];
	int number = threads->number;
	long total, rest;

	atomic_store(&handled, 0);
	(void)signal(number, on_signal);
	REGISTER_NOTED(queue, number, notes);
	for (int i = 0; i < count; i++)
		started[i] = xt_start(handle_on, &threads[i]);
	total = count_while_sent(queue, number, XT_SANITIZED ? 500 : 3000);
	for (int i = 0; i < count; i++) {
		atomic_store(&threads[i].stop, true);
		xt_join(started[i]);
	}
	/* Unblocking the signal lets this thread handle a pending one at once. */
	block(SIG_UNBLOCK, number);
	rest = take_all(queue, number);
	XT_CHECK(rest >= 0);
	if (notes == 0)
		XT_EXPECT_EQ(total + rest, atomic_load(&handled));
	else
		XT_EXPECT(total + rest >= atomic_load(&handled));
	XT_EXPECT(total > 0);
	(void)signal(number, SIG_DFL);
}

XT_TEST(signal_blocked_by_one_thread_is_counted_as_handled_by_another)
{
	struct handler_thread threads[2] = {{.number = SIGUSR1}, {.number = SIGUSR1}};

	XT_SINGLE_ONLY();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	count_beside(threads, 2, 0);
}

XT_TEST(signal_blocked_now_and_then_is_counted_as_handled)
{
	struct handler_thread threads[2] = {
		{.number = SIGUSR1, .toggles = true},
		{.number = SIGUSR1, .toggles = true},
	};

	XT_SINGLE_ONLY();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	count_beside(threads, 2, 0);
}

/* A thread that does not block the signal handles each one: none is accepted. */
XT_TEST(note_accept_takes_nothing_from_another_thread)
{
	struct handler_thread threads[1] = {{.number = SIGUSR1}};

	XT_SINGLE_ONLY();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	count_beside(threads, 1, XPOLL_NOTE_ACCEPT);
}
