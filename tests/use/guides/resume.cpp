/* cpp.md, "Coroutines": the loop resumes what an event belongs to. */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

struct detached {
	struct promise_type {
		detached get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::abort(); }
	};
};

static detached read_byte(xpoll::queue &queue, int fd)
{
	co_await queue.timer(std::chrono::milliseconds(1));
	xpoll::event event = co_await queue.readable(fd);

	std::printf("%d\n", event.fd() == fd);
	std::fflush(stdout);
	std::_Exit(0); /* run() has no end */
}

int main()
{
	xpoll::queue queue;
	int fds[2];

	if (pipe(fds) < 0 || write(fds[1], "x", 1) != 1)
		return 1;
	read_byte(queue, fds[0]);
	run(queue);
}
