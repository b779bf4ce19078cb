/*
 * An echo server in C++20 coroutines: one for each connection, on one thread.
 *
 *     coroutines [PORT]
 *
 * The scheduler is the loop at the end of run(): it hands each event to the
 * coroutine that waits for it.  A read, or a write, is tried first and awaited
 * only if it would block.  Ends on SIGINT and SIGTERM.
 */
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <set>

#include <unistd.h>

#include <xpoll.hpp>

extern "C" {
#include "loopback.h"
}

using namespace std::chrono_literals;

namespace {

/*
 * A coroutine that runs by itself from its first line on, and frees itself at its
 * end.  Those that still wait when the program ends are freed by end_all().
 */
struct task {
	struct promise_type {
		promise_type() { alive.insert(handle().address()); }
		~promise_type() { alive.erase(handle().address()); }
		task get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }

		std::coroutine_handle<promise_type> handle()
		{
			return std::coroutine_handle<promise_type>::from_promise(*this);
		}
	};

	static void end_all()
	{
		while (!alive.empty())
			std::coroutine_handle<>::from_address(*alive.begin()).destroy();
	}

	static inline std::set<void *> alive;
};

bool would_block()
{
	return errno == EAGAIN || errno == EINTR;
}

task serve(xpoll::queue &queue, int fd)
{
	char buffer[4096];
	std::error_code error;

	while (!error) {
		ssize_t len = read(fd, buffer, sizeof buffer);

		if (len < 0 && would_block()) {
			co_await queue.readable(fd, error);
			continue;
		}
		if (len <= 0)
			break;
		for (ssize_t sent = 0; sent < len && !error;) {
			ssize_t more = write(fd, buffer + sent, static_cast<size_t>(len - sent));

			if (more >= 0)
				sent += more;
			else if (would_block())
				co_await queue.writable(fd, error);
			else
				error = std::make_error_code(std::errc::broken_pipe);
		}
	}
	xpoll_close_fd(fd);
}

task accept_all(xpoll::queue &queue, int listener)
{
	std::error_code error;

	while (!error) {
		int fd = loopback_accept(listener);

		if (fd >= 0)
			serve(queue, fd);
		else if (would_block())
			co_await queue.readable(listener, error);
		else /* Out of descriptors: one may be closed by then. */
			co_await queue.timer(100ms, error);
	}
}

volatile std::sig_atomic_t stopping;
xpoll::queue *woken;

void on_signal(int)
{
	stopping = 1;
	woken->wake(); /* may be called here: it is async-signal-safe */
}

int run(const char *port)
{
	xpoll::queue queue;
	xpoll::event events[64];

	woken = &queue;
	std::signal(SIGPIPE, SIG_IGN);
	std::signal(SIGINT, on_signal);
	std::signal(SIGTERM, on_signal);
	int listener = loopback_listen(port);
	if (listener < 0)
		return 1;
	accept_all(queue, listener);
	while (!stopping)
		for (const xpoll::event &event : queue.wait(events))
			xpoll::resume(event);
	task::end_all();
	xpoll_close_fd(listener);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return run(argc > 1 ? argv[1] : "0");
	} catch (const std::exception &error) {
		std::fprintf(stderr, "coroutines: %s\n", error.what());
		return 1;
	}
}
