/*
 * Goal: the changes of one call are applied in order, and each has its own
 * status (S5).
 * Method: lists of good and bad changes, with every combination of failures,
 * receipts and room for results.
 */
#include "xt.h"

#define NOWHERE UINT64_C(4711) /* a user id that is not registered */

static void *mark(uintptr_t value)
{
	return (void *)value;
}

/* A change that fails with ENOENT. */
static struct xpoll_event bad(void)
{
	return xt_record(NOWHERE, USER, XPOLL_DELETE);
}

static struct xpoll_event good(uint64_t ident, int more)
{
	return xt_record(ident, USER, XPOLL_ADD | more);
}

static bool is_status(const struct xpoll_event *event, uint64_t ident,
                      int filter, int error)
{
	return XT_EXPECT(event->flags & XPOLL_ERROR) &&
	       XT_EXPECT_EQ(event->ident, ident) &&
	       XT_EXPECT_EQ(event->filter, filter) &&
	       XT_EXPECT_STATUS((int)event->data, error);
}

static bool registered(struct xpoll *queue, uint64_t ident)
{
	struct xpoll_event now;

	return xpoll_lookup(queue, ident, USER, &now) == 0;
}

XT_TEST(changes_are_applied_in_order)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	uint64_t ident = (uint64_t)pipe.r;
	struct xpoll_event changes[] = {
	    xt_record(ident, READ, XPOLL_ADD),
	    xt_record(ident, READ, XPOLL_DISABLE),
	    xt_record(ident, READ, XPOLL_DELETE),
	    xt_record(ident, READ, XPOLL_ADD | XPOLL_DISABLE),
	    xt_record(ident, READ, XPOLL_ENABLE),
	};

	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, changes, 5, NULL, 0, 0), 0);
	XT_GETS(queue, NULL, ident, READ);
	XT_EQ(xpoll_event(queue, changes, 4, NULL, 0, 0), 0);
	XT_NONE(queue);
	XT_EQ(xpoll_event(queue, changes, 3, NULL, 0, 0), 0);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), ENOENT);
}

/* Complaint: One bad change spoils the rest, or ends the process. */
XT_TEST(failing_change_does_not_stop_the_others)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	struct xpoll_event changes[] = {
	    xt_record((uint64_t)pipe.r, READ, XPOLL_ADD), bad(), good(1, 0)};

	changes[1].udata = mark(9);
	xt_put(pipe.w);
	/*
	 * The call returns at once, although its timeout is infinite, and returns statuses only, no
	 * ready event.
	 */
	XT_EQ(xpoll_event(queue, changes, 3, events, 4, -1), 1);
	XT_CHECK(is_status(&events[0], NOWHERE, USER, ENOENT));
	XT_EXPECT(events[0].udata == mark(9));
	XT_EXPECT(registered(queue, 1));
	XT_GETS(queue, NULL, pipe.r, READ);
}

XT_TEST(failing_change_with_nothing_ready_returns_at_once)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event changes[] = {bad()};
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, changes, 1, &event, 1, -1), 1);
	XT_CHECK(is_status(&event, NOWHERE, USER, ENOENT));
}

XT_TEST(receipts_come_in_order_without_events)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event events[8];
	struct xpoll_event changes[] = {
	    xt_record((uint64_t)pipe.r, READ, XPOLL_ADD | XPOLL_RECEIPT),
	    good(1, XPOLL_RECEIPT),
	    good(2, 0),
	    xt_record((uint64_t)pipe.r, WRITE, XPOLL_DELETE | XPOLL_RECEIPT),
	    good(3, XPOLL_RECEIPT),
	};

	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, changes, 5, events, 8, -1), 4);
	XT_CHECK(is_status(&events[0], (uint64_t)pipe.r, READ, 0));
	XT_CHECK(is_status(&events[1], 1, USER, 0));
	XT_CHECK(is_status(&events[2], (uint64_t)pipe.r, WRITE, ENOENT));
	XT_CHECK(is_status(&events[3], 3, USER, 0));
	XT_EXPECT(registered(queue, 2));
	XT_GETS(queue, NULL, pipe.r, READ);
}

