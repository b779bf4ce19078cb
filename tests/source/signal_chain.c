/*
 * Goal: the program's own sigaction(2) has priority (S21, hazard 14): the former action is
 * restored, an action set meanwhile stays, and the counters show it; handlers that call each other,
 * including the library's, do not recurse for ever.
 * Method: sigaction(2) is the oracle; handlers that call the handler which they have replaced.
 */
#include "signal_kit.h"

#include <sys/wait.h>

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&a->sa_mask, i) != sigismember(&b->sa_mask, i))
			return false;
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;
}

/* --- DELETE restores the former action ------------------------------------ */

XT_TEST(delete_restores_each_kind_of_action)
{
	static const int flags[] = {
		0, SA_RESTART, SA_NODEFER | SA_ONSTACK, SA_NOCLDSTOP,
		SA_NOCLDWAIT, SA_RESTART | SA_NODEFER | SA_NOCLDWAIT};
	void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, on_plain};
	static const int numbers[] = {SIGCHLD, SIGUSR1, SIGWINCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 3 * 6 * 3; i++) {
		int number = numbers[i % 3];
		struct sigaction before = action(handlers[i / 18], flags[i / 3 % 6]);
		struct sigaction after;

		(void)sigaddset(&before.sa_mask, SIGHUP);
		XT_EQ(sigaction(number, &before, NULL), 0);
		XT_EQ(sigaction(number, NULL, &before), 0);
		XT_OK(observe(queue, number));
		XT_OK(xt_flag(queue, (uint64_t)number, SIGNAL, XPOLL_DELETE));
		XT_EQ(sigaction(number, NULL, &after), 0);
		XT_EXPECT(same_action(&before, &after));
		forget(number);
	}
}

XT_TEST(last_observer_restores_the_action)
{
	struct xpoll *queues[2] = {xt_open_quiet(), xt_open_quiet()};
	struct sigaction now;

	put(SIGUSR1, on_plain, 0);
	XT_OK(observe(queues[0], SIGUSR1));
	XT_OK(observe(queues[1], SIGUSR1));
	xt_destroy(queues[0]);
	XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	XT_EXPECT(now.sa_handler != on_plain);
	xt_destroy(queues[1]);
	XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == on_plain);
	forget(SIGUSR1);
}

XT_TEST(hazard_14_default_that_ends_the_process_is_left_alone)
{
	struct xpoll *queue = xt_open();
	struct sigaction now;

	forget(SIGTERM);
	XT_OK(observe(queue, SIGTERM));
	XT_EQ(sigaction(SIGTERM, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == SIG_DFL);
	/* The signal has a handler now, so an ADD can put the library's in front. */
	put(SIGTERM, on_plain, 0);
	XT_OK(observe(queue, SIGTERM));
	XT_EQ(raise(SIGTERM), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_EXPECT_EQ(count_of(queue, SIGTERM), 1);
	XT_OK(xt_flag(queue, SIGTERM, SIGNAL, XPOLL_DELETE));
	forget(SIGTERM);
}

/* A handler in place of SIG_IGN would let a fault repeat for ever, and a stop happen. */
XT_TEST(hazard_14_ignored_faults_and_terminal_stops_are_left_alone)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
	                              SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU};
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction before;
		struct sigaction now;

		XT_EQ(sigaction(numbers[i], NULL, &before), 0);
		(void)signal(numbers[i], SIG_IGN);
		XT_OK(observe(queue, numbers[i]));
		XT_EQ(sigaction(numbers[i], NULL, &now), 0);
		XT_EXPECT(now.sa_handler == SIG_IGN);
		XT_EQ(raise(numbers[i]), 0);
		XT_EQ(count_of(queue, numbers[i]), 0);
		XT_EQ(sigaction(numbers[i], &before, NULL), 0);
	}
}

/* --- The program's own sigaction ------------------------------------------ */

XT_TEST(hazard_14_sigaction_of_the_program_ends_the_observation_and_is_told)
{
	struct xpoll *queue = xt_open();
	struct sigaction now;

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1));
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 0);
	put(SIGUSR1, on_plain, 0);
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 0);
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 1);
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 1);
	/* ADD observes the signal again, and the library's handler calls the program's new one. */
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(calls, 2);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 1);
	/* DELETE detects that the program has set another action again, and leaves it. */
	put(SIGUSR1, on_plain, SA_NODEFER);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 2);
	XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == on_plain);
	forget(SIGUSR1);
}

static void ignore_and_tell(int number)
{
	(void)number;
	(void)signal(SIGUSR1, SIG_IGN);
	if (xpoll_signal_changed(SIGUSR1) != 0)
		_exit(4);
}

