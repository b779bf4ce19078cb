/*
 * Goal: xpoll_close_fd and xpoll_forget_fd remove a descriptor from every queue
 * of the process before they return, on every back end and even if duplicates
 * are open (S6, S7).
 * Method: several queues and back ends, duplicates with unread data, reuse of
 * the descriptor, and waiting threads.
 */
#include "xt.h"

XT_TEST(close_fd_closes_and_forgets_in_all_queues)
{
	struct xpoll *queues[3] = {xt_open(), xt_open_quiet(), xt_open_quiet()};
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pair.r;

	xt_put(pair.w);
	for (int i = 0; i < 3; i++) {
		XT_OK(xt_add(queues[i], pair.r, READ, i ? XPOLL_CLEAR : 0));
		XT_OK(xt_add(queues[i], pair.r, WRITE, XPOLL_DISPATCH));
	}
	XT_EQ(xpoll_close_fd(pair.r), 0);
	XT_EXPECT(fcntl((int)ident, F_GETFD) < 0);
	for (int i = 0; i < 3; i++) {
		XT_FAILS(xpoll_lookup(queues[i], ident, READ, &now), ENOENT);
		XT_FAILS(xpoll_lookup(queues[i], ident, WRITE, &now), ENOENT);
		XT_NONE(queues[i]);
	}
}

XT_TEST(close_fd_across_back_ends_is_exact)
{
	const char *names[8];
	struct xpoll *queues[8];
	struct xt_pair pipe = xt_pipe();
	int count = xpoll_backends(names, 8);

	for (int i = 0; i < count; i++) {
		queues[i] = xt_open_on(names[i]);
		XT_OK(xt_add(queues[i], pipe.r, READ, 0));
	}
	xt_put(pipe.w);
	for (int i = 0; i < count; i++)
		XT_GETS(queues[i], NULL, pipe.r, READ);
	(void)xt_dup(pipe.r);
	XT_EQ(xpoll_close_fd(pipe.r), 0);
	for (int i = 0; i < count; i++)
		XT_NONE(queues[i]);
}

/*
 * S7: poll and select do not detect a close, so the program calls xpoll_close_fd.
 * Complaint: A closed file whose duplicate is open reports for ever.
 */
XT_TEST(close_fd_and_reused_number_gets_no_stale_event)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	for (int i = 0; i < 4; i++) {
		struct xt_pair old = xt_pipe();
		struct xt_pair new = xt_pipe();
		int number = old.r;
		uint64_t ident = (uint64_t)number;

		XT_OK(xt_add(queue, number, READ, 0));
		if (i & 1) {
			XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
			XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		}
		xt_put(old.w);
		XT_GETS(queue, NULL, number, READ);
		if (i & 2)
			(void)xt_dup(number);
		XT_EQ(xpoll_close_fd(number), 0);
		xt_put(new.w);
		xt_number(new.r, number);
		XT_NONE(queue);
		XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), ENOENT);
		XT_OK(xt_add(queue, number, READ, XPOLL_CLEAR));
		XT_GETS(queue, NULL, number, READ);
		XT_NONE(queue);
		XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	}
}

/* The duplicate is a registration of its own, and stays. */
XT_TEST(close_fd_leaves_a_registered_duplicate_alone)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	int copy = xt_dup(pipe.r);

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(queue, copy, READ, 0));
	XT_EQ(xpoll_close_fd(pipe.r), 0);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, copy, READ);
}

XT_TEST(forget_fd_keeps_it_open)
{
	struct xpoll *queue = xt_open();
	struct xpoll *other = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_add(other, pipe.r, READ, XPOLL_ONESHOT));
	XT_EQ(xpoll_forget_fd(pipe.r), 0);
	XT_NONE(queue);
	XT_NONE(other);
	XT_EQ(xpoll_forget_fd(pipe.r), 0);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_EQ(xt_get(pipe.r), 'x');
}

