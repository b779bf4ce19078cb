/*
 * Goal: a waiting thread holds no lock, and a change by another thread affects
 * the wait at once, on every back end (S16).
 * Method: a thread waits without a timeout; each kind of change that makes a
 * registration ready must end that wait.
 */
#include "xt.h"

struct sleeper {
	struct xpoll *queue;
	struct xpoll_event event;
	struct xt_thread *thread;
	int rc;
};

static void sleeper_event(void *argument)
{
	struct sleeper *self = argument;

	self->rc = xpoll_event(self->queue, NULL, 0, &self->event, 1, -1);
}

static void sleeper_poll_like(void *argument)
{
	struct sleeper *self = argument;

	self->rc = xpoll_wait(self->queue, -1);
}

static void sleeper_start(struct sleeper *self, void (*run)(void *))
{
	self->rc = -2;
	self->thread = xt_start(run, self);
	xt_asleep(self->thread);
}

static bool sleeper_got(struct sleeper *self, uint64_t ident, int filter)
{
	xt_join(self->thread);
	return XT_EXPECT_EQ(self->rc, 1) &&
	       XT_EXPECT_EQ(self->event.ident, ident) &&
	       XT_EXPECT_EQ(self->event.filter, filter);
}

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

XT_TEST(add_of_ready_one_wakes_the_waiter)
{
	for (int i = 0; i < 4; i++) {
		struct sleeper sleeper = {.queue = xt_open()};
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		sleeper_start(&sleeper, sleeper_event);
		XT_OK(xt_add(sleeper.queue, pipe.r, READ, modes[i]));
		XT_CHECK(sleeper_got(&sleeper, (uint64_t)pipe.r, READ));
	}
}

XT_TEST(add_of_second_filter_wakes_the_waiter)
{
	struct sleeper sleeper = {.queue = xt_open()};
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(sleeper.queue, pair.r, READ, 0));
	sleeper_start(&sleeper, sleeper_event);
	XT_OK(xt_add(sleeper.queue, pair.r, WRITE, 0));
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)pair.r, WRITE));
}

XT_TEST(enable_of_ready_one_wakes_the_waiter)
{
	for (int i = 0; i < 4; i++) {
		struct sleeper sleeper = {.queue = xt_open()};
		struct xt_pair pipe = xt_pipe();
		uint64_t ident = (uint64_t)pipe.r;

		XT_OK(xt_add(sleeper.queue, pipe.r, READ,
		             modes[i] | XPOLL_DISABLE));
		xt_put(pipe.w);
		sleeper_start(&sleeper, sleeper_event);
		XT_OK(xt_flag(sleeper.queue, ident, READ, XPOLL_ENABLE));
		XT_CHECK(sleeper_got(&sleeper, ident, READ));
	}
}

/* The filter is enabled while the thread waits, and the data comes only after that. */
XT_TEST(enable_then_data_wakes_the_waiter)
{
	for (int i = 0; i < 4; i++) {
		struct sleeper sleeper = {.queue = xt_open()};
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);
		uint64_t ident = (uint64_t)pair.r;

		XT_OK(xt_add(sleeper.queue, pair.r, READ, modes[i]));
		sleeper_start(&sleeper, sleeper_event);
		for (int j = 0; j < 3; j++) {
			XT_OK(xt_flag(sleeper.queue, ident, READ,
			              XPOLL_DISABLE));
			XT_OK(xt_flag(sleeper.queue, ident, READ,
			              XPOLL_ENABLE));
		}
		xt_asleep(sleeper.thread);
		xt_put(pair.w);
		XT_CHECK(sleeper_got(&sleeper, ident, READ));
	}
}

/* Hazard 2: one thread renews the epoll set while another one sleeps in the old set. */
XT_TEST(hazard_02_adds_after_a_renewal_wake_both_waiters)
{
	struct xpoll *queue = xt_open_quiet();
	struct sleeper first = {.queue = queue}, second = {.queue = queue};
	struct xt_pair old = xt_pipe(), ready[2] = {xt_pipe(), xt_pipe()};
	int number = old.r;

	XT_OK(xt_add(queue, number, READ, XPOLL_CLEAR));
	(void)xt_dup(number);
	xt_number(xt_pipe().r, number);
	XT_OK(xt_add(queue, number, READ, 0));
	sleeper_start(&first, sleeper_event);
	sleeper_start(&second, sleeper_event);
	/* Cause edges of the closed file; each wakes the thread that went to sleep last. */
	for (int i = 0; i < 10 && xt_stats(queue).rebuilds == 0; i++) {
		xt_put(old.w);
		xt_asleep(first.thread);
		xt_asleep(second.thread);
	}
	for (int i = 0; i < 2; i++) {
		xt_put(ready[i].w);
		XT_OK(xt_add(queue, ready[i].r, READ, XPOLL_ONESHOT));
	}
	xt_join(first.thread);
	xt_join(second.thread);
	XT_CHECK(first.rc == 1 && second.rc == 1 && first.event.ident != second.event.ident);
}

XT_TEST(data_after_add_wakes_the_waiter)
{
	struct sleeper sleeper = {.queue = xt_open()};
	struct xt_pair pipe = xt_pipe();

	sleeper_start(&sleeper, sleeper_event);
	XT_OK(xt_add(sleeper.queue, pipe.r, READ, 0));
	xt_asleep(sleeper.thread);
	xt_put(pipe.w);
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)pipe.r, READ));
}

/*
 * A descriptor with an edge-triggered and a level-triggered filter gets a second entry, which must
 * wake a thread that is asleep already.
 */
