/*
 * Goal: the model of /dev/poll behaves as the manual page says, and as inconveniently as the page
 * allows, because tests of the back end prove no more than the model does.
 *
 * Method: calls of the device itself, without the library.
 */
#include "xt.h"

#include <devpoll_model.h>
#include <sched.h>
#include <sys/devpoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

static int device_open(void)
{
	return xt_keep(open("/dev/poll", O_RDWR));
}

static bool told(int device, int fd, int events)
{
	struct pollfd record = {.fd = fd, .events = (short)events};

	return XT_EXPECT_EQ(write(device, &record, sizeof record), sizeof record);
}

static int ask(int device, struct pollfd *fds, int cap, int timeout_ms)
{
	struct dvpoll call = {.dp_fds = fds, .dp_nfds = cap,
	                      .dp_timeout = timeout_ms};

	return ioctl(device, DP_POLL, &call);
}

/* Returns the events that the device has for a descriptor; -1: it is not in the set. */
static int has(int device, int fd)
{
	struct pollfd entry = {.fd = fd};

	return ioctl(device, DP_ISPOLLED, &entry) == 1 ? entry.revents : -1;
}

/* "the events field in each pollfd entry is OR'ed" */
XT_TEST(written_twice_events_are_ored_until_removed)
{
	int device = device_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct pollfd ready;

	XT_EXPECT_EQ(has(device, pair.r), -1);
	XT_CHECK(told(device, pair.r, POLLOUT));
	XT_CHECK(told(device, pair.r, POLLIN));
	XT_EXPECT_EQ(has(device, pair.r), POLLIN | POLLOUT);
	XT_EQ(ask(device, &ready, 1, -1), 1);
	XT_EXPECT_EQ(ready.revents, POLLOUT);
	XT_CHECK(told(device, pair.r, POLLREMOVE));
	XT_EXPECT_EQ(has(device, pair.r), -1);
	XT_CHECK(told(device, pair.r, POLLIN));
	XT_EXPECT_EQ(has(device, pair.r), POLLIN);
	XT_EQ(ask(device, &ready, 1, 0), 0);
}

/* "Failure to do so may result in a POLLNVAL" */
XT_TEST(closed_without_removal_says_pollnval_or_nothing)
{
	int device = device_open();
	struct xt_pair ready = xt_pipe();
	struct xt_pair quiet = xt_pipe();
	struct pollfd fds[4];
	int number = ready.r;

	xt_put(ready.w);
	XT_CHECK(told(device, ready.r, POLLIN));
	XT_CHECK(told(device, quiet.r, POLLIN));
	XT_EQ(ask(device, fds, 4, 0), 1);
	xt_close(ready.r);
	xt_close(quiet.r);
	for (int i = 0; i < 3; i++) {
		XT_EQ(ask(device, fds, 4, 0), 1);
		XT_EXPECT_EQ(fds[0].fd, number);
		XT_EXPECT_EQ(fds[0].revents, POLLNVAL);
	}
	XT_CHECK(told(device, number, POLLREMOVE));
	XT_EQ(ask(device, fds, 4, 0), 0);
}

/* "you will be polling the device associated with the reused descriptor" */
XT_TEST(number_used_again_says_what_is_true_of_the_new_file_or_nothing)
{
	int device = device_open();
	struct xt_pair old[2] = {xt_pipe(), xt_pipe()};
	struct xt_pair new[2] = {xt_pipe(), xt_pipe()};
	struct pollfd fds[4];

	xt_put(old[0].w);
	for (int i = 0; i < 2; i++)
		XT_CHECK(told(device, old[i].r, POLLIN));
	XT_EQ(ask(device, fds, 4, 0), 1);
	for (int i = 0; i < 2; i++) {
		xt_number(new[i].r, old[i].r);
		xt_put(new[i].w);
	}
	XT_EQ(ask(device, fds, 4, 0), 1);
	XT_EXPECT_EQ(fds[0].fd, old[0].r);
	/* Events that the device has already do not make it poll the file. */
	XT_CHECK(told(device, old[1].r, POLLIN));
	XT_EQ(ask(device, fds, 4, 0), 1);
	XT_CHECK(told(device, old[1].r, POLLREMOVE));
	XT_CHECK(told(device, old[1].r, POLLIN));
	XT_EQ(ask(device, fds, 4, 0), 2);
}

