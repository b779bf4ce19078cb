/*
 * Goal: signalfd(2): blocked signals are read with their fields; masks, several
 * descriptors, order, readiness, fork.
 * Method: every thread blocks the signals, which are sent to the process or to
 * this thread.
 */
#include <signal.h>

#include "kit.h"

/*
 * OpenBSD and macOS have sigwait(3) alone: the library knows only the number of a signal, accepts
 * it a moment after the call that makes it readable on Linux, and does not find one for a thread.
 */
#if defined(__OpenBSD__) || defined(__APPLE__)
enum { HAS_SIGTIMEDWAIT = 0 };
#else
enum { HAS_SIGTIMEDWAIT = 1 };
#endif

static sigset_t mask_of(int first, int second)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, first);
	if (second)
		sigaddset(&mask, second);
	return mask;
}

/* Block these signals, and return a signalfd for them. */
static int open_signals(int first, int second)
{
	sigset_t mask = mask_of(first, second);

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	return xt_keep(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
}

/* Read the next signal.  Returns its number, or the negative errno value. */
static int next_of(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : -errno;
}

/* Returns true if fd is readable; where signals are accepted late, wait until it is. */
static bool is_readable_now(int fd)
{
	return HAS_SIGTIMEDWAIT ? kit_readable(fd) : xt_poll_until(fd, POLLIN, POLLIN);
}

XT_TEST(a_signal_is_read_with_its_fields)
{
	int fd = open_signals(SIGUSR1, 0);
	struct signalfd_siginfo info;

	XT_EQ(sizeof info, 128);
	XT_EQ(next_of(fd), -EAGAIN);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(xt_poll(fd, POLLIN | POLLOUT | POLLPRI), POLLIN);
	XT_EQ(read(fd, &info, sizeof info), sizeof info);
	XT_EQ(info.ssi_signo, SIGUSR1);
	XT_EQ(info.ssi_code, HAS_SIGTIMEDWAIT ? SI_USER : 0);
	XT_EQ(info.ssi_pid, HAS_SIGTIMEDWAIT ? getpid() : 0);
	XT_EQ(info.ssi_uid, HAS_SIGTIMEDWAIT ? getuid() : 0);
	XT_EQ(next_of(fd), -EAGAIN);
	XT_CHECK(!kit_readable(fd));
}

XT_TEST(a_real_time_signal_has_a_value)
{
#ifndef SIGRTMIN
	XT_SKIP("no real-time signals here");
#else
	sigset_t mask = mask_of(SIGRTMIN + 1, 0);
	struct signalfd_siginfo info[3];
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	for (int i = 1; i <= 2; i++)
		XT_EQ(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 40 + i}), 0);
	fd = open_signals(SIGRTMIN + 1, 0);
	XT_EQ(read(fd, info, sizeof info), 2 * sizeof info[0]);
	XT_EQ(info[0].ssi_int, 41);
	XT_EQ(info[1].ssi_int, 42);
	XT_EQ(info[1].ssi_code, SI_QUEUE);
#endif
}

/* Nothing reads the signalfd: it becomes readable only if the library waits for the signal. */
XT_TEST(the_highest_real_time_signal_makes_it_readable)
{
#ifndef SIGRTMIN
	XT_SKIP("no real-time signals here");
#else
	int fd = open_signals(SIGRTMAX, 0);

	XT_EQ(kill(getpid(), SIGRTMAX), 0);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(next_of(fd), SIGRTMAX);
	XT_EQ(next_of(fd), -EAGAIN);
#endif
}

XT_TEST(the_lowest_number_is_read_first)
{
	sigset_t mask = mask_of(SIGUSR1, SIGUSR2);
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	XT_EQ(kill(getpid(), SIGUSR2), 0);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	fd = open_signals(SIGUSR1, SIGUSR2);
	XT_CHECK(is_readable_now(fd));
	XT_EQ(next_of(fd), SIGUSR1);
	XT_CHECK(is_readable_now(fd));
	XT_EQ(next_of(fd), SIGUSR2);
	XT_EQ(next_of(fd), -EAGAIN);
}

