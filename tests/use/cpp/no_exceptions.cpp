/*
 * Goal: <xpoll.hpp> serves a program that is compiled without exceptions, and
 * beside <xpoll.h>.
 */
#include <xpoll.h>

#include <xpoll.hpp>
#include <xpoll_tree.hpp>

#include "check.hpp"

using namespace std::chrono_literals;

/* What would throw is not there: the compiler finds it, not the linker. */
template <typename Queue>
concept throws = requires(Queue &queue) { queue.readable(0); } ||
	requires(Queue &queue) { queue.timer(1s); };
static_assert(!throws<xpoll::queue>);
template <typename Tree>
concept tree_throws = requires(Tree &tree) { tree.next(); } || requires { Tree("."); };
static_assert(!tree_throws<xpoll::tree>);

int main()
{
	std::error_code error;
	xpoll::queue queue(error);
	struct xpoll_event record = xpoll::event::user(5); /* the C structure */
	xpoll::event events[2];
	xpoll::ready ready[2];
	pipe_pair pipe;

	CHECK(!error && record.filter == XPOLL_FILT_USER);
	CHECK(!xpoll::tree(".", {}, error).next(0s, error) && !error);
	queue.change(xpoll::event::read(pipe.r), error);
	CHECK(!error);
	pipe.put();
	CHECK(queue.wait(events, 1s, error).size() == 1 && !error);
	CHECK(queue.wait(events, error).front().fd() == pipe.r);
	queue.ctl(xpoll::flag::add, POLLOUT, pipe.w, error);
	CHECK(!error && queue.poll(ready, 1s, error).size() == 2 && !error);
	return 0;
}
