/*
 * Goal: SIGNAL counts the signals that are delivered to the process, and
 * consumes none (S21); if an observed signal ends a wait, the wait returns its
 * event (S15).
 * Method: the test sends signals itself, so it knows their number; waitpid(2)
 * shows how children end.
 */
#include "xt.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define SIGNAL XPOLL_FILT_SIGNAL

static int observe(struct xpoll *queue, int number, int flags)
{
	return xt_change(queue, (uint64_t)number, SIGNAL, XPOLL_ADD | flags, 0,
	                 0, NULL);
}

/* Expect one event of this signal with this number of deliveries. */
#define GETS(queue, number, count)                             \
	do {                                                   \
		struct xpoll_event gets_;                      \
		XT_GETS((queue), &gets_, (number), SIGNAL);    \
		XT_EQ(gets_.data, (count));                    \
		XT_EQ(gets_.fflags, 0);                        \
		XT_EQ(gets_.flags, 0);                         \
	} while (0)

XT_TEST(signal_ignored_is_counted_and_still_ignored)
{
	struct xpoll *queue = xt_open();
	int value = 0;

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, &value));
	XT_NONE(queue);
	for (int i = 0; i < 3; i++)
		XT_EQ(raise(SIGUSR1), 0);
	struct xpoll_event event;
	XT_GETS(queue, &event, SIGUSR1, SIGNAL);
	XT_EXPECT_EQ(event.data, 3);
	XT_EXPECT(event.udata == &value);
	XT_NONE(queue);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
	XT_NONE(queue);
}

static atomic_int handled;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

XT_TEST(signal_with_a_handler_is_counted_and_handled)
{
	struct xpoll *queue = xt_open();

	atomic_store(&handled, 0);
	(void)signal(SIGUSR2, on_signal);
	XT_OK(observe(queue, SIGUSR2, 0));
	XT_EQ(raise(SIGUSR2), 0);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	XT_EQ(raise(SIGUSR2), 0);
	XT_EXPECT_EQ(atomic_load(&handled), 2);
	GETS(queue, SIGUSR2, 2);
	XT_OK(xt_flag(queue, SIGUSR2, SIGNAL, XPOLL_DELETE));
	XT_EQ(raise(SIGUSR2), 0);
	XT_EXPECT_EQ(atomic_load(&handled), 3);
	XT_NONE(queue);
	(void)signal(SIGUSR2, SIG_DFL);
}

/* The default action of these signals does nothing, or nothing to the process. */
XT_TEST(signal_harmless_by_default_is_counted)
{
	static const int numbers[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < (XT_CONT_COMES_ONCE ? 4 : 3); i++) {
		XT_OK(observe(queue, numbers[i], 0));
		XT_EQ(raise(numbers[i]), 0);
		GETS(queue, numbers[i], 1);
	}
}

static void dies_by(void *argument)
{
	int number = *(int *)argument;
	struct xpoll *queue = xt_open_quiet();

	(void)observe(queue, number, 0);
	(void)raise(number);
}

/* A registered signal still has its default action, which ends the process. */
XT_TEST(signal_that_ends_the_process_still_does)
{
	static const int numbers[] = {SIGTERM, SIGUSR1, SIGHUP, SIGABRT};

	XT_SINGLE_ONLY();
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int number = numbers[i];
		int status = 0;
		struct rlimit none = {0};

		(void)fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			(void)setrlimit(RLIMIT_CORE, &none);
			(void)signal(number, SIG_DFL);
			dies_by(&number);
			_exit(0);
		}
		XT_EQ(waitpid(child, &status, 0), child);
		XT_CHECK(WIFSIGNALED(status));
		XT_EXPECT_EQ(WTERMSIG(status), number);
	}
}

XT_TEST(signal_that_stops_the_process_still_does)
{
	int status = 0;
	int number = SIGTSTP;

	XT_SINGLE_ONLY();
	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		/* A new process group is not orphaned, so the stop signal has its effect. */
		(void)setpgid(0, 0);
		dies_by(&number);
		_exit(0);
	}
	XT_EQ(waitpid(child, &status, WUNTRACED), child);
	XT_EXPECT(WIFSTOPPED(status));
	XT_EXPECT_EQ(WSTOPSIG(status), SIGTSTP);
	XT_EQ(kill(child, SIGKILL), 0);
	XT_EQ(waitpid(child, &status, 0), child);
}

XT_TEST(hazard_14_number_of_no_signal_is_einval)
{
	static const uint64_t wrong[] = {0,       SIGKILL,    SIGSTOP,
	                                 XT_NO_SIGNAL, 1000, INT32_MAX,
	                                 1 + (UINT64_C(1) << 32), UINT64_MAX};
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		XT_STATUS(xt_change(queue, wrong[i], SIGNAL, XPOLL_ADD, 0, 0,
		                    NULL), EINVAL);
		XT_STATUS(xt_flag(queue, wrong[i], SIGNAL, XPOLL_DELETE),
		          ENOENT);
	}
#ifdef __linux__ /* a signal that the C library uses internally */
	XT_STATUS(observe(queue, 32, 0), EINVAL);
