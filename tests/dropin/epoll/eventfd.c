/*
 * Goal: eventfd(2): the counter, semaphores, limits, blocking, readiness,
 * duplicates, fork.
 * Method: values are written and read back, and the descriptor's readiness is
 * checked by poll and by a set.
 */
#include <pthread.h>
#include <signal.h>

#include "kit.h"

static int value_of(int fd, uint64_t *value)
{
	return read(fd, value, sizeof *value) == (ssize_t)sizeof *value ? 0 : errno;
}

static int add_to(int fd, uint64_t value)
{
	return write(fd, &value, sizeof value) == (ssize_t)sizeof value ? 0 : errno;
}

XT_TEST(a_read_takes_the_sum)
{
	int fd = xt_keep(eventfd(3, EFD_NONBLOCK));
	uint64_t value;

	XT_OK(add_to(fd, 4));
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 7);
	XT_STATUS(value_of(fd, &value), EAGAIN);
	XT_OK(add_to(fd, 0));
	XT_STATUS(value_of(fd, &value), EAGAIN);
	for (int i = 1; i <= 1000; i++)
		XT_OK(add_to(fd, (uint64_t)i));
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 500500);
	XT_EQ(eventfd_write(fd, 5), 0);
	XT_EQ(eventfd_read(fd, &value), 0);
	XT_EQ(value, 5);
}

XT_TEST(a_semaphore_is_taken_one_by_one)
{
	int fd = xt_keep(eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE));
	uint64_t value;

	XT_OK(add_to(fd, 1));
	for (int i = 0; i < 3; i++) {
		XT_CHECK(kit_readable(fd));
		XT_OK(value_of(fd, &value));
		XT_EQ(value, 1);
	}
	XT_STATUS(value_of(fd, &value), EAGAIN);
	XT_CHECK(!kit_readable(fd));
}

XT_TEST(limits_are_those_of_linux)
{
	int fd = xt_keep(eventfd(0, EFD_NONBLOCK));
	uint64_t value = 1;

	XT_FAILS(eventfd(0, 1 << 30), EINVAL);
	XT_STATUS(add_to(fd, UINT64_MAX), EINVAL);
	XT_FAILS(write(fd, &value, 4), EINVAL);
	XT_FAILS(read(fd, &value, 4), EINVAL);
	XT_OK(add_to(fd, UINT64_MAX - 1));
	XT_STATUS(add_to(fd, 1), EAGAIN);
	XT_OK(value_of(fd, &value));
	XT_CHECK(value == UINT64_MAX - 1);
	XT_OK(add_to(fd, 1));
	XT_OK(add_to(fd, UINT64_MAX - 2));
	XT_STATUS(add_to(fd, 2), EAGAIN);
}

XT_TEST(a_set_reports_each_write)
{
	int set = kit_open(), fd = xt_keep(eventfd(0, EFD_NONBLOCK));
	uint64_t value;

	XT_OK(kit_add(set, fd, EPOLLIN | EPOLLET));
	KIT_NONE(set);
	XT_OK(add_to(fd, 1));
	KIT_HAS(set, fd, EPOLLIN);
	KIT_NONE(set);
	XT_OK(add_to(fd, 1));
	KIT_HAS(set, fd, EPOLLIN);
	XT_OK(kit_mod(set, fd, EPOLLIN | EPOLLOUT));
	KIT_HAS(set, fd, EPOLLIN | EPOLLOUT);
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 2);
	KIT_HAS(set, fd, EPOLLOUT);
}

static void add_later(void *argument)
{
	(void)add_to(*(int *)argument, 9);
}

XT_TEST(a_blocking_read_waits)
{
	int fd = xt_keep(eventfd(0, 0));
	struct xt_thread *thread = xt_start(add_later, &fd);
	uint64_t value;

	XT_OK(value_of(fd, &value));
	XT_EQ(value, 9);
	xt_join(thread);
}

static void take_later(void *argument)
{
	uint64_t value;

	(void)value_of(*(int *)argument, &value);
}

XT_TEST(a_blocking_write_waits)
{
	int fd = xt_keep(eventfd(0, 0));
	struct xt_thread *thread;
	uint64_t value;

	XT_OK(add_to(fd, UINT64_MAX - 1));
	thread = xt_start(take_later, &fd);
	XT_OK(add_to(fd, 5));
	xt_join(thread);
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 5);
}