XT_TEST(data_after_add_of_an_edge_and_a_level_wakes_the_waiter)
{
	static const int clear[][2] = {{XPOLL_CLEAR, 0}, {0, XPOLL_CLEAR}};

	for (int i = 0; i < 2; i++) {
		struct sleeper sleeper = {.queue = xt_open()};
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		sleeper_start(&sleeper, sleeper_event);
		XT_OK(xt_add(sleeper.queue, pair.r, READ, clear[i][0]));
		XT_OK(xt_add(sleeper.queue, pair.r, WRITE, XPOLL_DISABLE | clear[i][1]));
		XT_OK(xt_flag(sleeper.queue, (uint64_t)pair.r, WRITE, XPOLL_ENABLE));
		XT_CHECK(sleeper_got(&sleeper, (uint64_t)pair.r, WRITE));
	}
}

XT_TEST(add_of_file_wakes_the_waiter)
{
	struct sleeper sleeper = {.queue = xt_open()};
	int file = xt_file("text");

	sleeper_start(&sleeper, sleeper_event);
	XT_OK(xt_add(sleeper.queue, file, READ, 0));
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)file, READ));
	XT_OK(xt_flag(sleeper.queue, (uint64_t)file, READ, XPOLL_DISABLE));
	sleeper_start(&sleeper, sleeper_event);
	XT_OK(xt_flag(sleeper.queue, (uint64_t)file, READ, XPOLL_ENABLE));
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)file, READ));
}

XT_TEST(trigger_wakes_the_waiter)
{
	struct sleeper sleeper = {.queue = xt_open()};

	XT_OK(xt_flag(sleeper.queue, 5, USER, XPOLL_ADD));
	sleeper_start(&sleeper, sleeper_event);
	XT_OK(xt_trigger(sleeper.queue, 5));
	XT_CHECK(sleeper_got(&sleeper, 5, USER));
}

/* Complaint: A change waits until the waiter returns. */
XT_TEST(ctl_wakes_the_poll_like_waiter)
{
	for (int i = 0; i < 2; i++) {
		struct sleeper sleeper = {.queue = xt_open()};
		struct xt_pair pipe = xt_pipe();
		void *data = NULL;

		if (i == 1)
			XT_EQ(xpoll_ctl(sleeper.queue,
			                XPOLL_ADD | XPOLL_DISABLE, POLLIN,
			                pipe.r, &pipe),
			      0);
		xt_put(pipe.w);
		sleeper_start(&sleeper, sleeper_poll_like);
		XT_EQ(xpoll_ctl(sleeper.queue,
		                i == 0 ? XPOLL_ADD : XPOLL_ENABLE, POLLIN,
		                pipe.r, &pipe),
		      0);
		xt_join(sleeper.thread);
		XT_EQ(sleeper.rc, 1);
		XT_EQ(xpoll_revents(sleeper.queue, &data), POLLIN);
		XT_EXPECT(data == &pipe);
	}
}

/*
 * Changes that make no registration ready return, and the wait continues.
 *
 * Complaint: A change waits until the waiter returns.
 */
XT_TEST(changes_return_while_a_wait_is_blocked)
{
	struct sleeper sleeper = {.queue = xt_open()};
	struct xt_pair pipe = xt_pipe();
	struct xt_pair other = xt_pipe();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	sleeper_start(&sleeper, sleeper_event);
	for (int i = 0; i < 20; i++) {
		XT_OK(xt_add(sleeper.queue, pipe.r, READ, 0));
		XT_OK(xt_add(sleeper.queue, other.r, READ, XPOLL_CLEAR));
		XT_OK(xt_flag(sleeper.queue, ident, READ, XPOLL_DISABLE));
		XT_EQ(xpoll_lookup(sleeper.queue, ident, READ, &now), 0);
		XT_OK(xt_flag(sleeper.queue, ident, READ, XPOLL_ENABLE));
		XT_OK(xt_flag(sleeper.queue, ident, READ, XPOLL_DELETE));
		XT_OK(xt_flag(sleeper.queue, 1, USER, XPOLL_ADD));
		XT_OK(xt_flag(sleeper.queue, 1, USER, XPOLL_DELETE));
		(void)xt_stats(sleeper.queue);
		XT_CHECK(!xt_done(sleeper.thread));
	}
	xt_put(other.w);
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)other.r, READ));
}

/* A wait that was made with a change does not keep other threads from waiting. */
XT_TEST(second_waiter_with_timeout_returns_beside_a_blocked_one)
{
	struct sleeper sleeper = {.queue = xt_open()};
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	XT_OK(xt_add(sleeper.queue, pipe.r, READ, 0));
	sleeper_start(&sleeper, sleeper_event);
	for (int i = 0; i < 10; i++) {
		XT_EQ(xpoll_event(sleeper.queue, NULL, 0, &event, 1, 0), 0);
		XT_EQ(xpoll_event(sleeper.queue, NULL, 0, &event, 1, 300000),
		      0);
	}
	xt_put(pipe.w);
	XT_CHECK(sleeper_got(&sleeper, (uint64_t)pipe.r, READ));
}

/* Hazard 21: the queue was used by one thread first, and then by several. */
XT_TEST(hazard_21_queue_from_before_the_threads_works_with_them)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	for (int i = 0; i < 50; i++) {
		struct sleeper sleeper = {.queue = queue};

		sleeper_start(&sleeper, sleeper_event);
		XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
		XT_CHECK(sleeper_got(&sleeper, (uint64_t)pipe.r, READ));
	}
}
