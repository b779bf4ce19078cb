/*
 * Goal: user events (S25): they need no descriptor each, any thread can trigger
 * them; level-triggered unless CLEAR; the notes FFNOP, FFAND, FFOR and FFCOPY.
 * Method: FreeBSD's EVFILT_USER is the model: its flags are the low 24 bits.
 */
#include "xt.h"

static int user(struct xpoll *queue, int flags, uint32_t fflags, int64_t data)
{
	return xt_change(queue, 1, USER, flags, fflags, data, NULL);
}

XT_TEST(trigger_level_is_reported_until_deleted)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(xt_change(queue, 1, USER, XPOLL_ADD, 0, 0, &event));
	XT_NONE(queue);
	XT_OK(xt_trigger(queue, 1));
	for (int i = 0; i < 5; i++)
		XT_GETS(queue, &event, 1, USER);
	XT_EXPECT(event.udata == &event);
	XT_EXPECT_EQ(event.fflags, 0);
	XT_EXPECT_EQ(event.flags & (XPOLL_EOF | XPOLL_ERROR), 0);
	XT_OK(xt_flag(queue, 1, USER, XPOLL_DELETE));
	XT_NONE(queue);
}

XT_TEST(trigger_clear_is_reported_once_each)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR, 0, 0));
	for (int i = 0; i < 10; i++) {
		XT_OK(xt_trigger(queue, 1));
		XT_GETS(queue, NULL, 1, USER);
		XT_NONE(queue);
	}
	for (int i = 0; i < 10; i++)
		XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
}

XT_TEST(trigger_oneshot_is_reported_and_gone)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD | XPOLL_ONESHOT, 0, 0));
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
	XT_STATUS(xt_trigger(queue, 1), ENOENT);
}

XT_TEST(trigger_dispatch_is_reported_once_until_enabled)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD | XPOLL_DISPATCH | XPOLL_CLEAR, 0, 0));
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_OK(xt_trigger(queue, 1));
	XT_NONE(queue);
	XT_OK(user(queue, XPOLL_ENABLE, 0, 0));
	XT_GETS(queue, NULL, 1, USER);
	XT_OK(user(queue, XPOLL_ENABLE, 0, 0));
	XT_NONE(queue);
}

/* S3: a trigger while the event is disabled is reported after ENABLE. */
XT_TEST(trigger_while_disabled_is_reported_when_enabled)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 4; i++) {
		XT_OK(user(queue, XPOLL_ADD | XPOLL_DISABLE | modes[i], 0, 0));
		XT_OK(xt_trigger(queue, 1));
		XT_NONE(queue);
		XT_OK(user(queue, XPOLL_ENABLE, 0, 0));
		XT_GETS(queue, NULL, 1, USER);
		(void)user(queue, XPOLL_DELETE, 0, 0);
	}
}

XT_TEST(trigger_and_disable_is_silent)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD, 0, 0));
	XT_OK(xt_trigger(queue, 1));
	XT_OK(user(queue, XPOLL_DISABLE, 0, 0));
	XT_NONE(queue);
	XT_OK(user(queue, XPOLL_ENABLE, 0, 0));
	XT_GETS(queue, NULL, 1, USER);
}

/* S4: an ADD with a trigger is reported. */
XT_TEST(add_with_trigger_is_reported)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR, XPOLL_NOTE_TRIGGER, 0));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
}

static bool flags_are(struct xpoll *queue, uint32_t fflags)
{
	struct xpoll_event event = {0};

	if (!XT_EXPECT_STATUS(xt_trigger(queue, 1), 0))
		return false;
	if (!xt_gets(__FILE__, __LINE__, queue, &event, 1, USER))
		return false;
	return XT_EXPECT_EQ(event.fflags, fflags);
}

XT_TEST(fflags_operations_combine)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR,
	           XPOLL_NOTE_FFCOPY | 0x00ff00u, 0));
	XT_CHECK(flags_are(queue, 0x00ff00u));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFOR | 0x00000fu, 0));
	XT_NONE(queue);
	XT_CHECK(flags_are(queue, 0x00ff0fu));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFAND | 0xfff00fu, 0));
	XT_CHECK(flags_are(queue, 0x00f00fu));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFCOPY | 0xffffffu, 0));
	XT_CHECK(flags_are(queue, 0xffffffu));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFNOP | XPOLL_NOTE_TRIGGER | 0x1u, 0));
	XT_CHECK(flags_are(queue, 0xffffffu));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFCOPY, 0));
	XT_CHECK(flags_are(queue, 0));
}

XT_TEST(fflags_and_trigger_in_one_change)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR, 0, 0));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFOR | XPOLL_NOTE_TRIGGER | 0x1u, 0));
	XT_OK(user(queue, 0, XPOLL_NOTE_FFOR | XPOLL_NOTE_TRIGGER | 0x4u, 0));
	XT_GETS(queue, &event, 1, USER);
	XT_EXPECT_EQ(event.fflags, 0x5u);
	XT_NONE(queue);
}

XT_TEST(data_is_that_of_the_last_change)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR, 0, 11));
	XT_OK(user(queue, 0, XPOLL_NOTE_TRIGGER, -12345678901));
	XT_GETS(queue, &event, 1, USER);
	XT_EXPECT_EQ(event.data, -12345678901);
}

