/*
 * The echo server by a pool of threads that share one queue.
 *
 *     thread-pool [PORT]
 *
 * In dispatch mode an event goes to one thread, and there is no other event for
 * its connection until that thread enables it again: so no connection is in two
 * threads, and none needs a lock.  Ends on SIGINT and SIGTERM.
 */
#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <thread>
#include <unistd.h>
#include <vector>
#include <xpoll.hpp>

extern "C" {
#include "loopback.h"
}

namespace {

using filter = xpoll::filter;

class server {
public:
	server()
	{
		std::signal(SIGPIPE, SIG_IGN);
		for (int number : {SIGINT, SIGTERM}) {
			std::signal(number, SIG_IGN); /* it is observed all the same */
			queue_.change(xpoll::event::signal(number));
		}
	}

	bool listen(const char *port)
	{
		listener_ = loopback_listen(port);
		return listener_ >= 0 && change(xpoll::event::read(listener_).dispatch());
	}

	void work()
	{
		xpoll::event one[1];

		while (!ending_) {
			for (const xpoll::event &event : queue_.wait(one)) {
				if (event.what() == filter::signal)
					ending_ = true;
				else if (event.fd() == listener_)
					accept_one();
				else
					serve(event.fd());
			}
		}
		queue_.wake(); /* one wake ends one wait: pass it on to the next thread */
	}

private:
	/* READ comes last: from then on another thread may own the connection. */
	void accept_one()
	{
		int fd = loopback_accept(listener_);
		bool fits = fd < static_cast<int>(texts_.size());

		if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) /* else when one is closed */
			change(xpoll::event::enable(filter::read, listener_));
		if (fd >= 0 && !(fits && change(xpoll::event::write(fd).dispatch().disabled()) &&
		                 change(xpoll::event::read(fd).dispatch())))
			xpoll_close_fd(fd);
	}

	void serve(int fd)
	{
		loopback_text &text = texts_[static_cast<std::size_t>(fd)];
		int more = loopback_echo(fd, &text);

		if (more >= 0 &&
		    change(xpoll::event::enable(more ? filter::write : filter::read, fd)))
			return;
		text = {};
		xpoll_close_fd(fd);
		change(xpoll::event::enable(filter::read, listener_)); /* room for one more */
	}

	bool change(const xpoll::event &wanted)
	{
		std::error_code error;

		queue_.change(wanted, error);
		return !error;
	}

	xpoll::queue queue_;
	std::vector<loopback_text> texts_ = std::vector<loopback_text>(1024); /* by fd */
	int listener_ = -1;
	std::atomic<bool> ending_ = false;
};

} // namespace

int main(int argc, char **argv)
{
	try {
		server pool;
		std::vector<std::thread> threads;

		if (!pool.listen(argc > 1 ? argv[1] : "0"))
			return 1;
		for (int i = 0; i < 4; i++)
			threads.emplace_back([&pool] { pool.work(); });
		for (std::thread &thread : threads)
			thread.join();
	} catch (const std::exception &error) {
		std::cerr << "thread-pool: " << error.what() << '\n';
		return 1;
	}
}
