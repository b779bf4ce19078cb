/*
 * Goal: timerfd: expirations, intervals, absolute times, clocks, readiness,
 * fork, setting of the clock.
 * Method: timers expire at once or never, and intervals are so short that every
 * read finds expirations.  The program replaces the real-time clock, so that
 * the test can set it.
 */
#include <sys/syscall.h>

#include "kit.h"

static atomic_llong clock_change_s, clock_change_ms;
/* The next reading of the real-time clock takes 60 ms, like that of a preempted thread. */
static atomic_bool is_next_reading_slow;

static void sleep_30_ms(void)
{
	static const struct timespec duration = {.tv_nsec = 30000000};

	nanosleep(&duration, NULL);
}

/* Replaces the C library's clock_gettime: adds the test's change to the real-time clock. */
__attribute__((visibility("default")))
int clock_gettime(clockid_t clock, struct timespec *now)
{
	bool is_slow = clock == CLOCK_REALTIME && atomic_exchange(&is_next_reading_slow, false);
	long rc;

	if (is_slow)
		sleep_30_ms();
	rc = syscall(SYS_clock_gettime, clock, now);
	if (is_slow)
		sleep_30_ms();
	if (clock == CLOCK_REALTIME) {
		now->tv_sec += (time_t)atomic_load(&clock_change_s);
		now->tv_nsec += (long)(atomic_load(&clock_change_ms) * 1000000);
		now->tv_sec += now->tv_nsec / 1000000000;
		now->tv_nsec %= 1000000000;
	}
	return (int)rc;
}

static int open_timer(clockid_t clock)
{
	return xt_keep(timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC));
}

static int set_timer(int fd, int flags, time_t value_s, long value_ns, long interval_ns)
{
	struct itimerspec setting = {
		.it_value = {.tv_sec = value_s, .tv_nsec = value_ns},
		.it_interval = {.tv_nsec = interval_ns},
	};

	return timerfd_settime(fd, flags, &setting, NULL) < 0 ? errno : 0;
}

/* Read the timer.  Returns the number of expirations, or the negative errno value. */
static int64_t ticks_of(int fd)
{
	uint64_t ticks;

	return read(fd, &ticks, sizeof ticks) == (ssize_t)sizeof ticks ? (int64_t)ticks : -errno;
}

XT_TEST(a_timer_expires_once)
{
	static const clockid_t clocks[] = {
		CLOCK_MONOTONIC, CLOCK_REALTIME,
#ifdef CLOCK_BOOTTIME
		CLOCK_BOOTTIME,
#endif
	};

	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		int fd = open_timer(clocks[i]);

		XT_EQ(ticks_of(fd), -EAGAIN);
		XT_CHECK(!kit_readable(fd));
		XT_OK(set_timer(fd, 0, 0, 2000000, 0));
		XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
		XT_EQ(xt_poll(fd, POLLIN | POLLOUT | POLLPRI), POLLIN);
		XT_EQ(ticks_of(fd), 1);
		XT_EQ(ticks_of(fd), -EAGAIN);
		XT_CHECK(!kit_readable(fd));
	}
}

XT_TEST(an_interval_counts_until_it_is_read)
{
	int fd = open_timer(CLOCK_MONOTONIC);
	struct timespec now;

	/* The timer's first expiration was a second ago, and its interval is a millisecond. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	XT_OK(set_timer(fd, TFD_TIMER_ABSTIME, now.tv_sec - 1, now.tv_nsec, 1000000));
	XT_CHECK(kit_readable(fd));
	XT_CHECK(ticks_of(fd) >= 1000);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_CHECK(ticks_of(fd) >= 1);
}

XT_TEST(a_set_reports_each_expiration_once)
{
	int set = kit_open(), fd = open_timer(CLOCK_MONOTONIC);

	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLOUT | EPOLLET));
	KIT_NONE(set);
	XT_OK(set_timer(fd, 0, 0, 1000000, 1000000));
	KIT_GETS(set, fd, EPOLLIN);
	KIT_NONE(set); /* no second event for this edge before a read */
	XT_CHECK(ticks_of(fd) >= 1);
	KIT_GETS(set, fd, EPOLLIN);
	XT_OK(set_timer(fd, 0, 0, 0, 0));
	XT_OK(kit_mod(set, fd, EPOLLIN));
	KIT_NONE(set);
}