XT_TEST(receipt_is_not_kept_with_the_registration)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event change = good(1, XPOLL_RECEIPT);
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, &change, 1, &event, 1, 0), 1);
	XT_CHECK(is_status(&event, 1, USER, 0));
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, &event, 1, USER);
	XT_EXPECT_EQ(event.flags & XPOLL_ERROR, 0);
}

XT_TEST(fewer_slots_than_receipts_is_einval_and_applies_nothing)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	struct xpoll_event changes[] = {good(1, 0), good(2, XPOLL_RECEIPT),
	                                good(3, XPOLL_RECEIPT)};

	XT_FAILS(xpoll_event(queue, changes, 3, events, 1, 0), EINVAL);
	XT_FAILS(xpoll_event(queue, changes, 3, NULL, 0, 0), EINVAL);
	for (uint64_t ident = 1; ident <= 3; ident++)
		XT_EXPECT(!registered(queue, ident));
	XT_EQ(xpoll_event(queue, changes, 3, events, 2, 0), 2);
	XT_EXPECT(registered(queue, 1));
}

/* Complaint: One bad change spoils the rest, or ends the process. */
XT_TEST(error_without_any_slot_applies_the_rest_and_fails)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event changes[] = {
	    good(1, 0), bad(), xt_record(UINT64_MAX, READ, XPOLL_ADD),
	    good(2, 0)};

	/*
	 * The call fails with the errno of the first failure that was not reported, not of the
	 * last.
	 */
	XT_FAILS(xpoll_event(queue, changes, 4, NULL, 0, -1), ENOENT);
	XT_EXPECT(registered(queue, 1));
	XT_EXPECT(registered(queue, 2));
}

XT_TEST(error_beyond_the_last_slot_is_the_one_that_fails)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xpoll_event changes[] = {
	    bad(), good(1, 0), xt_record(UINT64_MAX, READ, XPOLL_ADD), bad(),
	    good(2, 0)};

	XT_FAILS(xpoll_event(queue, changes, 5, &event, 1, -1), EBADF);
	XT_EXPECT(registered(queue, 1));
	XT_EXPECT(registered(queue, 2));
}

XT_TEST(error_takes_no_slot_that_a_later_receipt_needs)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[2];
	struct xpoll_event changes[] = {bad(), good(1, XPOLL_RECEIPT)};

	XT_FAILS(xpoll_event(queue, changes, 2, events, 1, 0), ENOENT);
	XT_EXPECT(registered(queue, 1));
	XT_EQ(xpoll_event(queue, changes, 2, events, 2, 0), 2);
	XT_CHECK(is_status(&events[0], NOWHERE, USER, ENOENT));
	XT_CHECK(is_status(&events[1], 1, USER, 0));
}

XT_TEST(failing_receipt_uses_its_own_slot)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	struct xpoll_event change = bad();

	change.flags |= XPOLL_RECEIPT;
	XT_EQ(xpoll_event(queue, &change, 1, &event, 1, -1), 1);
	XT_CHECK(is_status(&event, NOWHERE, USER, ENOENT));
}

XT_TEST(changes_and_events_in_one_array_statuses)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event records[] = {
	    good(1, 0), good(2, 0), bad(),     good(3, XPOLL_RECEIPT),
	    bad(),      good(4, 0), good(5, 0)};

	XT_EQ(xpoll_event(queue, records, 7, records, 7, -1), 3);
	XT_CHECK(is_status(&records[0], NOWHERE, USER, ENOENT));
	XT_CHECK(is_status(&records[1], 3, USER, 0));
	XT_CHECK(is_status(&records[2], NOWHERE, USER, ENOENT));
	for (uint64_t ident = 1; ident <= 5; ident++)
		XT_EXPECT(registered(queue, ident));
}

