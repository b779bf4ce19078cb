/*
 * Goal: a filter that needs an epoll entry of its own, beside an edge-triggered
 * filter of the same descriptor (S10), loses no event when there is no
 * descriptor or memory for that entry, nor when the epoll sets are renewed,
 * with or without memory for new ones.
 * Method: the calls that create sets and entries are wrapped at link time.
 */
#include "xt.h"

#include <sys/epoll.h>

#include "posix/solo.h"
#include "posix/sys_epoll.h"
#include "sys/sys.h"

/* number of epoll_create that succeed before they fail; -1: all succeed */
static int creates_pass = -1;
static bool adds_fail;        /* make ADD fail for an entry of WRITE alone, or of a set */
static int refusal = -ENOSPC; /* error of the calls that fail by adds_fail */
static bool shares_fail;      /* make changes fail that request READ and WRITE in one entry */
static int failures;

XT_WRAP(xp_sys_epoll_create);
XT_WRAP(xp_sys_epoll_ctl);

int __wrap_xp_sys_epoll_create(void)
{
	if (creates_pass == 0) {
		failures++;
		return -EMFILE;
	}
	if (creates_pass > 0)
		creates_pass--;
	return __real_xp_sys_epoll_create();
}

int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                            uint64_t token)
{
	bool beside = (events & (EPOLLIN | EPOLLOUT)) == EPOLLOUT;
	bool is_set = token >= XP_TOKEN_WAKE - XP_SOLO_SETS && token < XP_TOKEN_WAKE;

	if (adds_fail && op == EPOLL_CTL_ADD && (beside || is_set)) {
		failures++;
		return refusal;
	}
	if (shares_fail && op == EPOLL_CTL_MOD && !beside && events & EPOLLOUT)
		return -ENOMEM;
	return __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

static void all_is_well(void)
{
	creates_pass = -1;
	adds_fail = false;
	refusal = -ENOSPC;
	shares_fail = false;
	failures = 0;
}

/* Wait for the present events, and count those of READ and of WRITE. */
static void count_events(struct xpoll *queue, int *reads, int *writes)
{
	struct xpoll_event events[8];

	*reads = *writes = 0;
	/* Wait twice, to detect an event that is reported without end. */
	for (int i = 0; i < 2; i++) {
		int rc = xpoll_event(queue, NULL, 0, events, 8, 0);

		XT_CHECK(rc >= 0);
		for (int k = 0; k < rc; k++) {
			*reads += events[k].filter == READ;
			*writes += events[k].filter == WRITE;
		}
	}
}

/*
 * Check that each activity is reported once.  `shared`: one entry has both filters, so an edge of
 * one may be repeated by the other.
 */
static void both_are_heard(struct xpoll *queue, struct xt_pair pair, bool shared)
{
	int reads, writes;

	xt_fill(pair.r);
	count_events(queue, &reads, &writes);
	xt_put(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(reads, 1);
	XT_EXPECT_EQ(writes, 0);
	(void)xt_drain(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(writes, 1);
	XT_EXPECT(reads <= shared);
	(void)xt_drain(pair.r);
}

/*
 * Register READ and WRITE with CLEAR, READ having reported its edge already.  WRITE is ready, and
 * its event is delivered.  Returns the socket pair.
 */
static struct xt_pair beside_an_edge(struct xpoll *queue, bool shared)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int reads, writes;

	XT_EXPECT_EQ(xt_add(queue, pair.r, READ, XPOLL_CLEAR), 0);
	xt_put(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(reads, 1);
	XT_EXPECT_EQ(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR), 0);
	count_events(queue, &reads, &writes);
	XT_EXPECT(reads <= shared);
	XT_EXPECT_EQ(writes, 1);
	if (!shared)
		both_are_heard(queue, pair, false);
	return pair;
}

/* Allow new entries again: a filter that is added now gets an entry of its own. */
static void room_again(struct xpoll *queue, struct xt_pair pair)
{
	int reads, writes;

	XT_EXPECT(failures > 0);
	all_is_well();
	XT_CALL(both_are_heard(queue, pair, true));
	xt_put(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(reads, 1);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, XPOLL_DELETE));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR));
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(reads, 0);
	XT_EXPECT_EQ(writes, 1);
	XT_CALL(both_are_heard(queue, pair, true));
}

