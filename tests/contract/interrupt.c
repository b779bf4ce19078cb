/*
 * Goal: a signal with a handler makes a wait return -1/EINTR, like poll(2), and loses no event;
 * xpoll_event_mask sets the signal mask like ppoll (S15).
 * Method: a thread sends the signal repeatedly until the wait has returned, so that it does not
 * matter when the wait begins.
 */
#include "xt.h"

#include <sys/wait.h>
#include <time.h>

static atomic_int handled;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_flags = flags};

	action.sa_handler = on_signal;
	(void)sigemptyset(&action.sa_mask);
	XT_EQ(sigaction(number, &action, NULL), 0);
	atomic_store(&handled, 0);
}

/*
 * Ignore the signal before its handler is removed, so that a pending one does not end the process
 * (qemu may not deliver a signal that the mask of ppoll(2) blocked until something else happens).
 */
static void unhandle(int number)
{
	(void)signal(number, SIG_IGN);
	(void)signal(number, SIG_DFL);
}

/* Sends signals to one thread repeatedly. */
struct interrupter {
	pthread_t target;
	int number;
	atomic_int stop;
	struct xt_thread *thread;
};

static void interrupt(void *argument)
{
	struct interrupter *self = argument;
	struct timespec pause = {.tv_nsec = 100 * 1000};

	while (!atomic_load(&self->stop)) {
		(void)pthread_kill(self->target, self->number);
		(void)nanosleep(&pause, NULL);
	}
}

static void interrupter_start(struct interrupter *self, int number)
{
	self->target = pthread_self();
	self->number = number;
	atomic_init(&self->stop, 0);
	self->thread = xt_start(interrupt, self);
}

static void interrupter_stop(struct interrupter *self)
{
	atomic_store(&self->stop, 1);
	xt_join(self->thread);
}

static void wait_is_interrupted(int flags)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event change = xt_record((uint64_t)pipe.r, READ, XPOLL_ADD);
	struct xpoll_event event;
	struct interrupter interrupter;

	handle(SIGUSR1, flags);
	interrupter_start(&interrupter, SIGUSR1);
	errno = 0;
	int rc = xpoll_event(queue, &change, 1, &event, 1, -1);
	int error = errno;
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
	XT_EQ(rc, -1);
	XT_EXPECT_STATUS(error, EINTR);
	XT_CHECK(atomic_load(&handled) > 0);
	/* The changes of the interrupted call have been made. */
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
}

XT_TEST(signal_with_handler_ends_a_wait_with_eintr)
{
	XT_CALL(wait_is_interrupted(0));
}

XT_TEST(signal_with_restarting_handler_ends_a_wait_with_eintr)
{
	XT_CALL(wait_is_interrupted(SA_RESTART));
}

/* Test a wait that ends at its deadline, and one that an event ends. */
XT_TEST(signal_with_handler_ends_no_wait_of_a_queue_that_restarts)
{
	struct xpoll *queue = xt_open_flags(XPOLL_RESTART);
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event change = xt_record((uint64_t)pipe.r, READ, XPOLL_ADD);
	struct xpoll_event event;
	struct interrupter interrupter;

	handle(SIGUSR1, 0);
	XT_OK(xpoll_event(queue, &change, 1, NULL, 0, 0));
	interrupter_start(&interrupter, SIGUSR1);
	while (atomic_load(&handled) < 5)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2000000), 0);
	atomic_store(&handled, 0);
	while (atomic_load(&handled) < 5)
		XT_EQ(xpoll_wait(queue, 2), 0);
	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
}

static void wait_beside(void *queue)
{
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
}

/* On poll and select the second thread waits for its turn. */
XT_TEST(signal_with_handler_ends_no_wait_beside_another_if_the_queue_restarts)
{
	struct xpoll *queue = xt_open_flags(XPOLL_RESTART);
	struct xt_thread *thread;
	struct xpoll_event event;
	struct interrupter interrupter;

	handle(SIGUSR1, 0);
	thread = xt_start(wait_beside, queue);
	xt_asleep(thread);
	interrupter_start(&interrupter, SIGUSR1);
	while (atomic_load(&handled) == 0)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 2000000), 0);
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
	XT_OK(xpoll_wake(queue));
	xt_join(thread);
}