XT_TEST(what_was_pending_is_readable_at_once)
{
	sigset_t mask = mask_of(SIGUSR1, 0);
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	XT_EQ(HAS_SIGTIMEDWAIT ? raise(SIGUSR1) : kill(getpid(), SIGUSR1), 0);
	fd = open_signals(SIGUSR1, 0);
	XT_CHECK(is_readable_now(fd));
	XT_EQ(next_of(fd), SIGUSR1);
	if (!HAS_SIGTIMEDWAIT)
		XT_SKIP("a signal for one thread is not found here");
	/* A signal that is sent to this thread is read by this thread. */
	XT_EQ(raise(SIGUSR1), 0);
	XT_EQ(next_of(fd), SIGUSR1);
}

/* The BSDs drop such a signal, although it is blocked, unless the library has set a handler. */
XT_TEST(a_signal_that_is_ignored_by_default_is_read)
{
	static const int numbers[] = {
		SIGCHLD, SIGURG, SIGWINCH,
#ifndef __sun
		SIGIO,
#endif
#ifdef SIGINFO
		SIGINFO,
#endif
#ifdef SIGPWR
		SIGPWR,
#endif
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int fd = open_signals(numbers[i], 0);

		XT_EQ(kill(getpid(), numbers[i]), 0);
		XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
		XT_EQ(next_of(fd), numbers[i]);
	}
}

XT_TEST(a_set_reports_each_signal)
{
	int set = kit_open(), fd = open_signals(SIGUSR1, SIGUSR2);

	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLOUT | EPOLLET));
	KIT_NONE(set);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS(set, fd, EPOLLIN);
	KIT_NONE(set);
	XT_EQ(kill(getpid(), SIGUSR2), 0);
	KIT_GETS(set, fd, EPOLLIN);
	XT_EQ(next_of(fd), SIGUSR1);
	XT_EQ(next_of(fd), SIGUSR2);
	XT_OK(kit_mod(set, fd, EPOLLIN));
	KIT_NONE(set);
}

XT_TEST(two_descriptors_read_the_same_signals)
{
	int one = open_signals(SIGUSR1, 0), both = open_signals(SIGUSR1, SIGUSR2);

	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_CHECK(xt_poll_until(one, POLLIN, POLLIN));
	XT_CHECK(kit_readable(both));
	XT_EQ(next_of(both), SIGUSR1);
	XT_CHECK(!kit_readable(one));
	XT_EQ(next_of(one), -EAGAIN);
	XT_EQ(kill(getpid(), SIGUSR2), 0);
	XT_CHECK(xt_poll_until(both, POLLIN, POLLIN));
	XT_CHECK(!kit_readable(one));
	XT_EQ(next_of(both), SIGUSR2);
}

XT_TEST(a_mask_can_be_changed)
{
	int fd = open_signals(SIGUSR1, SIGUSR2);
	sigset_t first = mask_of(SIGUSR1, 0), second = mask_of(SIGUSR2, 0), pending;

	XT_EQ(signalfd(fd, &first, 0), fd);
	XT_EQ(kill(getpid(), SIGUSR2), 0);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(next_of(fd), SIGUSR1);
	XT_EQ(next_of(fd), -EAGAIN);
	XT_EQ(signalfd(fd, &second, 0), fd);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	/*
	 * The signal is no longer in the mask of any signalfd, so it is pending in the process
	 * again.
	 */
	XT_EQ(signalfd(fd, &first, 0), fd);
	XT_CHECK(!kit_readable(fd));
	XT_EQ(next_of(fd), -EAGAIN);
	do
		sigpending(&pending);
	while (!sigismember(&pending, SIGUSR2));
	XT_EQ(signalfd(fd, &second, 0), fd);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(next_of(fd), SIGUSR2);
}

static void send_later(void *argument)
{
	(void)argument;
	(void)kill(getpid(), SIGUSR1);
}

XT_TEST(a_blocking_read_waits)
{
	sigset_t mask = mask_of(SIGUSR1, 0);
	struct xt_thread *thread;
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	fd = xt_keep(signalfd(-1, &mask, 0));
	thread = xt_start(send_later, NULL);
	XT_EQ(next_of(fd), SIGUSR1);
	xt_join(thread);
}