XT_TEST(written_while_closed_it_cannot_be_removed)
{
	int device = device_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int number = pair.r;
	struct pollfd ready;

	xt_close(pair.r);
	XT_CHECK(told(device, number, POLLOUT));
	XT_EXPECT_EQ(has(device, number), -1);
	XT_CHECK(told(device, number, POLLREMOVE));
	XT_EQ(ask(device, &ready, 1, 0), 0);
	xt_number(xt_socketpair(SOCK_STREAM).r, number);
	XT_CHECK(told(device, number, POLLIN));
	XT_EXPECT_EQ(has(device, number), POLLIN | POLLOUT);
	XT_EQ(ask(device, &ready, 1, 0), 1);
	XT_EXPECT_EQ(ready.revents, POLLOUT);
}

/* DP_POLL begins where the last one stopped, so no descriptor starves. */
XT_TEST(short_array_is_filled_in_turns)
{
	int device = device_open();
	struct xt_pair pipes[5];
	unsigned seen = 0;
	struct pollfd ready;

	for (int i = 0; i < 5; i++) {
		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
		XT_CHECK(told(device, pipes[i].r, POLLIN));
	}
	for (int i = 0; i < 5; i++) {
		XT_EQ(ask(device, &ready, 1, 0), 1);
		for (int j = 0; j < 5; j++)
			if (ready.fd == pipes[j].r)
				seen |= 1u << j;
	}
	XT_EXPECT_EQ(seen, 31);
}

static void child_uses(void *argument)
{
	int device = *(int *)argument;
	struct pollfd entry = {.fd = 0, .events = POLLIN};

	XT_FAILS(write(device, &entry, sizeof entry), EACCES);
	XT_FAILS(ask(device, &entry, 1, 0), EACCES);
	XT_FAILS(ioctl(device, DP_ISPOLLED, &entry), EACCES);
	device = open("/dev/poll", O_RDWR | O_CLOEXEC);
	XT_CHECK(told(device, 0, POLLIN));
}

/* "Any attempt to write or do ioctl by the child will result in EACCES" */
XT_TEST(forked_child_may_only_open_its_own)
{
	int device = device_open();
	struct xt_pair pipe = xt_pipe();

	XT_CHECK(told(device, pipe.r, POLLIN));
	XT_CHECK(xt_child(child_uses, &device));
	XT_EXPECT_EQ(has(device, pipe.r), POLLIN);
}

static void child_with_low_limit(void *argument)
{
	struct rlimit limit;
	struct pollfd fds[65];
	int device = open("/dev/poll", O_RDWR | O_CLOEXEC);

	(void)argument;
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 64;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 65; i++)
		fds[i] = (struct pollfd){.fd = i, .events = POLLREMOVE};
	XT_FAILS(write(device, fds, sizeof fds), EINVAL);
	XT_EQ(write(device, fds, 64 * sizeof *fds), (int)(64 * sizeof *fds));
	XT_FAILS(ask(device, fds, 64, 0), EINVAL);
	XT_EQ(ask(device, fds, 63, 0), 0);
}

/* "EINVAL: dp_nfds is greater than or equal to OPEN_MAX" */
XT_TEST(more_than_the_limit_of_descriptors_is_einval)
{
	XT_CHECK(xt_child(child_with_low_limit, NULL));
}

struct sleeper {
	int device;
	struct pollfd ready;
	atomic_int woken; /* the thread has been woken */
};

static void sleep_in_device(void *argument)
{
	struct sleeper *sleeper = argument;

	XT_EQ(ask(sleeper->device, &sleeper->ready, 1, -1), 1);
}

struct writer {
	struct sleeper *sleeper;
	int fd;
	atomic_int done;
};

static void write_meanwhile(void *argument)
{
	struct writer *writer = argument;

	XT_CHECK(told(writer->sleeper->device, writer->fd, POLLIN));
	XT_EXPECT_EQ(atomic_load(&writer->sleeper->woken), 1);
	atomic_store(&writer->done, 1);
}

/*
 * The write waits until no thread sleeps in the device, as in older kernels, so only one thread of
 * a queue may be in the device.
 */
XT_TEST(write_waits_until_nobody_is_asleep)
{
	struct sleeper sleeper = {.device = device_open()};
	struct writer writer = {.sleeper = &sleeper};
	struct xt_pair wake = xt_pipe();
	struct xt_pair other = xt_pipe();
	struct xt_thread *threads[2];

	writer.fd = other.r;
	XT_CHECK(told(sleeper.device, wake.r, POLLIN));
	threads[0] = xt_start(sleep_in_device, &sleeper);
	while (devpoll_calls().asleep == 0)
		(void)sched_yield();
	threads[1] = xt_start(write_meanwhile, &writer);
	xt_asleep(threads[1]);
	atomic_store(&sleeper.woken, 1);
	xt_put(wake.w);
	xt_join(threads[0]);
	xt_join(threads[1]);
	XT_EXPECT_EQ(sleeper.ready.fd, wake.r);
	XT_EXPECT_EQ(atomic_load(&writer.done), 1);
}