XT_TEST(close_fd_of_unregistered_just_closes)
{
	struct xt_pair pipe = xt_pipe();
	int file = xt_file("text");

	XT_EQ(xpoll_close_fd(pipe.r), 0);
	XT_FAILS(xpoll_close_fd(pipe.r), EBADF);
	XT_EQ(xpoll_close_fd(file), 0);
}

XT_TEST(close_fd_of_a_file_is_forgotten_too)
{
	struct xpoll *queue = xt_open();
	int file = xt_file("text");

	XT_OK(xt_add(queue, file, READ, 0));
	XT_OK(xt_add(queue, file, WRITE, 0));
	XT_EQ(xpoll_close_fd(file), 0);
	XT_NONE(queue);
}

/* S6: also an event that had no room before, and one between xpoll_wait and xpoll_revents */
XT_TEST(close_fd_of_a_carried_over_event_takes_it_along)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	struct xpoll_event event;

	xt_put(one.w);
	xt_put(two.w);
	XT_OK(xt_add(queue, one.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, two.r, READ, XPOLL_CLEAR));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EQ(xpoll_close_fd(one.r), 0);
	XT_EQ(xpoll_close_fd(two.r), 0);
	XT_NONE(queue);
}

XT_TEST(close_fd_before_revents_is_left_out)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipe.r, NULL), 0);
	XT_EQ(xpoll_wait(queue, -1), 1);
	XT_EQ(xpoll_close_fd(pipe.r), 0);
	XT_EQ(xpoll_revents(queue, NULL), 0);
}

/* The descriptor is closed while a thread waits for it, perhaps inside poll(2) or select(2). */
XT_TEST(close_fd_while_a_thread_waits_is_not_delivered)
{
	struct xt_sleeper sleeper = {.queue = xt_open(), .timeout_ns = -1};
	struct xt_pair gone = xt_pipe();
	struct xt_pair stays = xt_pipe();
	int copy = xt_dup(gone.r);

	XT_OK(xt_add(sleeper.queue, gone.r, READ, 0));
	XT_OK(xt_add(sleeper.queue, stays.r, READ, 0));
	struct xt_thread *thread = xt_start(xt_sleep, &sleeper);
	xt_asleep(thread);
	XT_EQ(xpoll_close_fd(gone.r), 0);
	xt_put(gone.w);
	XT_EQ(xt_get(copy), 'x');
	xt_put(stays.w);
	xt_join(thread);
	XT_EQ(sleeper.rc, 1);
	XT_EXPECT_EQ(sleeper.event.ident, stays.r);
}

/*
 * Two threads wait in queues of their own, and one thread closes descriptors in both: no deadlock.
 */
struct churn {
	struct xpoll *queue;
	int rounds;
};

static void churn_run(void *argument)
{
	struct churn *churn = argument;

	for (int i = 0; i < churn->rounds; i++) {
		int ends[2];

		if (pipe(ends) < 0)
			return;
		(void)XT_EXPECT_STATUS(xt_add(churn->queue, ends[0], READ, 0),
		                       0);
		(void)XT_EXPECT_STATUS(
		    xt_add(churn->queue, ends[1], WRITE, XPOLL_DISPATCH), 0);
		if (i % 10 == 0) {
			struct xpoll *own = xpoll_open(NULL);

			(void)XT_EXPECT(own != NULL);
			xpoll_destroy(own);
		}
		(void)XT_EXPECT_EQ(xpoll_close_fd(ends[0]), 0);
		(void)XT_EXPECT_EQ(xpoll_close_fd(ends[1]), 0);
	}
}

XT_TEST(close_fd_from_two_threads_and_two_queues)
{
	int rounds = XT_SLOW && !XT_SANITIZED ? 100 : 1000;
	struct churn churns[2] = {{.queue = xt_open(), .rounds = rounds},
	                          {.queue = xt_open(), .rounds = rounds}};
	struct xt_thread *threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(churn_run, &churns[i]);
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
	XT_NONE(churns[0].queue);
	XT_NONE(churns[1].queue);
}