XT_TEST(signal_with_handler_ends_the_poll_like_wait_with_eintr)
{
	struct xpoll *queue = xt_open();
	struct interrupter interrupter;

	handle(SIGUSR1, 0);
	interrupter_start(&interrupter, SIGUSR1);
	errno = 0;
	int rc = xpoll_wait(queue, -1);
	int error = errno;
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
	XT_EQ(rc, -1);
	XT_EXPECT_STATUS(error, EINTR);
	XT_EQ(xpoll_wait(queue, 0), 0);
}

/* Whether the library has checked a filter itself before the sleep makes no difference. */
XT_TEST(signal_during_a_wait_on_toggled_ones_is_eintr)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	struct interrupter interrupter;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
	handle(SIGUSR1, 0);
	interrupter_start(&interrupter, SIGUSR1);
	errno = 0;
	int rc = xpoll_event(queue, NULL, 0, &event, 1, -1);
	int error = errno;
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
	XT_EQ(rc, -1);
	XT_EXPECT_STATUS(error, EINTR);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
}

/* A process that was stopped, by a signal or a debugger, continues to wait (S15). */

static bool waits_once(bool poll_like)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	/*
	 * Remove the handlers of a sanitizer, of the runner and of the program, so that no handler
	 * can interrupt.
	 */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	if (xt_add(queue, pipe.r, READ, 0) != 0)
		return false;
	/* Nothing becomes ready while the child is stopped; the deadline ends the wait. */
	return (poll_like ? xpoll_wait(queue, 300)
	                  : xpoll_event(queue, NULL, 0, &event, 1, 300000000)) == 0;
}

static void stop_ends_no_wait(bool poll_like)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(waits_once(poll_like) ? 0 : 1);
	XT_CHECK(child > 0);
	/* Some of the stops come while the child sleeps; earlier and later ones do no harm. */
	for (int i = 0; i < 20; i++) {
		struct timespec pace = {.tv_nsec = 5 * 1000 * 1000};

		(void)nanosleep(&pace, NULL);
		(void)kill(child, SIGSTOP);
		if (!XT_EXPECT_EQ(waitpid(child, &status, WUNTRACED), child) || !WIFSTOPPED(status))
			break;
		(void)kill(child, SIGCONT);
	}
	if (WIFSTOPPED(status))
		XT_EQ(waitpid(child, &status, 0), child);
	XT_CHECK(WIFEXITED(status));
	XT_EQ(WEXITSTATUS(status), 0);
}

XT_TEST(stop_without_a_handler_ends_no_wait)
{
	XT_CALL(stop_ends_no_wait(false));
}

XT_TEST(stop_without_a_handler_ends_no_poll_like_wait)
{
	XT_CALL(stop_ends_no_wait(true));
}

/* The only thread of its process waits until a signal ends that. */
static bool waits_for_a_signal(bool beside_a_timer)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event, timer = {
		.ident = 1,
		.filter = XPOLL_FILT_TIMER,
		.flags = XPOLL_ADD,
		.data = 5000,
	};

	/* The report of the disabled filter makes the wait sleep twice. */
	xt_put(pipe.w);
	if (xt_add(queue, pipe.r, READ, XPOLL_DISABLE) != 0 ||
	    (beside_a_timer && xpoll_event(queue, &timer, 1, NULL, 0, 0) != 0))
		return false;
	return xpoll_event(queue, NULL, 0, &event, 1, -1) == -1 && errno == EINTR;
}

