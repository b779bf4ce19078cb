/*
 * Stress: threads close and reopen the same descriptors while others wait (S6,
 * S7, hazards 1 and 2).
 * Oracle: each registration has a serial number of its own as udata.  A wait
 * that began after a registration was deleted, or its descriptor closed, must
 * not return that serial number.
 */
#include "xt.h"

#include <sched.h>

enum { SLOTS = 16, CHURNERS = 2, WAITERS = 2, FIRST_NUMBER = 300 };

/*
 * The udata of a registration holds the slot in the upper bits, and in these the serial number,
 * which counts the registrations of the slot.
 */
#define SERIAL_BITS 48

struct slot {
	_Atomic uint64_t dead; /* registrations up to this serial number have ended */
};

struct reuse {
	struct xpoll *queue;
	struct slot slots[SLOTS];
	atomic_int number;
	atomic_int stop;
	_Atomic long events;
	int64_t end_ns;
	bool sees_close; /* the back end notices a close(2) */
	uint64_t seed;
};

/* Open a pipe with a byte in it, and move its read end to this descriptor. */
static bool churn_open(int number)
{
	int ends[2];

	if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1 ||
	    dup2(ends[0], number) < 0) {
		xt_fail(__FILE__, __LINE__, "pipe: %s", xt_error_name(errno));
		return false;
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
	return true;
}

/* End a slot's registration in one of four ways; a wait may have removed it already. */
static void churn_close(struct reuse *reuse, int number, uint32_t how)
{
	int copy = -1;

	if (how % 4 == 1)
		copy = dup(number);
	if (how % 4 == 2 && reuse->sees_close) {
		(void)close(number);
	} else if (how % 4 == 3) {
		int rc = xt_flag(reuse->queue, (uint64_t)number, READ,
		                 XPOLL_DELETE);

		(void)XT_EXPECT(rc == 0 || rc == ENOENT);
		(void)close(number);
	} else {
		(void)XT_EXPECT_EQ(xpoll_close_fd(number), 0);
	}
	if (copy >= 0)
		(void)close(copy);
}

static void churn_one(struct reuse *reuse, int index, uint64_t serial,
                      uint32_t random)
{
	static const int modes[] = {XPOLL_ONESHOT, XPOLL_DISPATCH, XPOLL_CLEAR,
	                            0};
	int number = FIRST_NUMBER + index;
	uint64_t tag = (uint64_t)index << SERIAL_BITS | serial;
	int rc;

	if (!churn_open(number))
		return;
	rc = xt_change(reuse->queue, (uint64_t)number, READ,
	               XPOLL_ADD | modes[random % 4], 0, 0,
	               (void *)(uintptr_t)tag);
	(void)XT_EXPECT_STATUS(rc, 0);
	if (random % 8 == 5) {
		rc = xt_flag(reuse->queue, (uint64_t)number, READ,
		             XPOLL_DISABLE);
		(void)XT_EXPECT(rc == 0 || rc == ENOENT);
		rc = xt_flag(reuse->queue, (uint64_t)number, READ,
		             XPOLL_ENABLE);
		(void)XT_EXPECT(rc == 0 || rc == ENOENT);
	}
	if (random % 16 == 9)
		(void)sched_yield();
	churn_close(reuse, number, random / 256);
	atomic_store(&reuse->slots[index].dead, serial);
}

static void churn(void *argument)
{
	struct reuse *reuse = argument;
	int me = atomic_fetch_add(&reuse->number, 1);
	uint64_t seed = reuse->seed + (uint64_t)me;

	for (uint64_t serial = 1; xt_now() < reuse->end_ns; serial++) {
		for (int index = me; index < SLOTS; index += CHURNERS)
			churn_one(reuse, index, serial, xt_random(&seed));
		if (xt_failures())
			break;
	}
	atomic_fetch_add(&reuse->stop, 1);
}

static void check(const struct xpoll_event *event, const uint64_t *dead)
{
	uint64_t tag = (uintptr_t)event->udata;
	uint64_t serial = tag & ((UINT64_C(1) << SERIAL_BITS) - 1);
	unsigned index = (unsigned)(tag >> SERIAL_BITS);

	if (!XT_EXPECT(index < SLOTS))
		return;
	(void)XT_EXPECT_EQ(event->ident, FIRST_NUMBER + index);
	if (serial <= dead[index])
		xt_fail(__FILE__, __LINE__,
		        "serial %ju of slot %u came, %ju was dead before",
		        (uintmax_t)serial, index, (uintmax_t)dead[index]);
}

static void wait_and_check(void *argument)
{
	struct reuse *reuse = argument;

	while (atomic_load(&reuse->stop) < CHURNERS && !xt_failures()) {
		uint64_t dead[SLOTS];
		struct xpoll_event events[4];

		for (int i = 0; i < SLOTS; i++)
			dead[i] = atomic_load(&reuse->slots[i].dead);
		int count =
		    xpoll_event(reuse->queue, NULL, 0, events, 4, 1000000);
		if (!XT_EXPECT(count >= 0))
			return;
		for (int i = 0; i < count; i++)
			check(&events[i], dead);
		atomic_fetch_add(&reuse->events, count);
	}
}

XT_TEST(stress_numbers_reused_under_waiters_no_stale_event)
{
	double seconds = xt_stress_seconds(1.5);
	struct reuse reuse = {.queue = xt_open_quiet(),
	                      .sees_close = xt_sees_reuse(),
	                      .seed = xt_seed()};
	struct xt_thread *threads[CHURNERS + WAITERS];
	struct xpoll_event event;

	xt_watchdog((unsigned)seconds + 30);
	reuse.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < CHURNERS + WAITERS; i++)
		threads[i] =
		    xt_start(i < CHURNERS ? churn : wait_and_check, &reuse);
	for (int i = 0; i < CHURNERS + WAITERS; i++)
		xt_join(threads[i]);
	xt_note("%ld events, %ju stale dropped, %ju rebuilds",
	        atomic_load(&reuse.events),
	        (uintmax_t)xt_stats(reuse.queue).stale_dropped,
	        (uintmax_t)xt_stats(reuse.queue).rebuilds);
	XT_EQ(xpoll_event(reuse.queue, NULL, 0, &event, 1, 0), 0);
	for (int i = 0; i < SLOTS; i++)
		(void)close(FIRST_NUMBER + i);
}