XT_TEST(gettime_returns_the_time_that_is_left)
{
	int fd = open_timer(CLOCK_REALTIME);
	struct itimerspec setting, before;

	XT_EQ(timerfd_gettime(fd, &setting), 0);
	XT_EQ(setting.it_value.tv_sec + setting.it_value.tv_nsec, 0);
	XT_OK(set_timer(fd, 0, 1000, 0, 7));
	XT_EQ(timerfd_gettime(fd, &setting), 0);
	XT_CHECK(setting.it_value.tv_sec > 900 && setting.it_value.tv_sec <= 1000);
	XT_EQ(setting.it_interval.tv_nsec, 7);
	setting.it_value = (struct timespec){0};
	XT_EQ(timerfd_settime(fd, 0, &setting, &before), 0);
	XT_CHECK(before.it_value.tv_sec > 900 && before.it_value.tv_sec <= 1000);
	XT_EQ(timerfd_gettime(fd, &setting), 0);
	XT_EQ(setting.it_value.tv_sec + setting.it_value.tv_nsec, 0);
	XT_EQ(setting.it_interval.tv_nsec, 7);
	/* timerfd_gettime does not lose expirations that were not read yet. */
	XT_OK(set_timer(fd, 0, 0, 1, 1000000));
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(timerfd_gettime(fd, &setting), 0);
	XT_CHECK(setting.it_value.tv_nsec > 0 && setting.it_value.tv_nsec <= 1000000);
	XT_CHECK(kit_readable(fd));
	XT_CHECK(ticks_of(fd) >= 1);
}

XT_TEST(a_new_setting_forgets_expirations)
{
	int fd = open_timer(CLOCK_MONOTONIC);

	XT_OK(set_timer(fd, TFD_TIMER_ABSTIME, 0, 1, 0));
	XT_CHECK(kit_readable(fd));
	XT_OK(set_timer(fd, 0, 1000, 0, 0));
	XT_CHECK(!kit_readable(fd));
	XT_EQ(ticks_of(fd), -EAGAIN);
}

static void set_later(void *argument)
{
	(void)set_timer(*(int *)argument, 0, 0, 1000000, 0);
}

XT_TEST(a_blocking_read_waits)
{
	int fd = xt_keep(timerfd_create(CLOCK_MONOTONIC, 0));
	struct xt_thread *thread = xt_start(set_later, &fd);

	XT_EQ(ticks_of(fd), 1);
	xt_join(thread);
}

struct restarted {
	int fd;
	pthread_t reader;
	atomic_int handled;
};
static struct restarted restarted;

static void count_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&restarted.handled, 1);
}

/* The signal is mostly handled while the reader sleeps; in any case the read continues. */
static void interrupt_and_set(void *argument)
{
	(void)argument;
	for (int i = 1; i <= 20; i++) {
		(void)pthread_kill(restarted.reader, SIGUSR1);
		while (atomic_load(&restarted.handled) < i)
			sched_yield();
	}
	(void)set_timer(restarted.fd, 0, 0, 1000000, 0);
}

XT_TEST(a_read_goes_on_after_a_handler_that_restarts)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	struct xt_thread *thread;

	restarted.fd = xt_keep(timerfd_create(CLOCK_MONOTONIC, 0));
	restarted.reader = pthread_self();
	for (int round = 0; round < 2; round++) {
		atomic_store(&restarted.handled, 0);
		XT_OK(sigaction(SIGUSR1, &action, NULL));
		thread = xt_start(interrupt_and_set, NULL);
		XT_EQ(ticks_of(restarted.fd), 1);
		xt_join(thread);
	}
	action.sa_handler = SIG_DFL;
	XT_OK(sigaction(SIGUSR1, &action, NULL));
}