static void signal_ends_a_lone_wait(bool beside_a_timer)
{
	pid_t child, ended = 0;
	int status = 0;

	handle(SIGUSR1, 0);
	child = fork();
	if (child == 0) {
		xt_become_alone();
		_exit(waits_for_a_signal(beside_a_timer) ? 0 : 1);
	}
	XT_CHECK(child > 0);
	for (int i = 0; ended == 0 && i < 3000; i++) {
		struct timespec pace = {.tv_nsec = 1000 * 1000};

		(void)nanosleep(&pace, NULL);
		(void)kill(child, SIGUSR1);
		ended = waitpid(child, &status, WNOHANG);
	}
	if (ended == 0) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, &status, 0);
	}
	XT_CHECK(WIFEXITED(status));
	XT_EQ(WEXITSTATUS(status), 0);
	unhandle(SIGUSR1);
}

XT_TEST(signal_ends_a_wait_of_the_only_thread_that_sleeps_twice)
{
	XT_CALL(signal_ends_a_lone_wait(false));
}

XT_TEST(signal_ends_a_wait_of_the_only_thread_beside_a_timer)
{
	XT_CALL(signal_ends_a_lone_wait(true));
}

/* A signal that is ignored or blocked does not end a wait. */
XT_TEST(signal_ignored_does_not_end_a_wait)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct interrupter interrupter;
	int64_t start = xt_now();

	(void)signal(SIGUSR2, SIG_IGN);
	interrupter_start(&interrupter, SIGUSR2);
	int rc = xpoll_event(queue, NULL, 0, &event, 1, 20000000);
	interrupter_stop(&interrupter);
	unhandle(SIGUSR2);
	XT_EQ(rc, 0);
	XT_CHECK(xt_now() - start >= 20000000);
}

/* No event that the kernel has reported is lost when the wait ends with EINTR. */
struct sender {
	struct xt_pair pipe;
	int count;
};

static void send_one_by_one(void *argument)
{
	struct sender *sender = argument;
	struct timespec pause = {.tv_nsec = 50 * 1000};

	for (int i = 0; i < sender->count; i++) {
		xt_put(sender->pipe.w);
		if (i % 4 == 0)
			(void)nanosleep(&pause, NULL);
	}
}

static void survives_signals(int mode)
{
	struct xpoll *queue = xt_open();
	struct sender sender = {.pipe = xt_pipe(), .count = 1000};
	struct interrupter interrupter;
	struct xpoll_event event;
	int total = 0;

	XT_OK(xt_add(queue, sender.pipe.r, READ, mode));
	handle(SIGUSR1, 0);
	interrupter_start(&interrupter, SIGUSR1);
	struct xt_thread *thread = xt_start(send_one_by_one, &sender);
	while (total < sender.count) {
		int rc = xpoll_event(queue, NULL, 0, &event, 1, -1);

		if (rc < 0 && errno == EINTR)
			continue;
		if (!XT_EXPECT_EQ(rc, 1))
			break;
		total += xt_drain(sender.pipe.r);
		if (mode & XPOLL_DISPATCH)
			(void)XT_EXPECT_STATUS(xt_flag(queue, event.ident, READ, XPOLL_ENABLE), 0);
		if (mode & XPOLL_ONESHOT)
			(void)XT_EXPECT_STATUS(xt_add(queue, sender.pipe.r, READ, mode), 0);
	}
	interrupter_stop(&interrupter);
	unhandle(SIGUSR1);
	xt_join(thread);
}

XT_TEST(signal_storm_loses_no_edge)
{
	XT_CALL(survives_signals(XPOLL_CLEAR));
}

XT_TEST(signal_storm_loses_no_oneshot)
{
	XT_CALL(survives_signals(XPOLL_ONESHOT));
}

XT_TEST(signal_storm_loses_no_dispatch)
{
	XT_CALL(survives_signals(XPOLL_DISPATCH));
}

