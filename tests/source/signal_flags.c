/*
 * Goal: an observed signal has the same effects as before (S21, hazard 14): the
 * program's handler runs with its flags and its mask, as if the library had
 * none, and an ignored signal has hardly any effect.
 * Method: handlers that examine their state; read(2), waitpid(2) and the fate
 * of children are the oracles.
 */
#include "signal_kit.h"

#include <setjmp.h>
#include <sys/wait.h>

#ifdef SIGRTMIN
#include <ucontext.h>
#endif

/* --- The program's handler as if it were the only one -------------------- */

#ifdef SIGRTMIN

static struct {
	int number;
	int code;
	int value;
	pid_t sender;
	bool context;
	bool usr2_blocked;
	bool self_blocked;
} detail;

static void on_detailed(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	sigset_t now;

	calls++;
	detail.number = number;
	detail.code = info->si_code;
	detail.value = info->si_value.sival_int;
	detail.sender = info->si_pid;
	detail.context = interrupted &&
	                 sigismember(&interrupted->uc_sigmask, SIGHUP) == 1;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	detail.usr2_blocked = sigismember(&now, SIGUSR2) == 1;
	detail.self_blocked = sigismember(&now, number) == 1;
}

XT_TEST(handler_with_siginfo_gets_value_sender_context_and_mask)
{
	/* the mask in the context is that of the thread that handles the signal */
	XT_SIGNALS_A_THREAD();
	struct xpoll *queue = xt_open();
	struct sigaction made = {.sa_flags = SA_SIGINFO};
	sigset_t hup;
	sigset_t before;

	calls = 0;
	made.sa_sigaction = on_detailed;
	(void)sigemptyset(&made.sa_mask);
	(void)sigaddset(&made.sa_mask, SIGUSR2);
	XT_EQ(sigaction(SIGUSR1, &made, NULL), 0);
	XT_OK(observe(queue, SIGUSR1));
	(void)sigemptyset(&hup);
	(void)sigaddset(&hup, SIGHUP);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &hup, &before), 0);
	XT_EQ(xt_queue_signal(xt_thread_number(), SIGUSR1, 4711), 0);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	XT_EQ(calls, 1);
	XT_EXPECT_EQ(detail.number, SIGUSR1);
	XT_EXPECT_EQ(detail.code, SI_QUEUE);
	XT_EXPECT_EQ(detail.value, 4711);
	XT_EXPECT_EQ(detail.sender, getpid());
	XT_EXPECT(detail.context);
	XT_EXPECT(detail.usr2_blocked);
	XT_EXPECT(detail.self_blocked);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
	forget(SIGUSR1);
}

#else

XT_TEST(handler_with_siginfo_gets_value_sender_context_and_mask)
{
	XT_SKIP("no sigqueue(2) here");
}

#endif

static volatile sig_atomic_t depth;
static volatile sig_atomic_t deepest;

static void on_nested(int number)
{
	if (++depth > deepest)
		deepest = depth;
	if (++calls < 3)
		(void)raise(number);
	depth--;
}

XT_TEST(handler_with_nodefer_is_nested_without_it_is_not)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();

		depth = 0;
		deepest = 0;
		put(SIGUSR1, on_nested, i ? SA_NODEFER : 0);
		XT_OK(observe(queue, SIGUSR1));
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(calls, 3);
		XT_EXPECT_EQ(deepest, i ? 3 : 1);
		XT_EXPECT_EQ(count_of(queue, SIGUSR1), 3);
		xt_destroy(queue);
		forget(SIGUSR1);
	}
}

static char other_stack[1 << 16];
static volatile sig_atomic_t on_other;

static void on_stack(int number)
{
	uintptr_t at = (uintptr_t)__builtin_frame_address(0);
	uintptr_t low = (uintptr_t)other_stack;

	(void)number;
	on_other = at >= low && at < low + sizeof other_stack;
	calls++;
}

XT_TEST(handler_with_onstack_runs_on_the_other_stack)
{
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
	stack_t before;

	XT_EQ(sigaltstack(&stack, &before), 0);
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();

		put(SIGUSR1, on_stack, i ? SA_ONSTACK : 0);
		XT_OK(observe(queue, SIGUSR1));
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(calls, 1);
		XT_EXPECT_EQ(on_other, i);
		xt_destroy(queue);
		forget(SIGUSR1);
	}
	XT_EQ(sigaltstack(&before, NULL), 0);
}

