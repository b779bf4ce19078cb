/*
 * Tick a hundred times a second and count hang-ups, until SIGTERM.
 *
 *     timers-and-signals      then: kill -HUP PID
 *
 * The queue observes signals and never consumes them.  Both of these would end the
 * program, so they are ignored first, and delivered all the same.
 */
#include <csignal>
#include <exception>
#include <iostream>

#include <xpoll.hpp>

using namespace std::chrono_literals;

static void run()
{
	xpoll::queue queue;
	xpoll::event events[8];
	std::int64_t ticks = 0, hang_ups = 0;

	for (int number : {SIGHUP, SIGTERM}) {
		std::signal(number, SIG_IGN);
		queue.change(xpoll::event::signal(number));
	}
	queue.change(xpoll::event::timer(1, 10ms));
	for (;;) {
		for (const xpoll::event &event : queue.wait(events)) {
			/* data: how often, since the last event */
			if (event.what() == xpoll::filter::timer) {
				std::cout << "ticks: " << (ticks += event.data) << std::endl;
			} else if (event.ident == SIGHUP) {
				std::cout << "hang-ups: " << (hang_ups += event.data) << std::endl;
			} else {
				std::cout << "end" << std::endl;
				return;
			}
		}
	}
}

int main()
{
	try {
		run();
	} catch (const std::exception &error) {
		std::cerr << "timers-and-signals: " << error.what() << '\n';
		return 1;
	}
}