/* The mask is in force from the beginning of the wait. */
XT_TEST(mask_pending_signal_unblocked_by_it_is_eintr)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	sigset_t block, open_mask, after;

	handle(SIGUSR1, 0);
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &block, &open_mask), 0);
	(void)sigdelset(&open_mask, SIGUSR1);
	(void)pthread_kill(pthread_self(), SIGUSR1);
	XT_EXPECT_EQ(atomic_load(&handled), 0);
	errno = 0;
	int rc = xpoll_event_mask(queue, NULL, 0, &event, 1, -1, &open_mask);
	int error = errno;
	XT_EQ(pthread_sigmask(SIG_UNBLOCK, &block, &after), 0);
	unhandle(SIGUSR1);
	XT_EQ(rc, -1);
	XT_EXPECT_STATUS(error, EINTR);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	/* The wait has restored the mask. */
	XT_EXPECT_EQ(sigismember(&after, SIGUSR1), 1);
}

/* Wait while a signal is pending that the mask does not block, and no event is ready. */
static int wait_with_pending(int64_t timeout_ns, int *error)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	sigset_t block, open_mask;
	int rc;

	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &block, &open_mask);
	(void)sigdelset(&open_mask, SIGUSR1);
	(void)pthread_kill(pthread_self(), SIGUSR1);
	errno = 0;
	rc = xpoll_event_mask(queue, NULL, 0, &event, 1, timeout_ns, &open_mask);
	*error = errno;
	(void)pthread_sigmask(SIG_UNBLOCK, &block, NULL);
	unhandle(SIGUSR1);
	return rc;
}

/* poll(2), too, checks for signals when its timeout is 0. */
XT_TEST(mask_pending_signal_without_time_is_eintr)
{
	int error;

	handle(SIGUSR1, 0);
	XT_EQ(wait_with_pending(0, &error), -1);
	XT_EXPECT_STATUS(error, EINTR);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
}

XT_TEST(mask_pending_signal_that_is_ignored_is_not_eintr)
{
	int error;

	(void)signal(SIGUSR1, SIG_IGN);
	XT_EXPECT_EQ(wait_with_pending(1000000, &error), 0);
}

/* The mask blocks the signal, which is handled after the wait. */
XT_TEST(mask_that_blocks_lets_the_event_come_first)
{
	struct xpoll *queue = xt_open();
	struct sender sender = {.pipe = xt_pipe(), .count = 1};
	struct xpoll_event event;
	sigset_t block;

	handle(SIGUSR1, 0);
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	XT_OK(xt_add(queue, sender.pipe.r, READ, 0));
	struct interrupter interrupter;
	interrupter_start(&interrupter, SIGUSR1);
	struct xt_thread *thread = xt_start(send_one_by_one, &sender);
	int rc = xpoll_event_mask(queue, NULL, 0, &event, 1, -1, &block);
	interrupter_stop(&interrupter);
	xt_join(thread);
	unhandle(SIGUSR1);
	XT_EQ(rc, 1);
	XT_EXPECT_EQ(event.ident, sender.pipe.r);
}

XT_TEST(mask_null_is_a_plain_wait)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event change = xt_record((uint64_t)pipe.r, READ, XPOLL_ADD);
	struct xpoll_event event;
	sigset_t empty;

	xt_put(pipe.w);
	XT_EQ(xpoll_event_mask(queue, &change, 1, &event, 1, -1, NULL), 1);
	(void)sigemptyset(&empty);
	XT_EQ(xpoll_event_mask(queue, NULL, 0, &event, 1, -1, &empty), 1);
	XT_EXPECT_EQ(event.ident, pipe.r);
	XT_EQ(xpoll_event_mask(queue, NULL, 0, NULL, 0, -1, &empty), 0);
	XT_FAILS(xpoll_event_mask(queue, NULL, -1, NULL, 0, 0, &empty), EINVAL);
	XT_EQ(xt_get(pipe.r), 'x');
	int64_t start = xt_now();
	XT_EQ(xpoll_event_mask(queue, NULL, 0, &event, 1, 2000000, &empty), 0);
	XT_CHECK(xt_now() - start >= 2000000);
}