XT_TEST(duplicates_have_one_counter)
{
	int fd = eventfd(0, EFD_NONBLOCK), copy = xt_keep(dup(fd));
	uint64_t value;

	XT_OK(add_to(fd, 2));
	xt_close(fd);
	XT_OK(add_to(copy, 3));
	XT_OK(value_of(copy, &value));
	XT_EQ(value, 5);
	XT_STATUS(value_of(copy, &value), EAGAIN);
}

XT_TEST(a_child_shares_the_counter)
{
	int fd = xt_keep(eventfd(1, EFD_NONBLOCK));
	uint64_t value;

	XT_CHECK(xt_child(add_later, &fd));
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 10);
}

XT_TEST(close_on_exec_is_on_request)
{
	XT_EQ(fcntl(xt_keep(eventfd(0, EFD_CLOEXEC)), F_GETFD), FD_CLOEXEC);
	XT_EQ(fcntl(xt_keep(eventfd(0, 0)), F_GETFD), 0);
	XT_CHECK(!(fcntl(xt_keep(eventfd(0, 0)), F_GETFL) & O_NONBLOCK));
}

static void *read_cancelled(void *argument)
{
	uint64_t value;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	(void)value_of(*(int *)argument, &value);
	return NULL;
}

XT_TEST(a_cancelled_read_leaves_the_counter)
{
	int fd = xt_keep(eventfd(3, EFD_NONBLOCK));
	pthread_t thread;
	uint64_t value;
	void *result;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	XT_OK(pthread_create(&thread, NULL, read_cancelled, &fd));
	XT_OK(pthread_join(thread, &result));
	XT_CHECK(result == PTHREAD_CANCELED);
	XT_OK(add_to(fd, 4));
	XT_OK(value_of(fd, &value));
	XT_EQ(value, 7);
}

static int handled_fd;

static void add_in_handler(int signal)
{
	(void)signal;
	(void)add_to(handled_fd, 1);
}

static void kill_often(void *argument)
{
	pthread_t *target = argument;

	for (int i = 0; i < 3000; i++)
		(void)pthread_kill(*target, SIGUSR1);
}

XT_TEST(a_signal_handler_may_write)
{
	struct sigaction action = {.sa_handler = add_in_handler, .sa_flags = SA_RESTART};
	struct xt_thread *thread;
	pthread_t self = pthread_self();
	uint64_t value, sum = 0, handled;

	handled_fd = xt_keep(eventfd(0, EFD_NONBLOCK));
	XT_OK(sigaction(SIGUSR1, &action, NULL));
	thread = xt_start(kill_often, &self);
	for (int i = 0; i < 3000; i++) {
		XT_OK(add_to(handled_fd, 1000000));
		if (i % 2 && value_of(handled_fd, &value) == 0)
			sum += value;
	}
	xt_join(thread);
	action.sa_handler = SIG_DFL;
	XT_OK(sigaction(SIGUSR1, &action, NULL));
	if (value_of(handled_fd, &value) == 0)
		sum += value;
	handled = sum - UINT64_C(3000) * 1000000;
	XT_CHECK(handled > 0 && handled <= 3000);
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
static void interrupt_and_add(void *argument)
{
	(void)argument;
	for (int i = 1; i <= 20; i++) {
		(void)pthread_kill(restarted.reader, SIGUSR1);
		while (atomic_load(&restarted.handled) < i)
			sched_yield();
	}
	(void)add_to(restarted.fd, 9);
}

XT_TEST(a_read_goes_on_after_a_handler_that_restarts)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	struct xt_thread *thread;
	uint64_t value;

	restarted = (struct restarted){.fd = xt_keep(eventfd(0, 0)), .reader = pthread_self()};
	XT_OK(sigaction(SIGUSR1, &action, NULL));
	thread = xt_start(interrupt_and_add, NULL);
	XT_OK(value_of(restarted.fd, &value));
	XT_EQ(value, 9);
	xt_join(thread);
	action.sa_handler = SIG_DFL;
	XT_OK(sigaction(SIGUSR1, &action, NULL));
}