XT_TEST(signal_changed_takes_up_the_observation_in_every_queue)
{
	struct xpoll *first = xt_open(), *second = xt_open();

	XT_FAILS(xpoll_signal_changed(-1), EINVAL);
	XT_FAILS(xpoll_signal_changed(0), EINVAL);
	XT_FAILS(xpoll_signal_changed(XT_NO_SIGNAL), EINVAL);
	/* For a signal that no queue has registered, xpoll_signal_changed has no effect. */
	put(SIGUSR1, on_plain, 0);
	XT_EQ(xpoll_signal_changed(SIGUSR1), 0);
	/* Its default action would end the process, so the signal is not handled. */
	forget(SIGUSR1);
	XT_OK(observe(first, SIGUSR1));
	XT_OK(observe(second, SIGUSR1));
	XT_EQ(xpoll_signal_changed(SIGUSR1), 0);
	for (int i = 1; i <= 3; i++) {
		put(SIGUSR1, on_plain, 0);
		XT_EQ(xpoll_signal_changed(SIGUSR1), 0);
		XT_EQ(xpoll_signal_changed(SIGUSR1), 0);
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(calls, 1);
		/* xpoll_signal_changed may be called in a signal handler. */
		put(SIGUSR2, ignore_and_tell, 0);
		XT_EQ(raise(SIGUSR2), 0);
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(calls, 0);
		XT_EXPECT_EQ(count_of(first, SIGUSR1), 2);
		XT_EXPECT_EQ(count_of(second, SIGUSR1), 2);
	}
	forget(SIGUSR2);
	forget(SIGUSR1);
}

/* A handler that calls the one it has replaced, like that of a library. */
static struct sigaction found[3];
static volatile sig_atomic_t passed[3];

static void pass(int index, int number, siginfo_t *info, void *context)
{
	const struct sigaction *next = &found[index];

	/* If the handlers call each other in a circle, end the process. */
	if (++passed[index] > 1000)
		_exit(3);
	if (next->sa_flags & SA_SIGINFO)
		next->sa_sigaction(number, info, context);
	else if (next->sa_handler != SIG_DFL && next->sa_handler != SIG_IGN)
		next->sa_handler(number);
}

static void pass_0(int number, siginfo_t *info, void *context)
{
	pass(0, number, info, context);
}

static void pass_1(int number, siginfo_t *info, void *context)
{
	pass(1, number, info, context);
}

static void pass_2(int number, siginfo_t *info, void *context)
{
	pass(2, number, info, context);
}

static void pass_on_from(int index)
{
	void (*const handlers[])(int, siginfo_t *, void *) = {pass_0, pass_1,
	                                                      pass_2};
	struct sigaction made = {.sa_flags = SA_SIGINFO};

	passed[index] = 0;
	made.sa_sigaction = handlers[index];
	(void)sigemptyset(&made.sa_mask);
	XT_EQ(sigaction(SIGUSR1, &made, &found[index]), 0);
}

XT_TEST(handler_that_calls_ours_is_counted_and_never_comes_round_again)
{
	struct xpoll *queue = xt_open();

	put(SIGUSR1, on_plain, 0);
	XT_OK(observe(queue, SIGUSR1));
	for (int i = 0; i < 3; i++) {
		XT_CALL(pass_on_from(i));
		/* The new handler calls the replaced one of the library. */
		XT_EQ(raise(SIGUSR1), 0);
		XT_EQ(count_of(queue, SIGUSR1), 1);
		/* Install the library's handler in front once more. */
		if (i % 2)
			XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
		XT_OK(observe(queue, SIGUSR1));
		XT_EQ(raise(SIGUSR1), 0);
		XT_EQ(count_of(queue, SIGUSR1), 1);
	}
	XT_EXPECT_EQ(calls, 6);
	XT_EXPECT_EQ(passed[0], 6);
	XT_EXPECT_EQ(passed[2], 2);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(calls, 7);
	forget(SIGUSR1);
}

/* The same handler can be installed any number of times, because no new link is used. */
XT_TEST(handler_put_again_and_again_is_observed_each_time)
{
	struct xpoll *queue = xt_open();

	for (int i = 1; i <= 50; i++) {
		XT_OK(observe(queue, SIGWINCH));
		struct sigaction made = action(on_plain, i % 2 ? SA_RESTART : 0);
		XT_EQ(sigaction(SIGWINCH, &made, NULL), 0);
		XT_OK(observe(queue, SIGWINCH));
		calls = 0;
		XT_EQ(raise(SIGWINCH), 0);
		XT_EXPECT_EQ(calls, 1);
		XT_EQ(count_of(queue, SIGWINCH), 1);
	}
	forget(SIGWINCH);
}

