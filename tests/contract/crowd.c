/*
 * Goal: with two waiting threads and two changing ones, in every mode no event
 * is lost and none is delivered twice that must not be (S9, S10, S11, S16,
 * S17).
 * Method: the changers write bytes to some pipes and sockets, and enable,
 * disable or add these at random; the waiters read.  At the end all written
 * bytes were read, and the queue's own count of events equals the waiters'
 * count.
 */
#include "xt.h"

#include <sched.h>

enum { PAIRS = 8, WAITERS = 2, CHANGERS = 2 };

struct crowd {
	struct xpoll *queue;
	struct xt_pair pairs[PAIRS];
	int mode;
	int rounds;
	atomic_int changers_left;
	_Atomic long written;
	_Atomic long read;
	_Atomic long events;
	atomic_int number;
};

static bool crowd_arm(struct crowd *crowd, int fd)
{
	int rc = 0;

	if (crowd->mode & XPOLL_ONESHOT)
		rc = xt_add(crowd->queue, fd, READ, crowd->mode);
	else if (crowd->mode & XPOLL_DISPATCH)
		rc = xt_flag(crowd->queue, (uint64_t)fd, READ, XPOLL_ENABLE);
	return XT_EXPECT_STATUS(rc, 0);
}

static bool crowd_finished(struct crowd *crowd)
{
	return atomic_load(&crowd->changers_left) == 0 &&
	       atomic_load(&crowd->read) == atomic_load(&crowd->written);
}

static void crowd_wait(void *argument)
{
	struct crowd *crowd = argument;

	while (!crowd_finished(crowd) && !xt_failures()) {
		struct xpoll_event events[2];
		int rc = xpoll_event(crowd->queue, NULL, 0, events, 2, -1);

		if (!XT_EXPECT(rc >= 0))
			break;
		atomic_fetch_add(&crowd->events, rc);
		for (int i = 0; i < rc; i++) {
			int fd = (int)events[i].ident;

			atomic_fetch_add(&crowd->read, xt_drain(fd));
			if (!crowd_arm(crowd, fd))
				break;
		}
	}
	(void)xpoll_wake(crowd->queue);
}

/* Make one random change of the kind that suits the mode. */
static int crowd_change(struct crowd *crowd, int fd, uint32_t random)
{
	uint64_t ident = (uint64_t)fd;

	if (crowd->mode & XPOLL_ONESHOT)
		return xt_add(crowd->queue, fd, READ, crowd->mode);
	if (random % 4 == 0)
		return xt_add(crowd->queue, fd, READ, XPOLL_ENABLE);
	int rc = xt_flag(crowd->queue, ident, READ, XPOLL_DISABLE);
	if (rc == 0 && random % 4 == 1)
		(void)sched_yield();
	return rc ? rc : xt_flag(crowd->queue, ident, READ, XPOLL_ENABLE);
}

static void crowd_change_all(void *argument)
{
	struct crowd *crowd = argument;
	uint64_t seed =
	    xt_seed() + (uint64_t)atomic_fetch_add(&crowd->number, 1);

	for (int i = 0; i < crowd->rounds && !xt_failures(); i++) {
		uint32_t random = xt_random(&seed);
		struct xt_pair *pair = &crowd->pairs[random % PAIRS];

		/* Count the byte before it is written, because a waiter may read it at once. */
		atomic_fetch_add(&crowd->written, 1);
		if (write(pair->w, "x", 1) != 1)
			atomic_fetch_sub(&crowd->written, 1);
		pair = &crowd->pairs[random / PAIRS % PAIRS];
		(void)XT_EXPECT_STATUS(
		    crowd_change(crowd, pair->r, random / 64), 0);
	}
	atomic_fetch_sub(&crowd->changers_left, 1);
	(void)xpoll_wake(crowd->queue);
}

static void crowd_run(int mode)
{
	struct crowd crowd = {.queue = xt_open(),
	                      .mode = mode,
	                      .rounds = XT_SANITIZED ? 1000 : 3000,
	                      .changers_left = CHANGERS};
	struct xt_thread *threads[WAITERS + CHANGERS];

	for (int i = 0; i < PAIRS; i++) {
		crowd.pairs[i] =
		    i % 2 ? xt_pipe() : xt_socketpair(SOCK_STREAM);
		XT_OK(xt_add(crowd.queue, crowd.pairs[i].r, READ, mode));
	}
	uint64_t before = xt_stats(crowd.queue).events;
	for (int i = 0; i < WAITERS + CHANGERS; i++)
		threads[i] = xt_start(
		    i < WAITERS ? crowd_wait : crowd_change_all, &crowd);
	for (int i = 0; i < WAITERS + CHANGERS; i++)
		xt_join(threads[i]);
	XT_EQ(atomic_load(&crowd.read), atomic_load(&crowd.written));
	XT_EQ(xt_stats(crowd.queue).events - before,
	      atomic_load(&crowd.events));
}

XT_TEST(crowd_level_loses_nothing)
{
	crowd_run(0);
}

XT_TEST(crowd_clear_loses_nothing)
{
	crowd_run(XPOLL_CLEAR);
}

XT_TEST(crowd_dispatch_loses_nothing)
{
	crowd_run(XPOLL_DISPATCH);
}

XT_TEST(crowd_dispatch_clear_loses_nothing)
{
	crowd_run(XPOLL_DISPATCH | XPOLL_CLEAR);
}

XT_TEST(crowd_oneshot_loses_nothing)
{
	crowd_run(XPOLL_ONESHOT);
}
