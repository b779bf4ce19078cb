/*
 * Goal: a set (the drop-in's epoll set for one array) that costs more than the
 * real function is soon given up, and its place in the program is retried at
 * growing intervals; a set that saves time is kept.
 * Method: white box.  The test decides how many of the eventfds are ready or
 * closed; the drop-in counts the system calls of the calls that it serves.
 * Each test has a process of its own, because all tests call from one place.
 */
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "dropin.h"
#include "export.h"
#include "real.h"
#include "settings.h"
#include "sites.h"
#include "stats.h"

enum { SITE = 0x2000, LEN = 64, AFTER = 10 };

static struct pollfd fds[LEN];

static void open_all(int ready)
{
	settings.least = 32;
	settings.after = AFTER;
	for (int i = 0; i < LEN; i++) {
		int fd = xt_keep(eventfd(i < ready, EFD_NONBLOCK));

		fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
}

static void reopen(int i)
{
	int fd = fds[i].fd;

	XT_EQ(close(fd), 0);
	fds[i].fd = eventfd(0, EFD_NONBLOCK);
	XT_EQ(fds[i].fd, fd);
}

/*
 * Make this number of calls from one place in the program, with `closed` entries closed and opened
 * again before each.  Returns how many calls the drop-in served without the C library.
 */
__attribute__((noinline)) static int served_of(int calls, int ready, int closed)
{
	int served = 0;

	for (int i = 0; i < calls; i++) {
		uint64_t before = xpoll_poll_syscalls();
		volatile int rc;

		for (int k = 0; k < closed; k++)
			reopen((i * closed + k) % LEN);
		rc = poll(fds, LEN, 0);
		XT_EXPECT_EQ(rc, ready);
		served += xpoll_poll_syscalls() > before;
	}
	return served;
}

static void nothing_is_ready(void *unused)
{
	uint64_t before;

	(void)unused;
	XT_CALL(open_all(0));
	(void)served_of(200, 0, 0); /* after these calls the kernel watches all descriptors */
	before = xpoll_poll_syscalls();
	XT_EQ(served_of(10000, 0, 0), 10000);
	XT_EQ(xpoll_poll_syscalls() - before, 10000);
}

XT_TEST(set_of_which_nothing_is_ready_stays_and_makes_one_system_call)
{
	XT_CHECK(xt_child(nothing_is_ready, NULL));
}

static void tenth_is_ready(void *unused)
{
	(void)unused;
	XT_CALL(open_all(LEN / 10));
	XT_CHECK(served_of(5000, LEN / 10, 0) >= 5000 - AFTER - 1);
}

XT_TEST(set_of_which_a_tenth_is_ready_stays)
{
	XT_CHECK(xt_child(tenth_is_ready, NULL));
}

static void half_are_ready(void *unused)
{
	int served;

	(void)unused;
	XT_CALL(open_all(LEN / 2));
	served = served_of(1000, LEN / 2, 0);
	XT_CHECK(served > 0 && served <= 200);
}

XT_TEST(set_of_which_half_are_ready_is_given_up)
{
	XT_CHECK(xt_child(half_are_ready, NULL));
}

static void tenth_is_closed(void *unused)
{
	int served;

	(void)unused;
	XT_CALL(open_all(0));
	served = served_of(1000, 0, LEN / 10);
	XT_CHECK(served > 0 && served <= 200);
}

XT_TEST(set_of_which_a_tenth_is_closed_before_each_call_is_given_up)
{
	XT_CHECK(xt_child(tenth_is_closed, NULL));
}

static void all_become_ready(void *unused)
{
	(void)unused;
	XT_CALL(open_all(0));
	XT_CHECK(served_of(5000, 0, 0) >= 5000 - AFTER - 1);
	for (int i = 0; i < LEN; i++)
		XT_EQ(eventfd_write(fds[i].fd, 1), 0);
	XT_CHECK(served_of(1000, LEN, 0) <= 200);
}

XT_TEST(set_that_becomes_slower_is_given_up_soon)
{
	XT_CHECK(xt_child(all_become_ready, NULL));
}

static int look_only(struct pollfd *sleep, nfds_t count, const struct timespec *timeout,
                     const sigset_t *mask)
{
	struct timespec zero = {0};

	(void)timeout;
	return (int)syscall(SYS_ppoll, sleep, count, &zero, mask, 8);
}

/* Call ppoll(2) from a place in the program of its own, with a timeout of a nanosecond. */
__attribute__((noinline)) static int wait_for_an_instant(void)
{
	struct timespec instant = {.tv_nsec = 1};
	volatile int rc = ppoll(fds, LEN, &instant, NULL);

	return rc;
}

/* Make this number of calls that wait; in every 400th of them a descriptor is ready. */
static void wait_mostly_in_vain(int calls)
{
	for (int i = 1; i <= calls; i++) {
		bool ready = i % 400 == 0;
		eventfd_t value;

		if (ready)
			XT_EXPECT_EQ(eventfd_write(fds[5].fd, 1), 0);
		XT_EXPECT_EQ(wait_for_an_instant(), ready);
		if (ready)
			XT_EXPECT_EQ(eventfd_read(fds[5].fd, &value), 0);
	}
}

static void most_calls_time_out(void *unused)
{
	(void)unused;
	XT_CALL(open_all(0));
	real.ppoll = look_only;
	wait_mostly_in_vain(20000);
	XT_EQ(stats.sets, 1);
	XT_EQ(stats.evicted, 0);
}

XT_TEST(set_of_which_most_calls_time_out_stays)
{
	XT_CHECK(xt_child(most_calls_time_out, NULL));
}

static void most_calls_are_real(void *unused)
{
	(void)unused;
	XT_CALL(open_all(0));
	real.ppoll = look_only;
	wait_mostly_in_vain(40); /* after these calls the kernel watches all descriptors */
	settings.recheck_ns = -2; /* after these calls the kernel watches all descriptors */
	wait_mostly_in_vain(4000);
	settings.recheck_ns = 0;
	wait_mostly_in_vain(400);
	XT_EQ(stats.sets, 1);
	XT_EQ(stats.evicted, 0);
}

XT_TEST(set_that_is_often_compared_with_a_real_call_stays)
{
	XT_CHECK(xt_child(most_calls_are_real, NULL));
}

/* --- Places in the program ------------------------------------------------------ */

static int calls_until_ripe(void)
{
	int calls = 1;

	while (!sites_set_is_due(SITE))
		calls++;
	return calls;
}

XT_TEST(place_is_tried_again_ever_more_rarely_unless_its_set_was_used)
{
	settings.after = AFTER;
	XT_EQ(calls_until_ripe(), AFTER + 1);
	sites_back_off(SITE, 50);
	XT_EQ(calls_until_ripe(), AFTER * 128 + 1);
	for (int i = 0; i < 3; i++) {
		sites_back_off(SITE, 50);
		XT_EQ(calls_until_ripe(), AFTER * 2048 + 1);
	}
	sites_back_off(SITE, 100000);
	XT_EQ(calls_until_ripe(), AFTER * 128 + 1);
}

XT_TEST(places_that_share_an_entry_of_the_table_get_their_sets)
{
	enum { ONE = 0x4001, OTHER = 0x5011 };
	int calls = 0;

	settings.after = AFTER;
	while (!sites_set_is_due(ONE) && !sites_set_is_due(OTHER) && calls < 1000)
		calls++;
	XT_CHECK(calls <= AFTER);
}