static void on_other_plain(int number)
{
	on_plain(number);
}

static void on_third(int number)
{
	on_plain(number);
}

/* The program can restore the default action any number of times. */
XT_TEST(handler_taken_away_again_and_again_is_observed_each_time)
{
	void (*const handlers[])(int) = {on_plain, SIG_IGN, on_other_plain,
	                                 SIG_DFL, on_third, SIG_IGN};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 60; i++) {
		(void)signal(SIGWINCH, handlers[i % 6]);
		XT_OK(observe(queue, SIGWINCH));
		calls = 3;
		XT_EQ(raise(SIGWINCH), 0);
		XT_EXPECT_EQ(calls, i % 2 ? 3 : 4);
		XT_EQ(count_of(queue, SIGWINCH), 1);
	}
	forget(SIGWINCH);
}

/* The program saves the action that it finds, which is the library's, and restores it later. */
XT_TEST(handler_put_back_after_the_last_observer_is_harmless)
{
	struct xpoll *queue = xt_open();
	struct sigaction saved;
	struct sigaction own = action(on_plain, 0);

	put(SIGUSR1, SIG_IGN, 0);
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(sigaction(SIGUSR1, &own, &saved), 0);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_EQ(sigaction(SIGUSR1, &saved, NULL), 0);
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 0);
	/* The library's handler is installed, so the signal is counted from now on. */
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_EQ(sigaction(SIGUSR1, NULL, &saved), 0);
	XT_EXPECT(saved.sa_handler == SIG_IGN);
	forget(SIGUSR1);
}

/* --- xpoll_sigaction -------------------------------------------------------- */

static bool shows(int number, void (*handler)(int), int flags)
{
	struct sigaction now;

	return xpoll_sigaction(number, NULL, &now) == 0 &&
		now.sa_handler == handler &&
		(now.sa_flags & (int)(SA_SIGINFO | SA_RESTART | SA_RESETHAND)) ==
		flags;
}

XT_TEST(sigaction_by_way_of_the_library_shows_what_the_program_set)
{
	struct xpoll *queue = xt_open();
	struct sigaction made = action(on_plain, SA_RESTART), before;
	struct sigaction ignored = action(SIG_IGN, 0);

	XT_FAILS(xpoll_sigaction(-1, NULL, NULL), EINVAL);
	XT_FAILS(xpoll_sigaction(0, NULL, NULL), EINVAL);
	XT_FAILS(xpoll_sigaction(NSIG, NULL, NULL), EINVAL);
	XT_FAILS(xpoll_sigaction(SIGKILL, &made, NULL), EINVAL);
	/* For a signal that no queue has registered, xpoll_sigaction is sigaction(2). */
	put(SIGUSR1, SIG_IGN, 0);
	XT_EXPECT(shows(SIGUSR1, SIG_IGN, 0));
	XT_OK(observe(queue, SIGUSR1));
	XT_EXPECT(shows(SIGUSR1, SIG_IGN, 0));
	(void)sigaddset(&made.sa_mask, SIGUSR2);
	for (int i = 1; i <= 20; i++) {
		XT_EQ(xpoll_sigaction(SIGUSR1, &made, &before), 0);
		XT_EXPECT(before.sa_handler == SIG_IGN);
		calls = 0;
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(calls, 1);
		/* The new and the old action may be in the same structure. */
		before = ignored;
		XT_EQ(xpoll_sigaction(SIGUSR1, &before, &before), 0);
		XT_EXPECT(before.sa_handler == on_plain);
		XT_EXPECT_EQ(before.sa_flags & SA_RESTART, SA_RESTART);
		XT_EXPECT_EQ(sigismember(&before.sa_mask, SIGUSR2), 1);
		XT_EQ(raise(SIGUSR1), 0);
		XT_EQ(count_of(queue, SIGUSR1), 2);
	}
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 0);
	XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
	XT_EQ(sigaction(SIGUSR1, NULL, &before), 0);
	XT_EXPECT(before.sa_handler == SIG_IGN);
	forget(SIGUSR1);
}

/*
 * An action with which a signal cannot be observed is set nevertheless, and the signal is observed
 * again after the next action with which it can be.
 */