static void read_one(void *argument)
{
	const int *fd = argument;

	XT_EXPECT(next_of(*fd) > 0);
}

/* Two signals that come together wake two threads. */
XT_TEST(each_of_two_blocking_reads_gets_a_signal)
{
	sigset_t mask = mask_of(SIGUSR1, SIGUSR2);
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	fd = xt_keep(signalfd(-1, &mask, 0));
	for (int i = 0; i < 100; i++) {
		struct xt_thread *one, *other;

		xt_threads_reuse();
		one = xt_start(read_one, &fd);
		other = xt_start(read_one, &fd);
		xt_asleep(one);
		xt_asleep(other);
		XT_OK(kill(getpid(), SIGUSR1));
		XT_OK(kill(getpid(), SIGUSR2));
		xt_join(one);
		xt_join(other);
	}
}

static atomic_int handled;

static void count_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&handled, 1);
}

/* Most of these signals are handled while the reader sleeps. */
static void interrupt_and_send(void *argument)
{
	for (int i = 1; i <= 20; i++) {
		(void)pthread_kill(*(pthread_t *)argument, SIGUSR2);
		while (atomic_load(&handled) < i)
			sched_yield();
	}
	(void)kill(getpid(), SIGUSR1);
}

XT_TEST(a_read_goes_on_after_a_handler_that_restarts)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	sigset_t mask = mask_of(SIGUSR1, 0);
	pthread_t self = pthread_self();
	struct xt_thread *thread;
	int fd;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	fd = xt_keep(signalfd(-1, &mask, 0));
	XT_OK(sigaction(SIGUSR2, &action, NULL));
	mask = mask_of(SIGUSR2, 0);
	pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
	thread = xt_start(interrupt_and_send, &self);
	XT_EQ(next_of(fd), SIGUSR1);
	xt_join(thread);
	action.sa_handler = SIG_DFL;
	XT_OK(sigaction(SIGUSR2, &action, NULL));
}

XT_TEST(errors_are_those_of_linux)
{
	int fd = open_signals(SIGUSR1, 0), other = xt_keep(eventfd(0, 0));
	sigset_t mask = mask_of(SIGUSR1, SIGKILL);
	char bytes[128] = {0};

	XT_FAILS(signalfd(-1, &mask, 1 << 30), EINVAL);
	XT_FAILS(signalfd(other, &mask, 0), EINVAL);
	XT_FAILS(signalfd(-1, NULL, 0), EFAULT);
	XT_FAILS(signalfd(-2, &mask, 0), EBADF);
	XT_EQ(signalfd(fd, &mask, 0), fd);
	XT_FAILS(read(fd, bytes, 127), EINVAL);
	XT_FAILS(write(fd, bytes, 128), EINVAL);
	XT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	XT_CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

XT_TEST(a_close_leaves_signals_to_the_process)
{
	sigset_t mask = mask_of(SIGUSR1, 0);
	int fd, number = 0;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	fd = signalfd(-1, &mask, SFD_NONBLOCK);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	xt_close(fd);
	XT_EQ(sigwait(&mask, &number), 0);
	XT_EQ(number, SIGUSR1);
}

struct family {
	int set, fd;
};

static void in_child(void *argument)
{
	struct family *family = argument;

	/* The parent's pending signal is not delivered in the child. */
	KIT_NONE(family->set);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS(family->set, family->fd, EPOLLIN);
	XT_EQ(next_of(family->fd), SIGUSR1);
	KIT_NONE(family->set);
}

XT_TEST(a_forked_child_reads_its_own_signals)
{
	struct family family = {.set = kit_open(), .fd = open_signals(SIGUSR1, 0)};

	XT_OK(kit_add(family.set, family.fd, EPOLLIN));
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS(family.set, family.fd, EPOLLIN);
	XT_CHECK(xt_child(in_child, &family));
	KIT_HAS(family.set, family.fd, EPOLLIN);
	XT_EQ(next_of(family.fd), SIGUSR1);
}
