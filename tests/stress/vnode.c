/*
 * Stress: files are written while registrations of these and of other files
 * come and go, by DELETE, by close(2) and by xpoll_close_fd (S23, S17).
 * Oracle: a writer continues only when its event has come, so a lost event
 * shows as a hang.  At the end only registrations that were not deleted are
 * left.
 */
#include "xt.h"

#include <sched.h>

enum { WAITERS = 2, WRITERS = 2, CHURNERS = 2 };

struct storm {
	struct xpoll *queue;
	int64_t end_ns;
	int files[WRITERS];
	atomic_int number;
	atomic_int churner;
	atomic_int senders_left;
	atomic_int come[WRITERS];
};

static int add(struct xpoll *queue, int fd, int flags, uint32_t notes)
{
	return xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD | flags, notes, 0,
	                 NULL);
}

/* Write to the file, and wait each time until the event of the write is delivered. */
static void write_often(void *argument)
{
	struct storm *storm = argument;
	int me = atomic_fetch_add(&storm->number, 1);

	while (xt_now() < storm->end_ns) {
		int before = atomic_load(&storm->come[me]);

		(void)XT_EXPECT_EQ(pwrite(storm->files[me], "x", 1, 0), 1);
		xt_until(&storm->come[me], before + 1);
	}
	atomic_fetch_sub(&storm->senders_left, 1);
}

/*
 * A function of its own, so that suppressions of ThreadSanitizer can name it: its races are
 * intended.
 */
static __attribute__((noinline)) int churn_open(const struct storm *storm,
                                                uint32_t dice, const char *name)
{
	if (dice & 1)
		return dup(storm->files[dice / 2 % WRITERS]);
	return open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static __attribute__((noinline)) void churn_close(int fd)
{
	(void)close(fd);
}

/* Make and end registrations of the writers' files and of other files. */
static void churn(void *argument)
{
	struct storm *storm = argument;
	int me = atomic_fetch_add(&storm->churner, 1);
	uint64_t random = xt_seed() + (uint64_t)me;
	char names[2][4096];

	for (int i = 0; i < 2; i++)
		(void)snprintf(names[i], sizeof *names, "%s/churn-%d-%d",
		               xt_scratch(), me, i);
	while (xt_now() < storm->end_ns) {
		uint32_t dice = xt_random(&random);
		int fd = churn_open(storm, dice, names[0]);

		(void)XT_EXPECT(fd >= 0);
		(void)XT_EXPECT_STATUS(add(storm->queue, fd, XPOLL_DISABLE,
		                           XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE |
		                           XPOLL_NOTE_RENAME), 0);
		if (!(dice & 1)) {
			(void)XT_EXPECT_EQ(rename(names[0], names[1]), 0);
			(void)XT_EXPECT_EQ(unlink(names[1]), 0);
		}
		switch (dice >> 8 & 3) {
		case 0:
			(void)xpoll_close_fd(fd);
			break;
		case 1:
			churn_close(fd);
			break;
		default:
			(void)xt_flag(storm->queue, (uint64_t)fd, VNODE,
			              XPOLL_DELETE);
			churn_close(fd);
			break;
		}
	}
	atomic_fetch_sub(&storm->senders_left, 1);
}

static void wait_and_count(void *argument)
{
	struct storm *storm = argument;

	while (atomic_load(&storm->senders_left) > 0) {
		struct xpoll_event events[4];
		int count = xpoll_event(storm->queue, NULL, 0, events, 4, -1);

		if (!XT_EXPECT(count >= 0))
			return;
		for (int i = 0; i < count; i++) {
			atomic_int *come = events[i].udata;

			if (XT_EXPECT(come && events[i].filter == VNODE))
				atomic_fetch_add(come, 1);
		}
	}
}

XT_TEST(stress_vnode_writes_none_is_lost)
{
	double seconds = xt_stress_seconds(1);
	struct storm storm = {.queue = xt_open_quiet(),
	                      .senders_left = WRITERS + CHURNERS};
	struct xt_thread *senders[WRITERS + CHURNERS];
	struct xt_thread *waiters[WAITERS];

	(void)xt_scratch(); /* make the directory before threads are started */
	xt_watchdog((unsigned)seconds + 30);
	storm.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < WRITERS; i++) {
		storm.files[i] = xt_file("text");
		XT_OK(xt_change(storm.queue, (uint64_t)storm.files[i], VNODE,
		                XPOLL_ADD, XPOLL_NOTE_WRITE, 0, &storm.come[i]));
	}
	for (int i = 0; i < WAITERS; i++)
		waiters[i] = xt_start(wait_and_count, &storm);
	for (int i = 0; i < WRITERS + CHURNERS; i++)
		senders[i] = xt_start(i < WRITERS ? write_often : churn, &storm);
	for (int i = 0; i < WRITERS + CHURNERS; i++)
		xt_join(senders[i]);
	for (int i = 0; i < WAITERS; i++)
		xt_send_home(storm.queue, waiters[i]);
	for (int i = 0; i < WRITERS; i++) {
		XT_EXPECT(atomic_load(&storm.come[i]) > 0);
		XT_OK(xpoll_close_fd(storm.files[i]));
	}
	/*
	 * Remove registrations whose descriptors were closed by close(2), which the library did not
	 * see.
	 */
	for (int fd = 0; fd < 256; fd++)
		(void)xpoll_forget_fd(fd);
	XT_EXPECT_EQ(xt_stats(storm.queue).registered, 0);
}
