/*
 * Goal: a queue can be watched by another queue, poll(2) and epoll (S14), also for events that the
 * kernel does not know (hazard 11); without a kernel queue xpoll_fd is ENOTSUP; a queue's own
 * descriptors cannot be registered in it.
 * Method: xpoll_fd is readable whenever an event is pending, also a user event or one that had no
 * room; a queue in itself, and rings of queues; a thread still sleeps after all of the queue's
 * descriptors were tried.
 */
#include "xt.h"

#include <sys/stat.h>

#ifdef __linux__
#include <sys/epoll.h>
#endif

static const char no_queue[] = "no kernel queue in this back end";

static bool readable(struct xpoll *queue)
{
	return xt_poll(xpoll_fd(queue), POLLIN) & POLLIN;
}

/* On Linux kqueue(2) is the drop-in, whose queue is two epoll sets deep. */
static bool too_deep(void)
{
#ifdef __linux__
	return xt_is("kqueue");
#else
	return false;
#endif
}

/* Returns the reason why no queue can be in another one here; NULL: it can. */
static const char *cannot_nest(void)
{
	if (too_deep())
		return "epoll sets cannot be nested as deeply";
	return xt_has_queue_fd() ? NULL : no_queue;
}

XT_TEST(queue_fd_without_kernel_queue_is_enotsup)
{
	struct xpoll *queue = xt_open();

	if (!xt_has_queue_fd()) {
		XT_FAILS(xpoll_fd(queue), ENOTSUP);
		return;
	}
	int fd = xpoll_fd(queue);
	XT_CHECK(fd >= 0);
	XT_EQ(xpoll_fd(queue), fd);
	XT_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

XT_TEST(queue_fd_follows_a_pipe)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_settle(queue);
	XT_CHECK(!readable(queue));
	xt_put(pipe.w);
	XT_CHECK(xt_poll_until(xpoll_fd(queue), POLLIN, POLLIN));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(xt_get(pipe.r), 'x');
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
}

/* Hazard 11: registrations were disabled and enabled before the first xpoll_fd. */
XT_TEST(hazard_11_queue_fd_after_toggles_is_not_silent)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[4];

	for (int i = 0; i < 4; i++) {
		pipes[i] = xt_pipe();
		uint64_t ident = (uint64_t)pipes[i].r;

		XT_OK(xt_add(queue, pipes[i].r, READ, i < 2 ? 0 : XPOLL_CLEAR));
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		xt_put(pipes[i].w);
		if (i % 2)
			XT_GETS(queue, NULL, ident, READ);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	}
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
	for (int i = 0; i < 4; i++) {
		uint64_t ident = (uint64_t)pipes[i].r;

		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_CHECK(xt_now_readable(queue));
		XT_GETS(queue, NULL, ident, READ);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	}
}

/* Hazard 11: ENABLE makes no system call; a second xpoll_fd would check the queue itself. */
XT_TEST(hazard_11_queue_fd_after_an_enable_by_ctl_is_not_silent)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int fd = xpoll_fd(queue);

	XT_OK(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pair.r, NULL));
	XT_OK(xpoll_ctl(queue, XPOLL_ADD | XPOLL_DISABLE, POLLOUT, pair.r, NULL));
	for (int i = 0; i < 12; i++) {
		/* These waits find nothing, because no event of the descriptor is handled. */
		for (int k = 0; k < 12; k++)
			XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xt_poll(fd, POLLIN), 0);
		XT_OK(xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, pair.r, NULL));
		XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EQ(xpoll_revents(queue, NULL), POLLOUT);
		XT_OK(xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, pair.r, NULL));
	}
}

/* Hazard 11: a delivered level-triggered event still holds. */
XT_TEST(hazard_11_queue_fd_delivered_level_event_is_visible)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
	XT_CHECK(xt_now_readable(queue));
	XT_GETS(queue, NULL, ident, READ);
	XT_CHECK(xt_now_readable(queue));
}

/* Hazard 11: an event had no room in the caller's array. */
XT_TEST(hazard_11_queue_fd_carried_over_event_is_visible)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(queue, one.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, two.r, READ, XPOLL_CLEAR));
	xt_settle(queue);
	XT_CHECK(!readable(queue));
	xt_put(one.w);
	xt_put(two.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
}

/* Hazard 11: user events and regular files, which no kernel queue reports */
XT_TEST(hazard_11_queue_fd_user_and_file_events_are_visible)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	int file = xt_file("");

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_CHECK(!readable(queue));
	XT_OK(xt_trigger(queue, 1));
	XT_CHECK(xt_now_readable(queue));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
	XT_OK(xt_add(queue, file, WRITE, XPOLL_DISPATCH));
	XT_CHECK(xt_now_readable(queue));
	XT_GETS(queue, NULL, file, WRITE);
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
}

