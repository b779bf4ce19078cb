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
#include <thread>
#include <unistd.h>
#include <vector>
#include <xpoll.hpp>

extern "C" {
#include "loopback.h"
}

namespace {

using filter = xpoll::filter;

xpoll::queue queue;
std::vector<loopback_text> texts(1024); /* by descriptor */
int listener;
std::atomic<bool> ending;

void enable(filter what, int fd)
{
	queue.change(xpoll::event::enable(what, static_cast<std::uint64_t>(fd)));
}

/* READ comes last: from then on another thread may own the connection. */
void accept_one()
{
	int fd = loopback_accept(listener);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) /* else when one is closed */
		enable(filter::read, listener);
	if (fd >= static_cast<int>(texts.size())) {
		close(fd);
	} else if (fd >= 0) {
		queue.change(xpoll::event::write(fd).dispatch().disabled());
		queue.change(xpoll::event::read(fd).dispatch());
	}
}

void serve(int fd)
{
	loopback_text &text = texts[static_cast<std::size_t>(fd)];
	int more = loopback_echo(fd, &text);

	if (more >= 0) {
		enable(more ? filter::write : filter::read, fd);
		return;
	}
	text = {};
	xpoll_close_fd(fd);
	enable(filter::read, listener); /* room for one more */
}

void work()
{
	xpoll::event one[1];

	while (!ending) {
		for (const xpoll::event &event : queue.wait(one)) {
			if (event.what() == filter::signal)
				ending = true;
			else if (event.fd() == listener)
				accept_one();
			else
				serve(event.fd());
		}
	}
	queue.wake(); /* one wake ends one wait: pass it on to the next thread */
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	std::signal(SIGPIPE, SIG_IGN);
	for (int number : {SIGINT, SIGTERM}) {
		std::signal(number, SIG_IGN); /* it is observed all the same */
		queue.change(xpoll::event::signal(number));
	}
	listener = loopback_listen(argc > 1 ? argv[1] : "0");
	if (listener < 0)
		return 1;
	queue.change(xpoll::event::read(listener).dispatch());
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work);
	for (std::thread &thread : threads)
		thread.join();
}