static void use_timer(int signal)
{
	int saved = errno;

	(void)signal;
	(void)ticks_of(restarted.fd);
	(void)set_timer(restarted.fd, 0, 0, 1, 0);
	errno = saved;
}

static void kill_often(void *argument)
{
	pthread_t *target = argument;

	for (int i = 0; i < 3000; i++)
		(void)pthread_kill(*target, SIGUSR1);
}

XT_TEST(a_signal_handler_may_use_a_timer)
{
	struct sigaction action = {.sa_handler = use_timer, .sa_flags = SA_RESTART};
	pthread_t self = pthread_self();
	struct xt_thread *thread;

	restarted.fd = open_timer(CLOCK_MONOTONIC);
	XT_OK(sigaction(SIGUSR1, &action, NULL));
	thread = xt_start(kill_often, &self);
	for (int i = 0; i < 3000; i++) {
		(void)ticks_of(restarted.fd);
		XT_OK(set_timer(restarted.fd, 0, 0, 1, 0));
	}
	xt_join(thread);
	action.sa_handler = SIG_DFL;
	XT_OK(sigaction(SIGUSR1, &action, NULL));
	XT_CHECK(xt_poll_until(restarted.fd, POLLIN, POLLIN));
	XT_EQ(ticks_of(restarted.fd), 1);
}

XT_TEST(errors_are_those_of_linux)
{
	int fd = open_timer(CLOCK_MONOTONIC), other = xt_keep(eventfd(0, 0));
	struct itimerspec setting;
	uint64_t value = 1;

	XT_FAILS(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), EINVAL);
	XT_FAILS(timerfd_create(CLOCK_MONOTONIC, 1 << 30), EINVAL);
	XT_STATUS(set_timer(fd, 8, 1, 0, 0), EINVAL);
	XT_STATUS(set_timer(fd, 0, -1, 0, 0), EINVAL);
	XT_STATUS(set_timer(fd, 0, 0, 1000000000, 0), EINVAL);
	XT_STATUS(set_timer(other, 0, 1, 0, 0), EINVAL);
	XT_FAILS(timerfd_gettime(other, &setting), EINVAL);
	XT_FAILS(timerfd_gettime(-1, &setting), EBADF);
	XT_FAILS(read(fd, &value, 4), EINVAL);
	XT_FAILS(write(fd, &value, sizeof value), EINVAL);
	XT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	XT_EQ(fcntl(xt_keep(timerfd_create(CLOCK_REALTIME, 0)), F_GETFD), 0);
}

XT_TEST(duplicates_have_one_timer)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), copy = xt_keep(dup(fd));

	XT_OK(set_timer(fd, TFD_TIMER_ABSTIME, 0, 1, 0));
	xt_close(fd);
	XT_CHECK(kit_readable(copy));
	XT_EQ(ticks_of(copy), 1);
	XT_EQ(ticks_of(copy), -EAGAIN);
}

XT_TEST(an_absolute_time_follows_a_clock_that_is_set)
{
	int fd = open_timer(CLOCK_REALTIME);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	XT_OK(set_timer(fd, TFD_TIMER_ABSTIME, now.tv_sec + 1000, 0, 0));
	XT_CHECK(!kit_readable(fd));
	atomic_store(&clock_change_s, 2000);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(ticks_of(fd), 1);
	atomic_store(&clock_change_s, 0);
}

