/*
 * Goal: where many descriptors are ready and the caller takes few events at a
 * time, the array back ends do not poll all descriptors in each wait.
 * Method: the polling system calls are wrapped at link time; they and the
 * entries that they poll are counted.  All descriptors are always ready; the
 * test waits until each was reported several times.
 */
#include "xt.h"

#include <sys/eventfd.h>

#include "sys/sys.h"

enum { DESCRIPTORS = 600, TIMES = 4 };

static long looks;   /* polling system calls */
static long looked;  /* entries in all these calls */
static long at_all;  /* calls that polled all descriptors */

static void count_look(size_t entries)
{
	looks++;
	looked += (long)entries;
	at_all += entries >= DESCRIPTORS;
}

XT_WRAP(xp_sys_poll_now);
XT_WRAP(xp_sys_poll_wait);
XT_WRAP(xp_sys_select_now);
XT_WRAP(xp_sys_select_wait);

int __wrap_xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	count_look(count);
	return __real_xp_sys_poll_now(fds, count);
}

int __wrap_xp_sys_poll_wait(struct pollfd *fds, size_t count,
                            int64_t deadline_ns, const sigset_t *mask)
{
	count_look(count);
	return __real_xp_sys_poll_wait(fds, count, deadline_ns, mask);
}

int __wrap_xp_sys_select_now(int count, long *in, long *out, long *except)
{
	count_look((size_t)count);
	return __real_xp_sys_select_now(count, in, out, except);
}

int __wrap_xp_sys_select_wait(int count, long *const sets[3],
                              int64_t deadline_ns, const sigset_t *mask)
{
	count_look((size_t)count);
	return __real_xp_sys_select_wait(count, sets, deadline_ns, mask);
}

struct crowd {
	struct xpoll *queue;
	int ready; /* an eventfd; the registered descriptors are duplicates of it */
	int fds[DESCRIPTORS];
	int times[DESCRIPTORS]; /* number of events of each descriptor */
};

static void crowd_open(struct crowd *crowd)
{
	*crowd = (struct crowd){.queue = xt_open_quiet()};
	crowd->ready = xt_keep(eventfd(1, EFD_NONBLOCK));
	for (int i = 0; i < DESCRIPTORS; i++) {
		crowd->fds[i] = xt_keep(dup(crowd->ready));
		XT_OK(xt_change(crowd->queue, (uint64_t)crowd->fds[i], READ, XPOLL_ADD, 0, 0,
		                &crowd->times[i]));
	}
	looks = looked = at_all = 0;
}

/* Wait until each descriptor was reported `times` times.  Returns the number of waits. */
static long take_all(struct crowd *crowd, int nevents, int times)
{
	struct xpoll_event events[DESCRIPTORS];
	long waits = 0;
	int done = 0;

	for (; done < DESCRIPTORS && !xt_failures(); waits++) {
		int count = xpoll_event(crowd->queue, NULL, 0, events, nevents, -1);

		XT_EXPECT(count > 0);
		for (int i = 0; i < count; i++)
			done += ++*(int *)events[i].udata == times;
	}
	return waits;
}

static void check_rounds(int nevents)
{
	static struct crowd crowd;
	long rounds = (DESCRIPTORS + nevents - 1) / nevents;
	long waits;

	XT_CALL(crowd_open(&crowd));
	waits = take_all(&crowd, nevents, TIMES);
	xt_note("%d at a time: %ld waits, %ld looks at %ld, %ld at all",
	        nevents, waits, looks, looked, at_all);
	/* No descriptor is reported much more often than the others. */
	XT_CHECK(waits <= (TIMES + 1) * (rounds + 1));
	for (int i = 0; i < DESCRIPTORS; i++)
		XT_CHECK(crowd.times[i] <= TIMES + 2);
	/* All descriptors are checked once in each round, not in each wait. */
	XT_CHECK(at_all <= 2 * TIMES);
	XT_CHECK(looks <= 2 * waits + 2 * TIMES);
	/*
	 * Further entries are the reported descriptors, polled again, and the back end's own
	 * descriptors.
	 */
	XT_CHECK(looked <= 2 * TIMES * (DESCRIPTORS + 100) +
	                   (TIMES + 1) * (DESCRIPTORS + 3 * rounds));
}

