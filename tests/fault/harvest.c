/*
 * Goal: a call that asks the kernel several times keeps a level whose reports it has
 * already delivered: the next call delivers it again, if it still holds (S8).
 * Method: the call is wrapped at link time; between two of them the program, as another
 * thread could, reads and writes.
 */
#include "xt.h"

#include "os/sys_epoll.h"

enum { NO_WAIT = 1000 }; /* a queue that is opened harvests, too */

static struct xt_pair watched; /* r: READ is enabled, WRITE is disabled */
static int harvests = NO_WAIT; /* calls of this wait */
static int steps;              /* waits whose third call found what the test is about */

XT_WRAP(xp_sys_epoll_now);

/*
 * The first report is delivered by level.  The second has nothing but WRITE, which nobody
 * wants: from then on the kernel reports edges.  The third repeats READ, by an edge.
 */
int __wrap_xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap)
{
	harvests++;
	if (harvests == 2)
		(void)xt_drain(watched.r);
	if (harvests == 3)
		xt_put(watched.w);
	int rc = __real_xp_sys_epoll_now(epoll_fd, events, cap);

	for (int i = 0; i < rc && harvests == 3; i++)
		steps += (int)(uint32_t)events[i].data.u64 == watched.r;
	return rc;
}

static void wait_once(struct xpoll *queue, int room, bool holds)
{
	struct xpoll_event events[32];
	int count;

	harvests = 0;
	count = xpoll_event(queue, NULL, 0, events, room, 0);
	XT_CHECK(count > 0);
	if (holds)
		XT_CHECK(xt_find(events, count, (uint64_t)watched.r, READ) >= 0);
}

/* Makes the library ask for less than there is room for: an array was too small. */
static void crowd(struct xpoll *queue)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	XT_CALL(wait_once(queue, 1, false));
	XT_OK(xt_flag(queue, (uint64_t)pair.r, READ, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)pair.r, WRITE, XPOLL_DELETE));
	xt_shut(pair);
}

/* Edges beside it fill the chunks in which the library takes reports. */
static void level_among(int edges, int room)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipes[32];
	bool unread;

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
	XT_CALL(wait_once(queue, room, true));
	unread = harvests != 2;
	/* What is left of the edges, and the level. */
	if (unread)
		XT_CALL(wait_once(queue, 32, true));
	harvests = NO_WAIT;
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
