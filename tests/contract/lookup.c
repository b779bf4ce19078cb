/*
 * Goal: xpoll_lookup returns the present state of a registration; udata belongs
 * to the user and only ADD changes it, unless KEEPUDATA is given; also
 * xpoll_set and xpoll_describe (S1).
 * Method: look the registration up after each change.
 */
#include "xt.h"

static void *mark(uintptr_t value)
{
	return (void *)value;
}

static int flags_of(struct xpoll *queue, uint64_t ident, int filter)
{
	struct xpoll_event now;

	if (xpoll_lookup(queue, ident, filter, &now) < 0)
		return -errno;
	return now.flags &
	       (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH | XPOLL_DISABLE);
}

static void *udata_of(struct xpoll *queue, uint64_t ident, int filter)
{
	struct xpoll_event now = {.udata = mark(999)};

	XT_EXPECT(xpoll_lookup(queue, ident, filter, &now) == 0);
	return now.udata;
}

XT_TEST(lookup_tells_ident_filter_udata_and_flags)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_FAILS(xpoll_lookup(queue, ident, READ, &now), ENOENT);
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD | XPOLL_CLEAR, 0, 0,
	                mark(5)));
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT_EQ(now.ident, ident);
	XT_EXPECT_EQ(now.filter, READ);
	XT_EXPECT(now.udata == mark(5));
	XT_EXPECT_EQ(now.flags & (XPOLL_EOF | XPOLL_ERROR), 0);
	XT_EQ(flags_of(queue, ident, READ), XPOLL_CLEAR);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_EQ(flags_of(queue, ident, READ), XPOLL_CLEAR | XPOLL_DISABLE);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_EQ(flags_of(queue, ident, READ), XPOLL_CLEAR);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH | XPOLL_ONESHOT));
	XT_EQ(flags_of(queue, ident, READ),
	      XPOLL_CLEAR | XPOLL_DISPATCH | XPOLL_ONESHOT);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_EQ(flags_of(queue, ident, READ), -ENOENT);
}

XT_TEST(setudata_writes_it_with_each_change)
{
	struct xpoll *queue = xt_open();
	uint64_t ident = (uint64_t)xt_pipe().r;
	const int set = XPOLL_SETUDATA;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, ident, READ, XPOLL_DISABLE, 0, 0, mark(2)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(1));
	XT_OK(xt_change(queue, ident, READ, XPOLL_ENABLE | set, 0, 0, mark(3)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(3));
	XT_OK(xt_change(queue, ident, READ, XPOLL_DISABLE | set, 0, 0, NULL));
	XT_EXPECT(udata_of(queue, ident, READ) == NULL);
	XT_STATUS(xt_change(queue, ident, READ, XPOLL_ADD | set |
	                    XPOLL_KEEPUDATA, 0, 0, mark(4)), EINVAL);
	XT_STATUS(xt_change(queue, ident, WRITE, XPOLL_ENABLE | set, 0, 0, NULL),
	          ENOENT);
	XT_OK(xt_change(queue, 9, USER, XPOLL_ADD, 0, 0, mark(5)));
	XT_OK(xt_change(queue, 9, USER, set, XPOLL_NOTE_TRIGGER, 0, mark(6)));
	XT_EXPECT(udata_of(queue, 9, USER) == mark(6));
	XT_OK(xt_change(queue, 9, USER, XPOLL_DISABLE | set, 0, 0, mark(7)));
	XT_EXPECT(udata_of(queue, 9, USER) == mark(7));
}

XT_TEST(lookup_of_user_and_other_filters)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	XT_OK(xt_change(queue, UINT64_MAX, USER, XPOLL_ADD | XPOLL_ONESHOT, 0,
	                0, mark(7)));
	XT_EQ(flags_of(queue, UINT64_MAX, USER), XPOLL_ONESHOT);
	XT_EXPECT(udata_of(queue, UINT64_MAX, USER) == mark(7));
	XT_EQ(flags_of(queue, UINT64_MAX, READ), -ENOENT);
	XT_FAILS(xpoll_lookup(queue, 1, XPOLL_FILT_TIMER, &now), ENOENT);
	XT_FAILS(xpoll_lookup(queue, 1, 0, &now), EINVAL);
	XT_FAILS(xpoll_lookup(queue, UINT64_C(1) << 40, READ, &now), ENOENT);
}

XT_TEST(lookup_changes_nothing)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_EQ(flags_of(queue, (uint64_t)pipe.r, READ), XPOLL_CLEAR);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_EQ(flags_of(queue, (uint64_t)pipe.r, READ), XPOLL_CLEAR);
	XT_NONE(queue);
}

/* A failed lookup does not write the record. */
XT_TEST(lookup_failed_writes_nothing)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	struct xpoll_event before;

	memset(&now, 0x5a, sizeof now);
	before = now;
	XT_FAILS(xpoll_lookup(queue, 1, USER, &now), ENOENT);
	XT_EQ(memcmp(&now, &before, sizeof now), 0);
}

XT_TEST(udata_is_written_by_add_only)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, ident, READ, XPOLL_DISABLE, 0, 0, mark(2)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(1));
	XT_OK(xt_change(queue, ident, READ, XPOLL_ENABLE, 0, 0, mark(3)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(1));
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(4)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(4));
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, NULL));
	XT_EXPECT(udata_of(queue, ident, READ) == NULL);
}

