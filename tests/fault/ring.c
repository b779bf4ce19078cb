/*
 * Goal: a ring that takes no polls for a moment, as the kernel is short of memory,
 * loses none: they are submitted later, and a thread does not sleep without them.
 * Method: io_uring_enter(2) is wrapped at link time and refuses at first.
 */
#include "xt.h"

#include "os/sys_epoll.h"
#include "os/sys_uring.h"

#include <linux/io_uring.h>

static atomic_int refusals; /* that are to come */
static atomic_int refused;

int __real_xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
int __wrap_xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
int __wrap_xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait)
{
	if (atomic_fetch_sub(&refusals, 1) > 0) {
		atomic_fetch_add(&refused, 1);
		return -EAGAIN;
	}
	return __real_xp_sys_uring_enter(ring_fd, submit, wait);
}

static int setup_error; /* 0: none */

int __real_xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
int __wrap_xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
int __wrap_xp_sys_uring_setup(unsigned entries, struct io_uring_params *params)
{
	return setup_error ? -setup_error
	                   : __real_xp_sys_uring_setup(entries, params);
}

static atomic_int links_read;
static int link_refused; /* the number of the one that fails; 0: none */

int __real_xp_sys_readlink(const char *path, char *buffer, size_t size);
int __wrap_xp_sys_readlink(const char *path, char *buffer, size_t size);
int __wrap_xp_sys_readlink(const char *path, char *buffer, size_t size)
{
	if (atomic_fetch_add(&links_read, 1) + 1 == link_refused)
		return -EACCES;
	return __real_xp_sys_readlink(path, buffer, size);
}

static int adds;
static int add_refused; /* the number of the one that fails; 0: none */

int __real_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token);
int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token);
int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token)
{
	if (op == EPOLL_CTL_ADD && ++adds == add_refused)
		return -ENOMEM;
	return __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

static void refuse(int times)
{
	atomic_store(&refused, 0);
	atomic_store(&refusals, times);
}

struct maker {
	struct xpoll *queue;
	struct xt_pair pipe;
};

static void make(void *argument)
{
	struct maker *maker = argument;

	maker->queue = xt_open_quiet();
	maker->pipe = xt_pipe();
	XT_OK(xt_add(maker->queue, maker->pipe.r, READ, 0));
}

/* The kernel cancels what a thread submitted that has ended: it is submitted anew. */
XT_TEST(poll_that_could_not_be_submitted_anew_is_not_forgotten)
{
	struct maker maker;

	/* Each time another attempt is the first that succeeds: the one before a sleep, too. */
	for (int times = 1; times <= 20; times++) {
		xt_join(xt_start(make, &maker));
		refuse(times);
		XT_NONE(maker.queue);
		xt_put(maker.pipe.w);
		XT_GETS(maker.queue, NULL, maker.pipe.r, READ);
		XT_EXPECT(atomic_load(&refused) > 0);
		refuse(0);
	}
}

/* Refused once it would be tried again. */
XT_TEST(close_fd_lets_go_of_the_file_although_the_ring_refused_at_first)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, 0));
	refuse(1);
	XT_EQ(xpoll_close_fd(pair.r), 0);
	XT_EXPECT_EQ(atomic_load(&refused), 1);
	XT_EXPECT(xt_poll_until(pair.w, POLLIN, POLLHUP));
}

/* It fails, and leaves nothing that is submitted later. */
XT_TEST(add_that_could_not_be_submitted_fails_and_leaves_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	refuse(100);
	XT_STATUS(xt_add(queue, pipe.r, READ, 0), ENOMEM);
	refuse(0);
	xt_put(pipe.w);
	XT_NONE(queue);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, pipe.r, READ);
}

/* What is cancelled late is silent all the same, and let go with the next call. */
XT_TEST(delete_that_could_not_be_submitted_is_made_up_for)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, 0));
	refuse(100);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE));
	XT_EXPECT(atomic_load(&refused) > 0);
	refuse(0);
	xt_put(pair.w);
	XT_NONE(queue);
	xt_close(pair.r);
	XT_EXPECT(xt_poll_until(pair.w, POLLIN, POLLHUP));
}

/* Between the look at what is usable and the making of the ring. */
XT_TEST(open_of_a_ring_that_is_forbidden_meanwhile_is_enotsup)
{
	static const int errors[] = {EPERM, EACCES, ENOSYS};
	struct xpoll_options options = {.size = sizeof options,
	                                .backend = "io_uring"};

	for (int i = 0; i < 3; i++) {
		setup_error = errors[i];
		errno = 0;
		XT_EXPECT(!xpoll_open(&options));
		XT_EXPECT_STATUS(errno, ENOTSUP);
	}
	setup_error = ENOMEM;
	errno = 0;
	XT_EXPECT(!xpoll_open(&options));
	XT_EXPECT_STATUS(errno, ENOMEM);
	setup_error = 0;
}

/* A second question could have another answer: queue and ring would be of two minds. */
XT_TEST(kind_of_a_file_is_asked_once)
{
	for (link_refused = 0; link_refused <= 2; link_refused++) {
		struct xpoll *queue = xt_open_quiet();
		int counter = xt_eventfd();
		uint64_t one = 1;

		atomic_store(&links_read, 0);
		XT_OK(xt_add(queue, counter, READ, XPOLL_CLEAR));
		XT_NONE(queue);
		XT_EQ(write(counter, &one, sizeof one), (ssize_t)sizeof one);
		XT_GETS(queue, NULL, counter, READ);
		XT_NONE(queue);
		XT_EXPECT_EQ(atomic_load(&links_read), 1);
	}
	link_refused = 0;
}

/* It would be silent about what it does not hold; once there is memory it is whole. */
XT_TEST(queue_descriptor_that_lacks_a_part_is_not_handed_out)
{
	for (int refused_one = 1; refused_one <= 3; refused_one++) {
		struct xpoll *queue = xt_open_quiet();
		int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));
		struct xt_pair pipe = xt_pipe();
		struct epoll_event wanted = {.events = EPOLLIN};
		int fd;

		/* It must not be looked at from the side, so no ring has it. */
		XT_OK(epoll_ctl(set, EPOLL_CTL_ADD, pipe.r, &wanted));
		XT_OK(xt_add(queue, set, READ, 0));
		XT_NONE(queue);
		adds = 0;
		add_refused = refused_one;
		XT_FAILS(xpoll_fd(queue), ENOMEM);
		add_refused = 0;
		fd = xpoll_fd(queue);
		XT_CHECK(fd >= 0);
		xt_put(pipe.w);
		XT_EQ(xt_poll(fd, POLLIN), POLLIN);
		XT_GETS(queue, NULL, set, READ);
	}
}
