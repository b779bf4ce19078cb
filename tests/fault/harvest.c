/*
 * Goal: a call that asks the kernel several times keeps a level whose reports it has
 * already delivered: the next call delivers it again, if it still holds (S8).
 * Method: the call is wrapped at link time; between two of them the program, as another
 * thread could, reads and writes.
 */
#include "xt.h"

#include "posix/sys_epoll.h"

static struct xt_pair watched; /* r: READ is enabled, WRITE is disabled */
static int steps;              /* calls of which a report is what the test is about */

/* The reports of this call so far. */
static enum {
	NO_WAIT,  /* a queue that is opened asks the kernel, too */
	NOTHING,
	LEVEL,    /* READ: delivered by level, and gone since */
	UNWANTED, /* only WRITE, which is disabled: now the kernel reports edges */
	EDGE,     /* READ again, and it holds */
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

/* Returns whether READ of the watched one came. */
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

/* Makes the library ask for less than there is room for: an array was too small. */
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

/* Edges beside it fill the chunks in which the library takes reports. */
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
	/* The remaining edges, and the level. */
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
