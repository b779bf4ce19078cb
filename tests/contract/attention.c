/*
 * Goal: in a loop that always leaves candidates (filters that the library must
 * check itself), xpoll_fd's descriptor stays readable without system calls, and
 * after the loop shows again whether an event is ready (S14, hazard 11).
 * Method: poll(2) checks the descriptor during such loops and after them.
 */
#include "xt.h"

#ifdef __linux__
#include <sys/epoll.h>
#endif

static const char no_queue[] = "no kernel queue in this back end";

static bool readable(struct xpoll *queue)
{
	return xt_poll(xpoll_fd(queue), POLLIN) & POLLIN;
}

/*
 * Disable one of two writable pipes and enable the other, `times` times, so that each wait leaves a
 * candidate.
 */
static void toggle(struct xpoll *queue, struct xt_pair one, struct xt_pair two,
                   int times)
{
	for (int i = 0; i < times; i++) {
		struct xpoll_event events[4], changes[2] = {
			xt_record((uint64_t)(i % 2 ? one.w : two.w), WRITE,
			          XPOLL_DISABLE),
			xt_record((uint64_t)(i % 2 ? two.w : one.w), WRITE,
			          XPOLL_ENABLE),
		};

		XT_EQ(xpoll_event(queue, changes, 2, events, 4, -1), 1);
		XT_EQ(events[0].ident, changes[1].ident);
		XT_CHECK(xt_now_readable(queue));
	}
}

XT_TEST(queue_fd_toggles_with_waits_cost_nothing)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe();
	struct xt_pair two = xt_pipe();
	uint64_t before;

	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_OK(xt_add(queue, one.w, WRITE, XPOLL_DISABLE));
	XT_OK(xt_add(queue, two.w, WRITE, XPOLL_DISABLE));
	toggle(queue, one, two, 20);
	before = xt_stats(queue).syscalls_change;
	toggle(queue, one, two, 80);
	/*
	 * These changes cost no system call, except on port, where an event ends the association
	 * and the library has to make it again.
	 */
	XT_CHECK(xt_stats(queue).syscalls_change - before <=
	         (xt_is("port") ? 2 * 80 : 0));
}

/*
 * In the loop the descriptor was readable only because the queue needed attention.  After the loop
 * it must report each registration again.
 */
XT_TEST(queue_fd_tells_of_everything_after_a_long_loop)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe(), two = xt_pipe(), other = xt_pipe();

	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_OK(xt_add(queue, one.w, WRITE, XPOLL_DISABLE));
	XT_OK(xt_add(queue, two.w, WRITE, XPOLL_DISABLE));
	XT_OK(xt_add(queue, other.r, READ, 0));
	for (int i = 0; i < 3; i++) {
		toggle(queue, one, two, 200);
		XT_OK(xt_flag(queue, (uint64_t)two.w, WRITE, XPOLL_DISABLE));
		XT_NONE(queue);
		XT_CHECK(!readable(queue));
		xt_put(other.w);
		XT_CHECK(xt_poll_until(xpoll_fd(queue), POLLIN, POLLIN));
		XT_GETS(queue, NULL, other.r, READ);
		XT_EQ(xt_get(other.r), 'x');
		XT_NONE(queue);
		XT_CHECK(!readable(queue));
	}
}

/*
 * The epoll set is renewed (hazard 2) in a loop in which watchers of xpoll_fd do not depend on the
 * set.
 */
XT_TEST(queue_fd_survives_a_renewal_in_a_long_loop)
{
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair one = xt_pipe(), two = xt_pipe(), other = xt_pipe();
	struct xt_pair grave = xt_pipe(), fresh = xt_pipe();

	XT_CHECK(xpoll_fd(queue) >= 0);
	XT_OK(xt_add(queue, one.w, WRITE, XPOLL_DISABLE));
	XT_OK(xt_add(queue, two.w, WRITE, XPOLL_DISABLE));
	XT_OK(xt_add(queue, other.r, READ, 0));
	XT_OK(xt_add(queue, grave.r, READ, 0));
	toggle(queue, one, two, 100);
	/*
	 * A duplicate of a closed file keeps the file in the kernel's set, which continues to
	 * report it.
	 */
	(void)xt_dup(grave.r);
	xt_number(fresh.r, grave.r);
	XT_OK(xt_add(queue, grave.r, READ, 0));
	xt_put(grave.w);
	toggle(queue, one, two, 200);
	/* Only epoll keeps the entry of a closed descriptor, and so needs a renewal. */
	XT_CHECK(xt_stats(queue).rebuilds > 0 || xt_is("kqueue") ||
	         xt_is("port"));
	XT_OK(xt_flag(queue, (uint64_t)two.w, WRITE, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_CHECK(!readable(queue));
	xt_put(other.w);
	XT_CHECK(xt_poll_until(xpoll_fd(queue), POLLIN, POLLIN));
	XT_GETS(queue, NULL, other.r, READ);
}

/*
 * The queue had no event, and an ADD enables a ready filter: an edge-triggered watcher of xpoll_fd
 * must get an edge.
 */
XT_TEST(queue_fd_by_edges_is_told_of_what_an_add_enables)
{
#ifdef __linux__
	if (!xt_has_queue_fd())
		XT_SKIP(no_queue);
	struct xpoll *queue = xt_open_quiet();
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));
	struct xt_pair pipe = xt_pipe();

	XT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, xpoll_fd(queue), &event), 0);
	XT_OK(xt_add(queue, pipe.w, WRITE, 0));
	for (int i = 0; i < 20; i++) {
		XT_EQ(epoll_wait(set, &event, 1, 0), 1);
		XT_GETS(queue, NULL, pipe.w, WRITE);
		XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_DISABLE));
		XT_NONE(queue);
		(void)epoll_wait(set, &event, 1, 0);
		XT_OK(xt_add(queue, pipe.w, WRITE, XPOLL_ENABLE));
	}
#else
	XT_SKIP("no epoll here");
#endif
}
