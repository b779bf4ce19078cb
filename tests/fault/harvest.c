/*
 * Goal: a call of xpoll_event that calls epoll_wait several times remembers a
 * level-triggered event that it has delivered: the next call delivers the event
 * again, if its condition still holds (S8).
 * Method: epoll_wait is wrapped at link time; between two of these calls the
 * test reads and writes, as another thread could.
 */
#include "xt.h"

#include "posix/sys_epoll.h"

static struct xt_pair watched; /* r: READ is enabled, WRITE is disabled */
/* number of runs in which the kernel made the reports that this test needs */
static int steps;

/* State of one xpoll_event call, by the reports that it has got from the kernel. */
static enum {
	NO_WAIT,  /* before the call under test: xpoll_create calls epoll_wait, too */
	NOTHING,
	LEVEL,    /* READ was reported and delivered, and its condition has ended since */
	/*
	 * only WRITE was reported, which is disabled, so the library makes the entry edge-triggered
	 */
	UNWANTED,
	EDGE,     /* READ was reported again, and its condition holds */
} stage;

static uint32_t reported(const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++)
		if ((int)(uint32_t)events[i].data.u64 == watched.r)
			return events[i].events;
	return 0;
}

XT_WRAP(xp_sys_epoll_now);
int __wrap_xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	if (stage == LEVEL)
		(void)xt_drain(watched.r);
	if (stage == UNWANTED)
		xt_put(watched.w);
	int rc = __real_xp_sys_epoll_now(epoll_fd, events, cap);
	uint32_t bits = reported(events, rc);

	if (stage == NOTHING && bits & EPOLLIN) {
		stage = LEVEL;
	} else if (stage == LEVEL && bits) {
		stage = UNWANTED;
	} else if (stage == UNWANTED && bits & EPOLLIN) {
		stage = EDGE;
		steps++;
	}
	return rc;
}

/* Wait once.  Returns true if READ of the watched socket was delivered. */
static bool wait_once(struct xpoll *queue, int room)
{
	struct xpoll_event events[32];
	int count;

	stage = NOTHING;
	count = xpoll_event(queue, NULL, 0, events, room, 0);
	stage = NO_WAIT;
	XT_EXPECT(count > 0);
	return xt_find(events, count, (uint64_t)watched.r, READ) >= 0;
}

/*
 * Deliver two events with room for one, after which the library requests fewer reports from the
 * kernel than the caller has room for.
 */
static void crowd(struct xpoll *queue)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	(void)wait_once(queue, 1);
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, XPOLL_DELETE));
	xt_shut(pair);
}

/*
 * Run the case with this many edge-triggered pipes beside the watched socket: their reports move
 * the socket's report to each position in the chunks that the library reads.
 */
static void level_among(int edges, int room)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[32];

	watched = xt_socketpair(SOCK_STREAM);
	XT_CALL(crowd(queue));
	xt_put(watched.w);
	XT_OK(xt_add(queue, watched.r, READ, 0));
	XT_OK(xt_add(queue, watched.r, WRITE, 0));
	XT_OK(xt_flag(queue, (uint64_t)watched.r, WRITE, XPOLL_DISABLE));
	for (int i = 0; i < edges; i++) {
		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
		XT_OK(xt_add(queue, pipes[i].r, READ, XPOLL_CLEAR));
	}
	(void)wait_once(queue, room);
	/*
	 * The next wait delivers the remaining edges, and the socket's event again if its condition
	 * holds.
	 */
	if (xt_poll(watched.r, POLLIN))
		XT_CHECK(wait_once(queue, 32));
	for (int i = 0; i < edges; i++)
		xt_shut(pipes[i]);
	xt_shut(watched);
	xt_destroy(queue);
}

XT_TEST(level_that_a_call_reports_again_by_an_edge_is_delivered_by_the_next)
{
	steps = 0;
	for (int edges = 0; edges < 32; edges++)
		for (int room = 2; room < 24; room++)
			XT_CALL(level_among(edges, room));
	xt_note("%d of these calls had such a report", steps);
	XT_CHECK(steps > 0);
}