/* In FreeBSD a change with CLEAR resets a trigger. */
XT_TEST(add_clear_on_triggered_takes_it_back)
{
	struct xpoll *queue = xt_open();

	XT_OK(user(queue, XPOLL_ADD, 0, 0));
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_OK(user(queue, XPOLL_ADD | XPOLL_CLEAR, 0, 0));
	XT_NONE(queue);
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, NULL, 1, USER);
	XT_NONE(queue);
}

XT_TEST(enable_and_disable_with_clear_take_a_trigger_back)
{
	static const int flags[] = {XPOLL_ENABLE, XPOLL_DISABLE};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		XT_OK(user(queue, XPOLL_ADD | XPOLL_DISABLE,
		           XPOLL_NOTE_TRIGGER, 0));
		XT_OK(user(queue, flags[i] | XPOLL_CLEAR, 0, 0));
		XT_OK(user(queue, XPOLL_ENABLE, 0, 0));
		XT_NONE(queue);
	}
}

XT_TEST(idents_of_user_events_and_descriptors_do_not_mix)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_OK(xt_flag(queue, ident, USER, XPOLL_ADD | XPOLL_CLEAR));
	XT_OK(xt_trigger(queue, ident));
	XT_GETS(queue, NULL, ident, USER);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
	xt_close(pipe.r);
	XT_NONE(queue);
	XT_OK(xt_trigger(queue, ident));
	XT_GETS(queue, NULL, ident, USER);
}

XT_TEST(idents_of_user_events_may_be_any_number)
{
	static const uint64_t idents[] = {0, 1, UINT64_MAX, UINT64_MAX - 1,
	                                  UINT64_C(1) << 63,
	                                  UINT64_C(0xffffffff),
	                                  UINT64_C(0x100000000)};
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 7; i++)
		XT_OK(xt_flag(queue, idents[i], USER, XPOLL_ADD | XPOLL_CLEAR));
	for (int i = 0; i < 7; i++) {
		XT_OK(xt_trigger(queue, idents[i]));
		XT_GETS(queue, NULL, idents[i], USER);
	}
	XT_NONE(queue);
}

/* Many user events need no descriptor each, and with room for one event none is lost (S11). */
XT_TEST(many_user_events_need_no_descriptors)
{
	enum { COUNT = 10000 };
	struct xpoll *queue = xt_open_quiet();
	unsigned char *seen = calloc(COUNT, 1);
	struct xpoll_event event;
	int before = xt_count_open();

	XT_CHECK(seen);
	for (int i = 0; i < COUNT && !xt_failures(); i++) {
		uint64_t ident = (uint64_t)i * 7919;

		XT_EXPECT_STATUS(xt_flag(queue, ident, USER,
		                         XPOLL_ADD | XPOLL_CLEAR),
		                 0);
		if (i % 2 == 0)
			XT_EXPECT_STATUS(xt_trigger(queue, ident), 0);
	}
	XT_EXPECT_EQ(xt_count_open(), before);
	for (int i = 0; i < COUNT / 2 && !xt_failures(); i++) {
		XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		XT_EXPECT_EQ(seen[event.ident / 7919]++, 0);
		XT_EXPECT_EQ(event.ident / 7919 % 2, 0);
	}
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	free(seen);
}

/*
 * S25, S17: two threads trigger and two wait; with CLEAR each trigger that was not merged with
 * another one is delivered to exactly one thread.
 */
struct storm {
	struct xpoll *queue;
	int count;
	atomic_int acknowledged[2];
};

static void storm_trigger(void *argument)
{
	struct storm *storm = argument;
	static atomic_int next;
	int me = atomic_fetch_add(&next, 1) % 2;

	for (int i = 0; i < storm->count; i++) {
		if (!XT_EXPECT_STATUS(xt_trigger(storm->queue, (uint64_t)me),
		                      0))
			return;
		/*
		 * Wait until the event was delivered, so that the next trigger is not merged with
		 * it.
		 */
		xt_until(&storm->acknowledged[me], i + 1);
	}
}

static void storm_wait(void *argument)
{
	struct storm *storm = argument;
	struct xpoll_event event;

	while (xpoll_event(storm->queue, NULL, 0, &event, 1, -1) == 1)
		atomic_fetch_add(&storm->acknowledged[event.ident], 1);
}

XT_TEST(triggers_of_two_threads_each_come_to_one_of_two_waiters)
{
	struct storm storm = {.queue = xt_open(), .count = 1000};
	struct xt_thread *waiters[2];
	struct xt_thread *senders[2];

	for (uint64_t i = 0; i < 2; i++)
		XT_OK(xt_flag(storm.queue, i, USER, XPOLL_ADD | XPOLL_CLEAR));
	for (int i = 0; i < 2; i++) {
		waiters[i] = xt_start(storm_wait, &storm);
		senders[i] = xt_start(storm_trigger, &storm);
	}
	for (int i = 0; i < 2; i++)
		xt_join(senders[i]);
	for (int i = 0; i < 2; i++)
		xt_send_home(storm.queue, waiters[i]);
	for (int i = 0; i < 2; i++)
		XT_EXPECT_EQ(atomic_load(&storm.acknowledged[i]), storm.count);
	XT_NONE(storm.queue);
}