/* Hazard 11: the event was triggered before the first xpoll_fd. */
XT_TEST(hazard_11_queue_fd_made_after_the_trigger_is_readable)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	XT_OK(xt_trigger(queue, 1));
	XT_CHECK(xt_now_readable(queue));
	XT_GETS(queue, NULL, 1, USER);
	XT_CHECK(xt_now_readable(queue));
	XT_OK(xt_flag(queue, 1, USER, XPOLL_DELETE));
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
}

/* Changes that are passed with a wait cost no more than without a watcher. */
/* A wake makes the watcher call a wait, which then returns 0. */
XT_TEST(queue_fd_wake_is_visible)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	XT_CHECK(!readable(queue));
	XT_EQ(xpoll_wake(queue), 0);
	XT_CHECK(xt_now_readable(queue));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 0);
	XT_CHECK(!readable(queue));
}

/*
 * The outer queue reports nothing while the inner one has no event.  While other threads wait in
 * the inner queue, its descriptor may be readable a few times without an event.
 */
static void silent(struct xpoll *outer, struct xpoll *inner)
{
	struct xpoll_event event;

	XT_NONE(inner);
	for (int i = 0; i < 100 && xt_threads; i++) {
		if (xpoll_event(outer, NULL, 0, &event, 1, 0) == 0)
			return;
		XT_NONE(inner);
	}
	XT_NONE(outer);
}

XT_TEST(queue_in_queue_each_kind_of_event_wakes_the_outer)
{
	if (cannot_nest())
		XT_SKIP(cannot_nest());
	struct xpoll *inner = xt_open();
	struct xpoll *outer = xt_open();
	struct xt_pair pipe = xt_pipe();
	int fd = xpoll_fd(inner);

	XT_OK(xt_add(outer, fd, READ, 0));
	XT_OK(xt_add(inner, pipe.r, READ, 0));
	XT_OK(xt_flag(inner, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_CALL(silent(outer, inner));
	xt_put(pipe.w);
	XT_GETS(outer, NULL, fd, READ);
	XT_GETS(inner, NULL, pipe.r, READ);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_CALL(silent(outer, inner));
	XT_OK(xt_trigger(inner, 1));
	XT_GETS(outer, NULL, fd, READ);
	XT_GETS(inner, NULL, 1, USER);
	XT_CALL(silent(outer, inner));
}

XT_TEST(queue_in_queue_edge_is_told_each_time)
{
	if (cannot_nest())
		XT_SKIP(cannot_nest());
	struct xpoll *inner = xt_open_quiet();
	struct xpoll *outer = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int fd = xpoll_fd(inner);

	XT_OK(xt_add(outer, fd, READ, XPOLL_CLEAR));
	XT_OK(xt_add(inner, pipe.r, READ, 0));
	for (int i = 0; i < 20; i++) {
		xt_put(pipe.w);
		XT_GETS(outer, NULL, fd, READ);
		XT_GETS(inner, NULL, pipe.r, READ);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_NONE(inner);
	}
}

/* A queue with a kernel object can be watched by a queue of a back end without one. */
XT_TEST(queue_in_queue_of_another_backend)
{
	bool ports = xt_is("port");

	if (!xt_usable("epoll") && !ports)
		XT_SKIP("no back end with a kernel queue here");
	struct xpoll *inner = xt_open_on(ports ? "port" : "epoll");
	struct xpoll *outer = ports ? xt_open_on("poll") : xt_open_quiet();
	int fd = xpoll_fd(inner);

	XT_CHECK(fd >= 0);
	XT_OK(xt_add(outer, fd, READ, 0));
	XT_OK(xt_flag(inner, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_NONE(outer);
	XT_OK(xt_trigger(inner, 1));
	XT_GETS(outer, NULL, fd, READ);
	XT_GETS(inner, NULL, 1, USER);
	XT_NONE(outer);
}

XT_TEST(queue_in_kernel_epoll_is_told)
{
#ifdef __linux__
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *inner = xt_open_quiet();
	struct epoll_event event = {.events = EPOLLIN};
	int outer = xt_keep(epoll_create1(EPOLL_CLOEXEC));

	XT_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, xpoll_fd(inner), &event), 0);
	XT_OK(xt_flag(inner, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_EQ(epoll_wait(outer, &event, 1, 0), 0);
	XT_OK(xt_trigger(inner, 1));
	XT_EQ(epoll_wait(outer, &event, 1, -1), 1);
	XT_GETS(inner, NULL, 1, USER);
	XT_NONE(inner);
	XT_EQ(epoll_wait(outer, &event, 1, 0), 0);
#else
	XT_SKIP("no epoll here");
#endif
}

XT_TEST(queue_in_itself_is_einval)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open();
	int fd = xpoll_fd(queue);

	XT_STATUS(xt_add(queue, fd, READ, 0), EINVAL);
	XT_STATUS(xt_add(queue, fd, READ, XPOLL_DISABLE), EINVAL);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLIN, fd, NULL), EINVAL);
	XT_NONE(queue);
}

XT_TEST(queues_in_a_ring_are_eloop)
{
#ifndef __linux__
	if (xt_is("kqueue"))
		XT_SKIP("queues of kqueue(2) may watch each other");
#endif
	if (cannot_nest())
		XT_SKIP(cannot_nest());
	struct xpoll *ring[4];

	for (int i = 0; i < 4; i++)
		ring[i] = xt_open_quiet();
	for (int i = 0; i + 1 < 4; i++) {
		int rc = xt_add(ring[i], xpoll_fd(ring[i + 1]), READ, 0);

		/* The kernel allows five nested epoll sets; older kernels return EINVAL. */
		if (i > 0 && (rc == ELOOP || rc == EINVAL))
			break;
		XT_STATUS(rc, 0);
		/* For each length of the ring, adding the first queue to the last one fails. */
		XT_STATUS(xt_add(ring[i + 1], xpoll_fd(ring[0]), READ, 0),
		          ELOOP);
	}
	/* After a link was deleted, the other direction is allowed. */
	XT_OK(xt_flag(ring[0], (uint64_t)xpoll_fd(ring[1]), READ,
	              XPOLL_DELETE));
	XT_OK(xt_add(ring[1], xpoll_fd(ring[0]), READ, 0));
}

XT_TEST(queue_destroyed_inside_another_is_silent)
{
	if (cannot_nest())
		XT_SKIP(cannot_nest());
	struct xpoll *inner = xt_open_quiet();
	struct xpoll *outer = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(xt_add(inner, pipe.r, READ, 0));
	XT_OK(xt_add(outer, xpoll_fd(inner), READ, 0));
	XT_GETS(outer, NULL, xpoll_fd(inner), READ);
	xt_destroy(inner);
	XT_NONE(outer);
}

struct sleeper {
	struct xpoll *outer;
	int rc;
};

static void sleep_in_poll(void *argument)
{
	struct sleeper *sleeper = argument;
	struct pollfd entry = {.fd = xpoll_fd(sleeper->outer),
	                       .events = POLLIN};

	sleeper->rc = poll(&entry, 1, 20000);
}

/* A thread sleeps in poll(2) on the queue's descriptor. */
XT_TEST(queue_fd_sleeping_poll_is_woken_by_each_change)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISABLE));
	for (int i = 0; i < 4; i++) {
		struct sleeper sleeper = {.outer = queue};
		struct xt_thread *thread = xt_start(sleep_in_poll, &sleeper);

		xt_asleep(thread);
		if (i % 2 == 0)
			XT_OK(xt_trigger(queue, 1));
		else
			XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ,
			              XPOLL_ENABLE));
		xt_join(thread);
		XT_EQ(sleeper.rc, 1);
		XT_GETS(queue, NULL, i % 2 == 0 ? 1 : pipe.r,
		        i % 2 == 0 ? USER : READ);
		if (i % 2)
			XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ,
			              XPOLL_DISABLE));
		XT_NONE(queue);
	}
}