/*
 * The handler runs once, and then the default action applies; a harmless signal is still observed.
 */
XT_TEST(handler_with_resethand_runs_once)
{
	struct xpoll *queue = xt_open();
	struct sigaction now;

	put(SIGWINCH, on_plain, SA_RESETHAND);
	XT_OK(observe(queue, SIGWINCH));
	XT_EQ(raise(SIGWINCH), 0);
	XT_EQ(raise(SIGWINCH), 0);
	XT_EXPECT_EQ(calls, 1);
	XT_EXPECT_EQ(count_of(queue, SIGWINCH), 2);
	XT_OK(xt_flag(queue, SIGWINCH, SIGNAL, XPOLL_DELETE));
	XT_EQ(sigaction(SIGWINCH, NULL, &now), 0);
	XT_EXPECT(now.sa_handler == SIG_DFL);
}

static void raises_twice(void)
{
	struct xpoll *queue = xt_open_quiet();

	put(SIGUSR1, on_plain, SA_RESETHAND);
	XT_OK(observe(queue, SIGUSR1));
	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(calls, 1);
	XT_EQ(count_of(queue, SIGUSR1), 1);
	(void)raise(SIGUSR1);
}

XT_TEST(handler_with_resethand_runs_once_and_then_the_signal_kills)
{
	int status = 0;

	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		raises_twice();
		_exit(1);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	XT_CHECK(WIFSIGNALED(status));
	XT_EXPECT_EQ(WTERMSIG(status), SIGUSR1);
}

/* Like siginterrupt(3), read the signal's action and set it again with another SA_RESTART. */
static void set_again(int number, bool restarts)
{
	struct sigaction now;

	XT_EQ(sigaction(number, NULL, &now), 0);
	now.sa_flags = restarts ? now.sa_flags | SA_RESTART : now.sa_flags & ~SA_RESTART;
	XT_EQ(sigaction(number, &now, NULL), 0);
}

static void expect_set_again(const struct sigaction *now, void (*handler)(int), bool restarts)
{
	XT_EXPECT(now->sa_handler == handler);
	XT_EXPECT_EQ(now->sa_flags & (SA_SIGINFO | SA_RESTART), restarts ? SA_RESTART : 0);
}

/*
 * The signal is counted as before, and the flag outlives the registration.  For an ignored signal
 * only the removal of SA_RESTART shows, because the library's handler has that flag itself.
 */
XT_TEST(flag_that_siginterrupt_sets_outlives_the_observation)
{
	for (int i = 0; i < 3; i++) {
		void (*handler)(int) = i & 2 ? SIG_IGN : on_plain;
		struct xpoll *queue = xt_open_quiet();
		struct sigaction now;
		bool restarts = i & 1;

		put(SIGUSR1, handler, restarts ? 0 : SA_RESTART);
		XT_OK(observe(queue, SIGUSR1));
		XT_CALL(set_again(SIGUSR1, restarts));
		XT_EQ(raise(SIGUSR1), 0);
		XT_EXPECT_EQ(count_of(queue, SIGUSR1), 1);
		XT_EQ(xpoll_sigaction(SIGUSR1, NULL, &now), 0);
		XT_CALL(expect_set_again(&now, handler, restarts));
		XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
		XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
		XT_CALL(expect_set_again(&now, handler, restarts));
		xt_destroy(queue);
		forget(SIGUSR1);
	}
}

static sigjmp_buf back;

static void on_jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

XT_TEST(handler_that_jumps_away_is_counted_each_time)
{
	struct xpoll *queue = xt_open();

	put(SIGUSR1, on_jump, 0);
	XT_OK(observe(queue, SIGUSR1));
	for (volatile int i = 0; i < 20; i++)
		if (sigsetjmp(back, 1) == 0)
			(void)raise(SIGUSR1);
	XT_EXPECT_EQ(count_of(queue, SIGUSR1), 20);
	forget(SIGUSR1);
}

XT_TEST(hazard_14_errno_of_what_was_interrupted_is_kept)
{
	struct xpoll *queues[2] = {xt_open_quiet(), xt_open_quiet()};

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queues[0], SIGUSR1));
	XT_OK(observe(queues[1], SIGUSR1));
	errno = EXDEV;
	(void)raise(SIGUSR1);
	XT_EXPECT_EQ(errno, EXDEV);
}