/*
 * Run the case in which no separate entry can be created: WRITE shares the entry of READ and is
 * still delivered, and it gets an entry of its own once that is possible.
 */
static void shares_an_entry(struct xpoll *queue)
{
	struct xt_pair pair = beside_an_edge(queue, true);

	XT_CALL(both_are_heard(queue, pair, true));
	XT_CALL(room_again(queue, pair));
}

XT_TEST(filter_beside_an_edge_without_a_descriptor_for_it_shares_an_entry)
{
	struct xpoll *queue = xt_open_quiet();

	all_is_well();
	creates_pass = 0;
	XT_CALL(shares_an_entry(queue));
}

XT_TEST(filter_beside_an_edge_without_room_for_it_shares_an_entry)
{
	struct xpoll *queue = xt_open_quiet();

	all_is_well();
	adds_fail = true;
	XT_CALL(shares_an_entry(queue));
}

XT_TEST(filter_beside_an_edge_that_nests_too_deeply_shares_an_entry)
{
	struct xpoll *queue = xt_open_quiet();

	all_is_well();
	adds_fail = true;
	refusal = -ELOOP;
	XT_CALL(shares_an_entry(queue));
}

XT_TEST(level_beside_an_edge_that_nests_too_deeply_is_not_forgotten)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int reads, writes;

	all_is_well();
	XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	xt_put(pair.w);
	XT_GETS(queue, NULL, pair.r, READ);
	xt_fill(pair.r);
	adds_fail = true;
	refusal = -ELOOP;
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(writes, 0);
	(void)xt_drain(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(writes, 2);
}

/* The ADD changes the entry of WRITE, and then fails to create that of READ. */
XT_TEST(add_that_fails_after_the_main_entry_was_changed_keeps_what_was_there)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	int reads, writes;

	all_is_well();
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_CLEAR));
	XT_GETS(queue, NULL, pair.r, WRITE);
	xt_fill(pair.r);
	adds_fail = shares_fail = true;
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD | XPOLL_CLEAR, POLLIN | POLLOUT, pair.r, NULL),
	         ENOMEM);
	all_is_well();
	(void)xt_drain(pair.w);
	count_events(queue, &reads, &writes);
	XT_EXPECT_EQ(reads, 0);
	XT_EXPECT_EQ(writes, 1);
}

/* --- Renewal --------------------------------------------------------------------- */

/*
 * Renew the set: make a dead entry, which is a closed file of which a ready duplicate stays open,
 * and cause reports of it.
 */
static void renew(struct xpoll *queue)
{
	struct xt_pair pipe = xt_pipe();
	struct xt_pair fresh = xt_pipe();
	struct xpoll_event events[8];

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	(void)xt_dup(pipe.r);
	xt_put(pipe.w);
	xt_number(fresh.r, pipe.r);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < 100 && !xt_stats(queue).rebuilds; i++)
		XT_CHECK(xpoll_event(queue, NULL, 0, events, 8, 0) >= 0);
	XT_EXPECT_EQ(xt_stats(queue).rebuilds, 1);
}

static void renewed(int creates, bool fail_adds)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair;
	int reads, writes;

	all_is_well();
	pair = beside_an_edge(queue, false);
	creates_pass = creates;
	adds_fail = fail_adds;
	XT_CALL(renew(queue));
	/* The renewal may report an edge a second time. */
	count_events(queue, &reads, &writes);
	XT_EXPECT(reads <= 1 && writes <= 1);
	(void)xt_drain(pair.r);
	XT_CALL(both_are_heard(queue, pair, true));
	if (creates >= 0 || fail_adds)
		XT_CALL(room_again(queue, pair));
	else
		XT_EXPECT_EQ(failures, 0);
}

XT_TEST(renewal_keeps_filters_beside_an_edge)
{
	XT_CALL(renewed(-1, false));
}

/* Only the main set can be replaced; there is no descriptor for the second one. */
XT_TEST(renewal_without_descriptors_keeps_filters_beside_an_edge)
{
	XT_CALL(renewed(1, false));
}

XT_TEST(renewal_without_room_keeps_filters_beside_an_edge)
{
	XT_CALL(renewed(-1, true));
}