XT_TEST(all_ready_one_at_a_time_looks_at_all_once_a_round)
{
	check_rounds(1);
}

XT_TEST(all_ready_seven_at_a_time_looks_at_all_once_a_round)
{
	check_rounds(7);
}

XT_TEST(all_ready_many_at_a_time_looks_at_all_once_a_round)
{
	check_rounds(250);
}

/* S8: a ready descriptor for which the array had no room is polled again before it is reported. */
XT_TEST(what_did_not_fit_and_was_read_meanwhile_is_not_reported)
{
	static struct crowd crowd;
	struct xpoll_event events[8];
	eventfd_t value;

	XT_CALL(crowd_open(&crowd));
	XT_EQ(xpoll_event(crowd.queue, NULL, 0, events, 8, 0), 8);
	XT_EQ(eventfd_read(crowd.ready, &value), 0);
	XT_EQ(xpoll_event(crowd.queue, NULL, 0, events, 8, 0), 0);
	XT_EQ(eventfd_write(crowd.ready, 1), 0);
	XT_EQ(xpoll_event(crowd.queue, NULL, 0, events, 8, 0), 8);
}

/*
 * Registrations that were disabled or deleted, or whose descriptor was closed, while they waited
 * for room are not reported either.
 */
XT_TEST(what_did_not_fit_and_was_taken_out_is_not_reported)
{
	static struct crowd crowd;
	struct xpoll_event events[8];
	int left = DESCRIPTORS;

	XT_CALL(crowd_open(&crowd));
	XT_EQ(xpoll_event(crowd.queue, NULL, 0, events, 8, 0), 8);
	for (int i = 0; i < DESCRIPTORS; i++) {
		if (i % 5 == 0)
			continue;
		if (i % 5 < 3)
			XT_OK(xt_flag(crowd.queue, (uint64_t)crowd.fds[i], READ,
			              i % 5 == 1 ? XPOLL_DISABLE : XPOLL_DELETE));
		else
			XT_EQ(xpoll_close_fd(crowd.fds[i]), 0);
		crowd.times[i] = -1000;
		left--;
	}
	for (int waits = 0; left > 0 && waits < DESCRIPTORS; waits++) {
		int count = xpoll_event(crowd.queue, NULL, 0, events, 8, 0);

		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			int *times = events[i].udata;

			XT_CHECK(*times >= 0);
			left -= ++*times == 1;
		}
	}
	XT_EQ(left, 0);
}

/*
 * A descriptor that becomes ready while others wait for room is reported within a bounded number of
 * waits.
 */
XT_TEST(newcomer_among_what_did_not_fit_comes_in_one_round)
{
	static struct crowd crowd;
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event events[8];
	int rounds = (DESCRIPTORS + 7) / 8;
	int waits = 0;
	bool came = false;

	XT_CALL(crowd_open(&crowd));
	XT_OK(xt_change(crowd.queue, (uint64_t)pipe.r, READ, XPOLL_ADD, 0, 0, &pipe));
	XT_EQ(xpoll_event(crowd.queue, NULL, 0, events, 8, 0), 8);
	xt_put(pipe.w);
	for (; !came && waits <= 2 * rounds + 2; waits++) {
		int count = xpoll_event(crowd.queue, NULL, 0, events, 8, 0);

		for (int i = 0; i < count; i++)
			came |= events[i].udata == &pipe;
	}
	XT_CHECK(came);
}

/*
 * The wake-up descriptor takes the room of a descriptor that was polled already; that one must not
 * be lost.
 */
XT_TEST(wake_among_what_did_not_fit_loses_nothing)
{
	static struct crowd crowd;
	struct xpoll_event events[8];
	int left = DESCRIPTORS;

	XT_CALL(crowd_open(&crowd));
	for (int waits = 0; left > 0; waits++) {
		int count;

		XT_CHECK(waits <= DESCRIPTORS / 4);
		XT_EQ(xpoll_wake(crowd.queue), 0);
		count = xpoll_event(crowd.queue, NULL, 0, events, 8, 0);
		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++)
			left -= ++*(int *)events[i].udata == 1;
	}
}