/* --- System calls that a signal interrupts -------------------------------- */

struct reader {
	int fd;
	ssize_t rc;
	int error;
	char byte;
};

static void read_one(void *argument)
{
	struct reader *reader = argument;

	reader->rc = read(reader->fd, &reader->byte, 1);
	reader->error = errno;
}

/*
 * Read while the signal comes to the sleeping thread.  Some systems do not show whether a thread
 * sleeps, so a thread that has to be interrupted gets the signal repeatedly until it is.
 */
static void read_meets(int number, bool ends, struct reader *reader)
{
	struct xt_pair pipe = xt_pipe();

	XT_EQ(fcntl(pipe.r, F_SETFL, 0), 0);
	*reader = (struct reader){.fd = pipe.r};
	struct xt_thread *thread = xt_start(read_one, reader);
	for (int i = 0; (ends || i < 20) && !xt_done(thread); i++) {
		xt_asleep(thread);
		(void)pthread_kill(xt_pthread(thread), number);
	}
	xt_put(pipe.w);
	xt_join(thread);
}

XT_TEST(hazard_14_read_goes_on_where_the_signal_is_ignored)
{
	struct xpoll *queue = xt_open();
	struct reader reader;

	(void)signal(SIGUSR1, SIG_IGN);
	XT_OK(observe(queue, SIGUSR1));
	XT_CALL(read_meets(SIGUSR1, false, &reader));
	XT_EXPECT_EQ(reader.rc, 1);
	XT_CHECK(count_of(queue, SIGUSR1) > 0);
}

XT_TEST(read_goes_on_or_not_as_the_handler_has_it)
{
	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();
		struct reader reader;

		put(SIGUSR1, on_plain, i ? SA_RESTART : 0);
		XT_OK(observe(queue, SIGUSR1));
		XT_CALL(read_meets(SIGUSR1, !i, &reader));
		XT_EXPECT_EQ(reader.rc, i ? 1 : -1);
		if (!i)
			XT_EXPECT_EQ(reader.error, EINTR);
		xt_destroy(queue);
		forget(SIGUSR1);
	}
}

/* A signal that no handler sees is not counted: see DIFFERENCES.md. */
XT_TEST(hazard_14_blocked_after_it_was_registered_is_counted_when_handled)
{
	struct xpoll *queue = xt_open_quiet(); /* the threads of other queues might not block it */
	int taken = 0;
	sigset_t set;
	sigset_t before;

	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer has signals its own way");
	put(SIGUSR1, on_plain, 0);
	XT_OK(observe(queue, SIGUSR1));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	XT_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_NONE(queue);
	/* sigwait(3) has taken the signal, so there is nothing to count. */
	XT_EQ(sigwait(&set, &taken), 0);
	XT_EXPECT_EQ(taken, SIGUSR1);
	XT_NONE(queue);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_NONE(queue);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	XT_EQ(count_of(queue, SIGUSR1), 1);
	forget(SIGUSR1);
}

/* SIGCHLD ignored means no zombies; SA_NOCLDWAIT means the same. */
XT_TEST(hazard_14_sigchld_ignored_leaves_no_zombies)
{
	struct sigaction kinds[2] = {action(SIG_IGN, 0),
	                             action(on_plain, SA_NOCLDWAIT)};

	for (int i = 0; i < 2; i++) {
		struct xpoll *queue = xt_open_quiet();

		XT_EQ(sigaction(SIGCHLD, &kinds[i], NULL), 0);
		XT_OK(observe(queue, SIGCHLD));
		(void)fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		/*
		 * waitpid(2) sleeps until the child is gone, and then fails because there is none.
		 */
		pid_t rc = -1;
		do
			rc = waitpid(child, NULL, 0);
		while (rc < 0 && errno == EINTR);
		XT_EXPECT_STATUS(rc < 0 ? errno : 0, ECHILD);
#ifdef __linux__
		/* The BSDs send no SIGCHLD in this case. */
		XT_EXPECT_EQ(count_of(queue, SIGCHLD), 1);
#endif
		xt_destroy(queue);
		forget(SIGCHLD);
	}
}