XT_TEST(sigaction_by_way_of_the_library_may_take_the_default)
{
	struct xpoll *queue = xt_open();
	struct sigaction by_default = action(SIG_DFL, 0);
	struct sigaction once = action(on_plain, (int)SA_RESETHAND), now;

	put(SIGUSR1, SIG_IGN, 0);
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(xpoll_sigaction(SIGUSR1, &by_default, NULL), 0);
	XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == SIG_DFL);
	XT_EXPECT(shows(SIGUSR1, SIG_DFL, 0));
	XT_EQ(xpoll_sigaction(SIGUSR1, &once, NULL), 0);
	XT_EXPECT(shows(SIGUSR1, on_plain, (int)SA_RESETHAND));
	calls = 0;
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
	XT_EQ(xpoll_sigaction(SIGUSR1, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == SIG_DFL);
	XT_EXPECT_EQ(xt_stats(queue).signals_unobserved, 1);
	/* If the default action has no effect, the signal is still observed. */
	XT_OK(observe(queue, SIGWINCH));
	XT_EQ(xpoll_sigaction(SIGWINCH, &once, NULL), 0);
	XT_EQ(raise(SIGWINCH), 0);
	XT_EQ(raise(SIGWINCH), 0);
	XT_EXPECT_EQ(calls, 2);
	XT_EXPECT_EQ(count_of(queue, SIGWINCH), 2);
	XT_EXPECT(shows(SIGWINCH, SIG_DFL, (int)SA_RESETHAND));
	forget(SIGWINCH);
}

/* sigaction(2) restores a handler of the library, and xpoll_sigaction sets the next. */
XT_TEST(sigaction_by_way_of_the_library_knows_its_own_handlers)
{
	struct xpoll *queue = xt_open();
	struct sigaction ours, made = action(on_plain, 0);

	put(SIGUSR1, SIG_IGN, 0);
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(sigaction(SIGUSR1, NULL, &ours), 0);
	XT_EQ(xpoll_sigaction(SIGUSR1, &made, NULL), 0);
	XT_EQ(xpoll_sigaction(SIGUSR1, &ours, NULL), 0);
	calls = 0;
	XT_EQ(raise(SIGUSR1), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
	XT_EXPECT(shows(SIGUSR1, on_plain, 0));
	forget(SIGUSR1);
}

XT_TEST(sigaction_by_way_of_the_library_in_a_child_is_the_childs)
{
	struct xpoll *queue = xt_open();
	struct sigaction made = action(on_plain, 0);
	pid_t child;
	int status;

	put(SIGUSR1, SIG_IGN, 0);
	XT_OK(observe(queue, SIGUSR1));
	child = fork();
	if (child == 0) {
		bool right = shows(SIGUSR1, SIG_IGN, 0) &&
			xpoll_sigaction(SIGUSR1, &made, NULL) == 0 &&
			shows(SIGUSR1, on_plain, 0);

		_exit(right ? 0 : 1);
	}
	XT_CHECK(child > 0);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EXPECT_EQ(status, 0);
	XT_EXPECT(shows(SIGUSR1, SIG_IGN, 0));
	forget(SIGUSR1);
}

static atomic_bool raising_done;

static void raise_many(void *count)
{
	for (long i = 0; i < *(long *)count; i++)
		(void)raise(SIGUSR1);
	atomic_store(&raising_done, true);
}

/* A signal handler sets an action while the thread that it interrupts sets one. */
static void set_from_a_handler(int number)
{
	struct sigaction made = action(SIG_IGN, 0);

	(void)number;
	if (xpoll_sigaction(SIGUSR1, &made, NULL) != 0)
		_exit(4);
}

static void raise_other(void *count)
{
	(void)count;
	while (!atomic_load(&raising_done))
		(void)kill(getpid(), SIGUSR2);
}

XT_TEST(sigaction_by_way_of_the_library_misses_no_signal)
{
	struct xpoll *queue = xt_open();
	struct sigaction made[2] = {action(on_other_plain, 0), action(SIG_IGN, 0)};
	struct xt_thread *raiser, *other;
	long count = 20000, total = 0;

	put(SIGUSR1, SIG_IGN, 0);
	put(SIGUSR2, set_from_a_handler, 0);
	XT_OK(observe(queue, SIGUSR1));
	atomic_store(&raising_done, false);
	raiser = xt_start(raise_many, &count);
	other = xt_start(raise_other, NULL);
	for (int i = 0; !atomic_load(&raising_done); i++)
		XT_EQ(xpoll_sigaction(SIGUSR1, &made[i % 2], NULL), 0);
	xt_join(raiser);
	xt_join(other);
	total = count_of(queue, SIGUSR1);
	XT_EXPECT_EQ(total, count);
	forget(SIGUSR2);
	forget(SIGUSR1);
}