XT_TEST(changes_and_events_in_one_array_events)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event records[] = {
	    xt_record((uint64_t)pipe.r, READ, XPOLL_ADD),
	    xt_record((uint64_t)pipe.w, WRITE, XPOLL_ADD)};

	xt_put(pipe.w);
	XT_EQ(xpoll_event(queue, records, 2, records, 2, -1), 2);
	XT_EXPECT(xt_find(records, 2, (uint64_t)pipe.r, READ) >= 0);
	XT_EXPECT(xt_find(records, 2, (uint64_t)pipe.w, WRITE) >= 0);
}

XT_TEST(no_slots_returns_after_the_changes_also_for_ever)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event change = good(1, 0);
	struct xpoll_event event;

	XT_EQ(xpoll_event(queue, &change, 1, NULL, 0, -1), 0);
	XT_EXPECT(registered(queue, 1));
	XT_EQ(xpoll_event(queue, NULL, 0, NULL, 0, -1), 0);
	XT_OK(xt_trigger(queue, 1));
	XT_EQ(xpoll_event(queue, NULL, 0, NULL, 0, -1), 0);
	XT_GETS(queue, &event, 1, USER);
}

XT_TEST(many_changes_each_gets_its_status)
{
	enum { COUNT = 400 };
	struct xpoll *queue = xt_open();
	struct xpoll_event *records = calloc(COUNT, sizeof *records);

	XT_CHECK(records);
	for (int i = 0; i < COUNT; i++)
		records[i] = xt_record((uint64_t)i, USER,
		                       XPOLL_RECEIPT | (i % 3 ? XPOLL_ADD
		                                              : XPOLL_DELETE));
	int count = xpoll_event(queue, records, COUNT, records, COUNT, -1);
	XT_EXPECT_EQ(count, COUNT);
	for (int i = 0; i < count; i++)
		if (!is_status(&records[i], (uint64_t)i, USER,
		               i % 3 ? 0 : ENOENT))
			break;
	free(records);
}

/* S18: a failed change leaves the registration unchanged. */
XT_TEST(failed_change_of_existing_changes_nothing)
{
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD | XPOLL_CLEAR, 0, 0,
	                mark(1)));
	XT_STATUS(xt_change(queue, ident, READ, XPOLL_ADD | XPOLL_DISPATCH,
	                    0x00800000u, 0, mark(2)),
	          EINVAL);
	XT_STATUS(xt_change(queue, ident, READ, XPOLL_ADD | XPOLL_DELETE, 0, 0,
	                    mark(3)),
	          EINVAL);
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT(now.udata == mark(1));
	XT_EXPECT_EQ(now.flags & (XPOLL_CLEAR | XPOLL_DISPATCH), XPOLL_CLEAR);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
}

/*
 * The library looks registrations up some changes ahead.  A change in between may delete one, and
 * its memory may be reused for another.
 */
static void check_one_again_and_again(int filter)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event changes[4 * 32];
	struct xpoll_event statuses[4 * 32];

	XT_OK(xt_change(queue, 1, filter, XPOLL_ADD, 0, 1000, NULL));
	for (int i = 0; i < 4 * 32; i += 4) {
		changes[i] = xt_record(1, filter, XPOLL_DELETE);
		changes[i + 1] = xt_record(1, filter, XPOLL_DELETE);
		changes[i + 2] = xt_record(2, filter, i == 0 ? XPOLL_ADD : XPOLL_DISABLE);
		changes[i + 3] = xt_record(1, filter, XPOLL_ADD);
	}
	XT_EQ(xpoll_event(queue, changes, 4 * 32, statuses, 4 * 32, 0), 32);
	for (int i = 0; i < 32; i++)
		XT_CHECK(is_status(&statuses[i], 1, filter, ENOENT));
	XT_OK(xt_change(queue, 1, filter, XPOLL_DELETE, 0, 0, NULL));
	XT_OK(xt_change(queue, 2, filter, XPOLL_DELETE, 0, 0, NULL));
	XT_EQ(xt_stats(queue).registered, 0);
	xt_destroy(queue);
}

XT_TEST(changes_of_one_registration_follow_each_other)
{
	check_one_again_and_again(USER);
	check_one_again_and_again(XPOLL_FILT_TIMER);
}