XT_TEST(a_clock_that_is_set_cancels)
{
	int fd = open_timer(CLOCK_REALTIME);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	XT_OK(set_timer(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, now.tv_sec + 1000, 0, 0));
	XT_EQ(ticks_of(fd), -EAGAIN);
	atomic_store(&clock_change_s, -500);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(ticks_of(fd), -ECANCELED);
	XT_CHECK(!kit_readable(fd));
	XT_EQ(ticks_of(fd), -EAGAIN);
	atomic_store(&clock_change_s, 0);
	XT_EQ(ticks_of(fd), -ECANCELED);
}

static int set_cancelled_timer(int fd, time_t after_s)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return set_timer(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, now.tv_sec + after_s, 0,
	                 0);
}

/* adjtime(2) changes a clock slowly: each change is small, but their sum exceeds the threshold. */
XT_TEST(a_clock_that_drifts_does_not_cancel)
{
	int fd = open_timer(CLOCK_REALTIME);

	XT_OK(set_cancelled_timer(fd, 1000));
	for (int change_ms = 0; change_ms <= 60; change_ms += 10) {
		atomic_store(&clock_change_ms, change_ms);
		XT_EQ(ticks_of(fd), -EAGAIN);
	}
	atomic_store(&clock_change_ms, 0);
	XT_EQ(ticks_of(fd), -ECANCELED);
}

XT_TEST(a_slow_reading_of_the_clock_does_not_cancel)
{
	int fd = open_timer(CLOCK_REALTIME);

	XT_OK(set_cancelled_timer(fd, 1000));
	atomic_store(&is_next_reading_slow, true);
	XT_EQ(ticks_of(fd), -EAGAIN);
	XT_CHECK(!atomic_load(&is_next_reading_slow));
	XT_CHECK(!kit_readable(fd));
}

XT_TEST(a_clock_that_is_set_cancels_a_timer_that_has_expired)
{
	int other = open_timer(CLOCK_MONOTONIC), fd = open_timer(CLOCK_REALTIME);

	/* The library's thread has begun a sleep that only a new setting ends. */
	XT_OK(set_timer(other, 0, 0, 20000000, 0));
	XT_CHECK(xt_poll_until(other, POLLIN, POLLIN));
	XT_OK(set_cancelled_timer(fd, -1));
	XT_EQ(ticks_of(fd), 1);
	XT_CHECK(!kit_readable(fd));
	atomic_store(&clock_change_s, -500);
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(ticks_of(fd), -ECANCELED);
	atomic_store(&clock_change_s, 0);
}

struct family {
	int set, fd, unset;
};

static void in_child(void *argument)
{
	struct family *family = argument;

	/* The timer runs in the child, too, and is independent of the parent's. */
	KIT_GETS(family->set, family->fd, EPOLLIN);
	XT_CHECK(ticks_of(family->fd) >= 1);
	KIT_GETS(family->set, family->fd, EPOLLIN);
	XT_OK(kit_mod(family->set, family->fd, EPOLLIN));
	XT_OK(set_timer(family->fd, 0, 0, 0, 0));
	KIT_NONE(family->set);
	XT_OK(set_timer(family->unset, 0, 0, 1, 0));
	XT_CHECK(xt_poll_until(family->unset, POLLIN, POLLIN));
	XT_CHECK(fcntl(family->fd, F_GETFL) & O_NONBLOCK);
	XT_EQ(fcntl(family->fd, F_GETFD), FD_CLOEXEC);
}

XT_TEST(a_forked_child_has_timers_of_its_own)
{
	struct family family = {
		.set = kit_open(), .fd = open_timer(CLOCK_MONOTONIC),
		.unset = open_timer(CLOCK_MONOTONIC),
	};

	XT_OK(kit_add(family.set, family.fd, EPOLLIN | EPOLLET));
	XT_OK(set_timer(family.fd, 0, 0, 2000000, 2000000));
	XT_CHECK(xt_child(in_child, &family));
	XT_CHECK(xt_poll_until(family.fd, POLLIN, POLLIN));
	XT_CHECK(ticks_of(family.fd) >= 1);
	XT_CHECK(!kit_readable(family.unset));
}