XT_TEST(udata_of_user_event_is_not_written_by_trigger)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;

	XT_OK(xt_change(queue, 1, USER, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, 1, USER, 0, XPOLL_NOTE_TRIGGER, 0, mark(2)));
	XT_GETS(queue, &event, 1, USER);
	XT_EXPECT(event.udata == mark(1));
}

XT_TEST(keepudata_keeps_an_existing_ones)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;
	int keep = XPOLL_ADD | XPOLL_KEEPUDATA;

	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_OK(xt_change(queue, ident, READ, keep, 0, 0, mark(2)));
	XT_EXPECT(udata_of(queue, ident, READ) == mark(1));
	/* KEEPUDATA of a new registration has no udata to keep. */
	XT_OK(xt_change(queue, ident, WRITE, keep, 0, 0, mark(3)));
	XT_EXPECT(udata_of(queue, ident, WRITE) == mark(3));
}

XT_TEST(udata_of_64_bits_comes_back_whole)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event = xt_record(1, USER, XPOLL_ADD);

	event.udata64 = UINT64_C(0x123456789abcdef0);
	XT_EQ(xpoll_event(queue, &event, 1, NULL, 0, 0), 0);
	XT_OK(xt_trigger(queue, 1));
	XT_GETS(queue, &event, 1, USER);
	XT_EXPECT_EQ(event.udata64, UINT64_C(0x123456789abcdef0));
}

/* After the ADD each event carries the new udata, even an event that was ready before. */
XT_TEST(udata_changed_while_ready_comes_with_the_next_wait)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;
	uint64_t ident = (uint64_t)pipe.r;

	xt_put(pipe.w);
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(1)));
	XT_GETS(queue, &event, ident, READ);
	XT_OK(xt_change(queue, ident, READ, XPOLL_ADD, 0, 0, mark(2)));
	XT_GETS(queue, &event, ident, READ);
	XT_EXPECT(event.udata == mark(2));
}

XT_TEST(record_is_32_bytes_and_set_fills_it)
{
	struct xpoll_event event;

	XT_EQ(sizeof event, 32);
	memset(&event, 0xff, sizeof event);
	XT_CHECK(xpoll_set(&event, 5, EXCEPT, XPOLL_ADD | XPOLL_CLEAR,
	                   XPOLL_NOTE_OOB, -7, mark(9)) == &event);
	XT_EXPECT_EQ(event.ident, 5);
	XT_EXPECT_EQ(event.filter, EXCEPT);
	XT_EXPECT_EQ(event.flags, XPOLL_ADD | XPOLL_CLEAR);
	XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_OOB);
	XT_EXPECT_EQ(event.data, -7);
	XT_EXPECT(event.udata == mark(9));
}

static bool describes(const struct xpoll_event *event, const char *word)
{
	char text[256];
	int length = xpoll_describe(event, text, sizeof text);

	if (length == (int)strlen(text) && strstr(text, word))
		return true;
	xt_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\" (%d)", word, text,
	        length);
	return false;
}

XT_TEST(describe_says_what_the_event_is)
{
	static const int filters[] = {
	    READ, WRITE, EXCEPT, USER, XPOLL_FILT_TIMER, XPOLL_FILT_SIGNAL,
	    XPOLL_FILT_PROC, XPOLL_FILT_VNODE, XPOLL_FILT_AIO,
	    XPOLL_FILT_EMPTY};
	struct xpoll_event event;

	(void)xpoll_set(&event, 5, READ, XPOLL_EOF, 0, 12, NULL);
	XT_CHECK(describes(&event, "READ"));
	XT_CHECK(describes(&event, "ident=5"));
	XT_CHECK(describes(&event, "data=12"));
	XT_CHECK(describes(&event, "EOF"));
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		(void)xpoll_set(&event, UINT64_MAX, filters[i], 0xffff,
		                UINT32_MAX, INT64_MIN, NULL);
		XT_CHECK(describes(&event, xt_filter_name(filters[i])));
	}
	(void)xpoll_set(&event, 1, 12345, 0, 0, 0, NULL);
	XT_CHECK(describes(&event, "12345"));
}

XT_TEST(describe_small_buffers_as_snprintf_does)
{
	struct xpoll_event event;
	char whole[256];
	char text[256];

	(void)xpoll_set(&event, 123456, WRITE, XPOLL_EOF, 3, -9, NULL);
	int length = xpoll_describe(&event, whole, sizeof whole);
	XT_CHECK(length > 10 && length < 256);
	XT_EQ(xpoll_describe(&event, NULL, 0), length);
	for (int size = 1; size <= length + 2; size++) {
		memset(text, '#', sizeof text);
		XT_EQ(xpoll_describe(&event, text, (size_t)size), length);
		int kept = size - 1 < length ? size - 1 : length;
		XT_EQ((int)strlen(text), kept);
		XT_EQ(strncmp(text, whole, (size_t)kept), 0);
		XT_EQ(text[size], '#');
	}
	XT_FAILS(xpoll_describe(&event, NULL, 5), EINVAL);
}