/* A call with timeout 0, a thread that sleeps, and a change that has to wake it. */
static void take_user_event(void *argument)
{
	struct xpoll_event event;

	if (XT_EXPECT_EQ(xpoll_event(argument, NULL, 0, &event, 1, -1), 1))
		(void)XT_EXPECT_EQ(event.filter, USER);
}

static bool is_fifo(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

static void refuses_own(struct xpoll *queue, int fd)
{
	static const int filters[] = {READ, WRITE, EXCEPT};
	static const int flags[] = {0, XPOLL_CLEAR, XPOLL_DISABLE,
	                            XPOLL_DISPATCH};

	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 4; j++)
			XT_STATUS(xt_add(queue, fd, filters[i], flags[j]), EINVAL);
		XT_STATUS(xt_flag(queue, (uint64_t)fd, filters[i], XPOLL_DISABLE),
		          ENOENT);
		XT_STATUS(xt_flag(queue, (uint64_t)fd, filters[i], XPOLL_DELETE),
		          ENOENT);
	}
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLPRI, fd, NULL), EINVAL);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, fd, NULL), ENOENT);
}

XT_TEST(queues_own_descriptors_are_refused_and_go_on_working)
{
	if (too_deep())
		XT_SKIP("the drop-in has descriptors of its own");

	unsigned char before[1024];
	int owned = 0;

	xt_set_open(before, 1024);
	struct xpoll *queue = xt_open_quiet();
	XT_OK(xt_change(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR, 0, 0, NULL));
	(void)xpoll_fd(queue);
	for (int fd = 0; fd < 1024; fd++) {
		if (before[fd] || fcntl(fd, F_GETFD) < 0)
			continue;
		/* The others may be the drop-in's, under the model of a kernel. */
		if (getenv("MODEL_KERNEL") && !is_fifo(fd))
			continue;
		XT_CALL(refuses_own(queue, fd));
		owned++;
	}
	XT_CHECK(owned > 0);
	struct xt_thread *thread = xt_start(take_user_event, queue);
	xt_asleep(thread);
	XT_OK(xt_trigger(queue, 1));
	xt_join(thread);
	XT_EQ(xpoll_wake(queue), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &(struct xpoll_event){0}, 1, -1), 0);
}