#endif
	XT_STATUS(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 2, 0, NULL),
	          EINVAL);
	XT_STATUS(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_ENABLE), ENOENT);
	XT_EXPECT_EQ(xpoll_supports(queue, SIGNAL, 0), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, SIGNAL, 2), 0);
}

/* Real-time signals queue up, and each is delivered. */
XT_TEST(signal_real_time_is_counted_each_time)
{
	struct xpoll *queue = xt_open();
	int number = XT_RTMIN + 1;
	sigset_t set;

	XT_NEEDS_RT();
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	XT_SIGNALS_A_THREAD();
	(void)signal(number, SIG_IGN);
	XT_OK(observe(queue, number, 0));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)sigaddset(&set, SIGWINCH);
	XT_OK(observe(queue, SIGWINCH, 0));
	XT_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < 50; i++) {
		XT_EQ(xt_queue_signal(xt_thread_number(), number, 0), 0);
		XT_EQ(raise(SIGWINCH), 0);
	}
	XT_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	struct xpoll_event events[4];
	int count = xt_take(queue, events, 4, XT_SOON);
	count += count == 1 ? xt_take(queue, events + 1, 3, XT_SOON) : 0;
	XT_EQ(count, 2);
	int real_time = xt_find(events, 2, (uint64_t)number, SIGNAL);
	int standard = xt_find(events, 2, SIGWINCH, SIGNAL);
	XT_CHECK(real_time >= 0 && standard >= 0);
	XT_EXPECT_EQ(events[real_time].data, 50);
	XT_EXPECT_EQ(events[standard].data, XT_STANDARD_OF(50));
	(void)signal(number, SIG_DFL);
}

XT_TEST(several_queues_each_get_it)
{
	struct xpoll *queues[3] = {xt_open(), xt_open_quiet(),
	                           xt_open_quiet()};

	(void)signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 3; i++)
		XT_OK(observe(queues[i], SIGUSR1, 0));
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queues[0], SIGUSR1, 1);
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queues[0], SIGUSR1, 1);
	GETS(queues[1], SIGUSR1, 2);
	/* A queue that is destroyed does not affect the counts of the others. */
	xt_destroy(queues[1]);
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queues[0], SIGUSR1, 1);
	GETS(queues[2], SIGUSR1, 3);
}

XT_TEST(oneshot_is_counted_once_and_gone)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, XPOLL_ONESHOT));
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
	XT_EQ(raise(SIGUSR1), 0);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_ENABLE), ENOENT);
}

XT_TEST(dispatch_counts_on_and_reports_when_enabled)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, XPOLL_DISPATCH));
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(raise(SIGUSR1), 0);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_ENABLE));
	GETS(queue, SIGUSR1, 2);
}

/* S3: a disabled SIGNAL counts, and delivers the count after ENABLE. */
XT_TEST(disabled_counts_on_and_reports_when_enabled)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, XPOLL_DISABLE));
	XT_EQ(raise(SIGUSR1), 0);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_ENABLE));
	GETS(queue, SIGUSR1, 1);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DISABLE));
	XT_EQ(raise(SIGUSR1), 0);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_ENABLE));
	GETS(queue, SIGUSR1, 1);
}

/* S1: another ADD modifies the registration and keeps its count. */
XT_TEST(add_again_keeps_the_count_and_changes_udata)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int first;
	int second;

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, &first));
	XT_EQ(raise(SIGUSR1), 0);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD | XPOLL_KEEPUDATA, 0,
	                0, &second));
	XT_EQ(raise(SIGUSR1), 0);
	XT_GETS(queue, &event, SIGUSR1, SIGNAL);
	XT_EXPECT_EQ(event.data, 2);
	XT_EXPECT(event.udata == &first);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, &second));
	XT_EQ(raise(SIGUSR1), 0);
	XT_GETS(queue, &event, SIGUSR1, SIGNAL);
	XT_EXPECT(event.udata == &second);
	XT_EQ(xpoll_lookup(queue, SIGUSR1, SIGNAL, &event), 0);
	XT_EXPECT_EQ(event.flags, XPOLL_CLEAR);
	XT_EXPECT(event.udata == &second);
}

/* Deliveries before the ADD are not counted. */
XT_TEST(add_counts_from_then_on)
{
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, 0));
	XT_EQ(raise(SIGUSR1), 0);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_NONE(queue);
	XT_OK(observe(queue, SIGUSR1, 0));
	XT_NONE(queue);
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
}

/* S11: with room for one event, each of many signals is delivered. */
XT_TEST(many_signals_with_room_for_one_all_come)
{
	struct xpoll *queue = xt_open();
	int seen[XT_NO_SIGNAL] = {0};

	XT_NEEDS_RT();
	for (int i = 0; i < 20; i++) {
		(void)signal(XT_RTMIN + i, SIG_IGN);
		XT_OK(observe(queue, XT_RTMIN + i, 0));
		XT_EQ(raise(XT_RTMIN + i), 0);
	}
	for (int i = 0; i < 20; i++) {
		struct xpoll_event event;
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EQ(event.filter, SIGNAL);
		XT_EQ(event.data, 1);
		XT_CHECK(event.ident < XT_NO_SIGNAL);
		XT_EQ(seen[event.ident]++, 0);
	}
	XT_NONE(queue);
	for (int i = 0; i < 20; i++)
		(void)signal(XT_RTMIN + i, SIG_DFL);
}

