/*
 * Goal: xpoll_fd shows timers: its descriptor is readable when a timer has
 * expired, not before, and no longer after the event was taken or the timer was
 * deleted, disabled or extended (S14, hazard 11).  The one descriptor that
 * timers need watches the right clock.
 * Method: poll(2) on the descriptor, with timeout 0 before the expiration, and
 * without a timeout for it.
 */
#include "xt.h"

#include <sys/resource.h>
#include <time.h>

#ifdef __linux__
#include <sys/epoll.h>
#endif

enum { TIMER = XPOLL_FILT_TIMER };

#define NSECONDS XPOLL_NOTE_NSECONDS
#define SECONDS  XPOLL_NOTE_SECONDS

static const char no_queue[] = "no kernel queue in this back end";

static int timer(struct xpoll *queue, uint64_t ident, int flags,
                 uint32_t fflags, int64_t data)
{
	return xt_change(queue, ident, TIMER, flags, fflags, data, NULL);
}

static bool readable(struct xpoll *queue)
{
	return xt_poll(xpoll_fd(queue), POLLIN) & POLLIN;
}

/* Sleep in poll(2) until the queue's descriptor is readable.  Returns true if it is. */
static bool becomes_readable(struct xpoll *queue)
{
	return xt_poll_until(xpoll_fd(queue), POLLIN, POLLIN);
}

XT_TEST(hazard_11_queue_fd_is_readable_when_a_timer_is_due)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();

	/* In the first round the timer is started before xpoll_fd, in the others after it. */
	for (int i = 0; i < 10; i++) {
		if (i > 0)
			XT_CHECK(!readable(queue));
		int64_t start = xt_now();
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i * 500000));
		XT_CHECK(becomes_readable(queue));
		XT_CHECK(xt_now() - start >= i * 500000);
		XT_CHECK(xt_now_readable(queue));
		XT_GETS(queue, NULL, 1, TIMER);
		XT_CHECK(!readable(queue));
	}
}

XT_TEST(hazard_11_queue_fd_of_a_periodic_timer)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 2000000));
	for (int i = 0; i < 5; i++) {
		XT_CHECK(becomes_readable(queue));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	}
	XT_OK(timer(queue, 1, XPOLL_ADD, SECONDS, 3600));
	XT_CHECK(!readable(queue));
}

/* A timer that was due is deleted: the queue's descriptor must not stay readable. */
XT_TEST(queue_fd_of_a_timer_taken_back_is_not_readable)
{
	static const struct back {
		int flags;
		int64_t data;
	} backs[] = {
		{XPOLL_DELETE, 0},
		{XPOLL_DISABLE, 0},
		{XPOLL_ADD, 3600},
		{XPOLL_ADD | XPOLL_DISABLE, 0},
	};
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();

	for (size_t i = 0; i < 2 * sizeof backs / sizeof *backs; i++) {
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ENABLE, NSECONDS,
		            100000));
		XT_CHECK(becomes_readable(queue));
		/* The library has detected the expiration in one case, and not in the other. */
		if (i % 2)
			XT_EQ(xpoll_wait(queue, 0), 0);
		XT_CHECK(xt_now_readable(queue));
		XT_OK(timer(queue, 1, backs[i / 2].flags, SECONDS,
		            backs[i / 2].data));
		XT_CHECK(!readable(queue));
		XT_NONE(queue);
	}
	XT_OK(timer(queue, 1, XPOLL_ENABLE, 0, 0));
	XT_CHECK(becomes_readable(queue));
}

/* A wait with room for one event leaves two due timers, for which the descriptor stays readable. */
XT_TEST(hazard_11_queue_fd_of_timers_that_did_not_fit)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_CHECK(xpoll_fd(queue) >= 0);
	for (uint64_t i = 0; i < 3; i++)
		XT_OK(timer(queue, i, XPOLL_ADD | XPOLL_ONESHOT, 0, 0));
	for (int i = 0; i < 3; i++) {
		XT_CHECK(becomes_readable(queue));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	}
	XT_CHECK(!readable(queue));
}

XT_TEST(queue_fd_of_abstime_timers)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct timespec now;

	XT_CHECK(!readable(queue));
	XT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
	XT_OK(timer(queue, 1, XPOLL_ADD, XPOLL_NOTE_ABSTIME | NSECONDS,
	            (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + 1000000));
	XT_CHECK(becomes_readable(queue));
	XT_GETS(queue, NULL, 1, TIMER);
	XT_CHECK(!readable(queue));
}

/*
 * Returns true if the queue's descriptor is not readable; where kqueue(2) clears it only in a poll,
 * it may be so once.
 */
static bool quiet(struct xpoll *queue)
{
	struct xpoll_event event;

	if (!readable(queue))
		return true;
	return xt_kqueue() && xpoll_event(queue, NULL, 0, &event, 1, 0) == 0 &&
		!readable(queue);
}

/* A thread that sleeps in the queue takes the event; then the descriptor is no longer readable. */
static void wait_for_one(void *argument)
{
	struct xpoll_event event;

	XT_EXPECT_EQ(xpoll_event(argument, NULL, 0, &event, 1, -1), 1);
}

XT_TEST(queue_fd_beside_a_sleeping_waiter)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();

	XT_CHECK(!readable(queue));
	for (int i = 0; i < 10; i++) {
		struct xt_thread *thread = xt_start(wait_for_one, queue);

		if (i % 2)
			xt_asleep(thread);
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i * 200000));
		xt_join(thread);
		XT_CHECK(quiet(queue));
	}
}

