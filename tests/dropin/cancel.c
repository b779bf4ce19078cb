/*
 * Goal: a thread that is cancelled in poll(2), ppoll(2), select(2) or pselect(2) ends there,
 * and never later, while it has disabled cancellation.
 * Method: a storm of pthread_cancel (tests/lib/xt_cancel.h).
 */
#include "dropin.h"
#include "xt_cancel.h"

#include <sys/select.h>

enum { CANCELS = 100, LIMIT_US = 50, SOON_MS = 20000 };

/* The storm's pipe is the last entry of the array. */
struct waiting {
	struct pollfd fds[CROWD];
	fd_set set;
	int max;
};

static void wait_poll(struct xt_storm *storm, bool limited)
{
	struct waiting *waiting = storm->object;

	(void)XT_EXPECT(poll(waiting->fds, CROWD, limited ? 1 : SOON_MS) >= 0);
}

static void wait_poll_for_ever(struct xt_storm *storm, bool limited)
{
	struct waiting *waiting = storm->object;

	(void)limited;
	(void)XT_EXPECT(poll(waiting->fds, CROWD, -1) >= 0);
}

static void wait_ppoll(struct xt_storm *storm, bool limited)
{
	struct waiting *waiting = storm->object;
	struct timespec limit = {.tv_nsec = LIMIT_US * 1000L};
	sigset_t empty;

	(void)sigemptyset(&empty);
	(void)XT_EXPECT(ppoll(waiting->fds, CROWD, limited ? &limit : NULL, &empty) >= 0);
}

static void wait_select(struct xt_storm *storm, bool limited)
{
	struct waiting *waiting = storm->object;
	struct timeval limit = {.tv_usec = limited ? LIMIT_US : 0, .tv_sec = limited ? 0 : 20};
	fd_set set = waiting->set;

	(void)XT_EXPECT(select(waiting->max + 1, &set, NULL, NULL, &limit) >= 0);
}

static void wait_pselect(struct xt_storm *storm, bool limited)
{
	struct waiting *waiting = storm->object;
	struct timespec limit = {.tv_nsec = LIMIT_US * 1000L};
	fd_set set = waiting->set;
	sigset_t empty;

	(void)sigemptyset(&empty);
	(void)XT_EXPECT(pselect(waiting->max + 1, &set, NULL, NULL, limited ? &limit : NULL,
	                        &empty) >= 0);
}

static void check(void (*wait)(struct xt_storm *storm, bool limited))
{
	struct waiting waiting = {.max = 0};
	struct xt_storm storm = {.wait = wait, .object = &waiting};

	XT_STORM_PREPARE(&storm);
	FD_ZERO(&waiting.set);
	for (int i = 0; i < CROWD; i++) {
		int fd = i == CROWD - 1 ? storm.pipe.r : xt_pipe().r;

		waiting.fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
		FD_SET(fd, &waiting.set);
		waiting.max = fd > waiting.max ? fd : waiting.max;
	}
	/* Poll until the drop-in watches the array. */
	xt_put(storm.pipe.w);
	for (int i = 0; i < CROWD; i++)
		wait(&storm, true);
	xt_drain(storm.pipe.r);
	XT_CALL(xt_storm_run(&storm, CANCELS));
	xt_put(storm.pipe.w);
	wait(&storm, false);
}

XT_TEST(cancelled_in_poll)
{
	XT_CALL(check(wait_poll));
}

XT_TEST(cancelled_in_poll_without_a_timeout)
{
	XT_CALL(check(wait_poll_for_ever));
}

XT_TEST(cancelled_in_ppoll)
{
	XT_CALL(check(wait_ppoll));
}

XT_TEST(cancelled_in_select)
{
	XT_CALL(check(wait_select));
}

XT_TEST(cancelled_in_pselect)
{
	XT_CALL(check(wait_pselect));
}