/* S15, hazard 14: the wait returns the event, not EINTR. */
XT_TEST(hazard_14_wait_interrupted_by_an_observed_signal_returns_its_event)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_sleeper waiter = {.queue = queue, .timeout_ns = -1};

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGUSR2, on_signal);
	XT_OK(observe(queue, SIGUSR1, 0));
	XT_OK(observe(queue, SIGUSR2, 0));
	for (int i = 0; i < 40; i++) {
		int number = i % 2 ? SIGUSR1 : SIGUSR2;
		struct xt_thread *thread = xt_start(xt_sleep, &waiter);

		/* ThreadSanitizer loses a signal for a thread that has just started. */
		if (i % 4 < 2 || XT_TSAN)
			xt_asleep(thread);
		XT_EQ(pthread_kill(xt_pthread(thread), number), 0);
		xt_join(thread);
		xt_threads_reuse();
		XT_EQ(waiter.rc, 1);
		XT_EXPECT_EQ(waiter.event.ident, (uint64_t)number);
		XT_EXPECT_EQ(waiter.event.data, 1);
	}
	(void)signal(SIGUSR2, SIG_DFL);
}

/* The signal is pending, and is delivered as soon as the wait's mask allows it. */
XT_TEST(wait_with_a_mask_that_lets_it_in_returns_its_event)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_sleeper waiter = {.queue = queue, .timeout_ns = -1};
	sigset_t block;
	sigset_t before;

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, 0));
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &block, &before), 0);
	XT_EQ(raise(SIGUSR1), 0);
	waiter.mask = &before;
	xt_sleep(&waiter);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	XT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.event.data, 1);
}

/* A signal that is not observed makes the wait fail with EINTR. */
XT_TEST(wait_interrupted_by_another_signal_is_eintr)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_sleeper waiter = {.queue = queue, .timeout_ns = -1, .rc = 1};

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGUSR2, on_signal);
	XT_OK(observe(queue, SIGUSR1, 0));
	struct xt_thread *thread = xt_start(xt_sleep, &waiter);
	while (!xt_done(thread)) {
		struct timespec pause = {.tv_nsec = 100000};

		(void)pthread_kill(xt_pthread(thread), SIGUSR2);
		(void)nanosleep(&pause, NULL);
	}
	xt_join(thread);
	XT_EQ(waiter.rc, -1);
	XT_EXPECT_STATUS(waiter.error, EINTR);
	(void)signal(SIGUSR2, SIG_DFL);
}

/* The poll-like level delivers descriptors only. */
XT_TEST(poll_like_level_leaves_it_for_the_event_level)
{
	struct xpoll *queue = xt_open_quiet();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, 0));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_EQ(xpoll_wait(queue, 1), 0);
	GETS(queue, SIGUSR1, 1);
}

XT_TEST(queue_descriptor_is_readable_while_one_is_pending)
{
	struct xpoll *queue = xt_open_quiet();

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1, 0));
	int fd = xpoll_fd(queue);
	if (fd < 0)
		XT_SKIP("no kernel queue in this back end");
	xt_settle(queue);
	XT_EQ(xt_poll(fd, POLLIN), 0);
	XT_EQ(raise(SIGUSR1), 0);
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(xpoll_wait(queue, 0), 0);
	XT_CHECK(xt_now_readable(queue));
	GETS(queue, SIGUSR1, 1);
	XT_NONE(queue); /* a kqueue(2) clears its readiness only when it is polled */
	XT_EQ(xt_poll(fd, POLLIN), 0);
}

/* The exit of a child is counted, and the program can still reap the child. */
XT_TEST(sigchld_is_counted_and_the_child_not_reaped)
{
	struct xpoll *queue = xt_open();
	int status = 0;

	XT_SINGLE_ONLY();
	XT_OK(observe(queue, SIGCHLD, 0));
	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(7);
	GETS(queue, SIGCHLD, 1);
	XT_EQ(waitpid(child, &status, WNOHANG), child);
	XT_EXPECT_EQ(WEXITSTATUS(status), 7);
}

/* Without a descriptor for the self-pipe ADD fails and changes nothing; later it succeeds. */
XT_TEST(add_without_a_descriptor_left_fails_and_changes_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	struct rlimit limit;
	struct rlimit none;

	XT_SINGLE_ONLY();
	(void)signal(SIGUSR1, SIG_IGN);
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	int rc = observe(queue, SIGUSR1, 0);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_EXPECT_STATUS(rc, EMFILE);
	XT_EXPECT(signal(SIGUSR1, SIG_IGN) == SIG_IGN);
	XT_STATUS(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE), ENOENT);
	XT_OK(observe(queue, SIGUSR1, 0));
	XT_EQ(raise(SIGUSR1), 0);
	GETS(queue, SIGUSR1, 1);
}