static void sleep_in_poll(void *argument)
{
	XT_EXPECT(becomes_readable(argument));
}

/* Timers are started and shortened while another thread sleeps in poll(2). */
XT_TEST(hazard_11_queue_fd_sleeping_poll_is_woken_by_timers)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();

	XT_CHECK(xpoll_fd(queue) >= 0);
	for (int i = 0; i < 10; i++) {
		struct xt_thread *thread = xt_start(sleep_in_poll, queue);

		xt_asleep(thread);
		if (i % 2)
			XT_OK(timer(queue, 1, XPOLL_ADD, SECONDS, 3600));
		XT_OK(timer(queue, 1, XPOLL_ADD, NSECONDS, 1000000));
		xt_join(thread);
		XT_GETS(queue, NULL, 1, TIMER);
		XT_OK(timer(queue, 1, XPOLL_DELETE, 0, 0));
	}
}

/* Three nested queues, each with a timer of its own. */
XT_TEST(hazard_11_timers_of_nested_queues_are_told)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	if (xt_dropin())
		XT_SKIP("Linux allows the drop-in no third level");
	struct xpoll *inner = xt_open_quiet();
	struct xpoll *outer = xt_open_quiet();
	int fd = xpoll_fd(inner);

	XT_OK(xt_add(outer, fd, READ, 0));
	XT_NONE(outer);
	for (int i = 0; i < 5; i++) {
		XT_OK(timer(inner, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i * 500000));
		XT_GETS(outer, NULL, fd, READ);
		XT_GETS(inner, NULL, 1, TIMER);
		XT_NONE(outer);
		XT_OK(timer(outer, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i * 500000));
		XT_CHECK(becomes_readable(outer));
		XT_GETS(outer, NULL, 1, TIMER);
		XT_CHECK(!readable(outer));
	}
}

XT_TEST(queue_fd_of_timers_in_kernel_epoll)
{
#ifdef __linux__
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int outer = xt_keep(epoll_create1(EPOLL_CLOEXEC));

	XT_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, xpoll_fd(queue), &event), 0);
	XT_EQ(epoll_wait(outer, &event, 1, 0), 0);
	for (int i = 0; i < 5; i++) {
		XT_OK(timer(queue, 1, XPOLL_ADD | XPOLL_ONESHOT, NSECONDS,
		            i * 500000));
		XT_EQ(epoll_wait(outer, &event, 1, -1), 1);
		XT_GETS(queue, NULL, 1, TIMER);
	}
#else
	XT_SKIP("no epoll here");
#endif
}

/* S19: the descriptors of timers are close-on-exec. */
XT_TEST(descriptors_of_timers_are_close_on_exec)
{
	struct xpoll *queue = xt_open_quiet();
	static unsigned char before[1024];
	static unsigned char after[1024];

	xt_set_open(before, 1024);
	XT_OK(timer(queue, 1, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1));
	if (xt_has_queue_fd())
		XT_CHECK(xpoll_fd(queue) >= 0);
	xt_set_open(after, 1024);
	for (int fd = 0; fd < 1024; fd++)
		if (after[fd] && !before[fd])
			XT_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

#ifdef __linux__

/* Read a timerfd's clock and flags from /proc.  Returns false if fd is not a timerfd. */
static bool timerfd_says(int fd, int *clock, int *flags)
{
	char path[64];
	char text[1024];

	(void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	int info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	ssize_t len = read(info, text, sizeof text - 1);
	xt_close(info);
	text[len > 0 ? len : 0] = '\0';
	const char *clock_at = strstr(text, "clockid:");
	const char *flags_at = strstr(text, "settime flags:");
	if (!clock_at || !flags_at)
		return false;
	*clock = (int)strtol(clock_at + 8, NULL, 10);
	*flags = (int)strtol(flags_at + 14, NULL, 8);
	return true;
}

#endif

/*
 * A test must not set the machine's clock, so it checks that the kernel would report such a change:
 * TFD_TIMER_ABSTIME (1) and TFD_TIMER_CANCEL_ON_SET (2) on CLOCK_REALTIME (0).
 * Complaint: Timers drift, cannot be modified, ignore a clock that is set.
 */
XT_TEST(abstime_descriptor_is_told_of_clock_steps)
{
#ifdef __linux__
	struct xpoll *queue = xt_open_quiet();
	int clock = -1;
	int flags = -1;
	int found = 0;

	if (xt_kqueue())
		XT_SKIP("no timerfd here");
	XT_OK(timer(queue, 1, XPOLL_ADD, XPOLL_NOTE_ABSTIME, 1));
	for (int fd = 0; fd < 256; fd++)
		if (timerfd_says(fd, &clock, &flags) && clock == 0)
			found += flags == 3;
	XT_EQ(found, 1);
#else
	XT_SKIP("no timerfd here");
#endif
}

/* The alarm's descriptor is opened for the first timer: without one, ADD fails at once. */
XT_TEST(timer_without_a_descriptor_for_it_is_not_silent)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct rlimit limit, none;
	int next;

	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_CHECK(!readable(queue));
	next = dup(STDIN_FILENO);
	XT_CHECK(next >= 0);
	xt_close(next);
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)next;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool added = XT_EXPECT_STATUS(timer(queue, 1, XPOLL_ADD, SECONDS, 3600),
	                              0);
	bool told = readable(queue);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	/* A kqueue(2) needs no descriptor for its own timer. */
	XT_CHECK(added && (told || xt_is("kqueue")));
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
}
