/*
 * Goal: xpoll::queue does what the C calls do: its ownership, both forms of
 * errors, timeouts, changes and events, and coroutines.
 * Method: one function for each; pipes, timers, signals and a child process.
 */
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <xpoll.hpp>

#include "check.hpp"

using namespace std::chrono_literals;

namespace {

static_assert(std::is_nothrow_move_constructible_v<xpoll::queue>);
static_assert(!std::is_copy_constructible_v<xpoll::queue>);
static_assert(xpoll::event::to_ns(1500us) == 1'500'000);
static_assert(xpoll::event::to_ns(-5s) == 0);
static_assert(xpoll::event::to_ns(std::chrono::duration<double>(1e-10)) == 1);
static_assert(xpoll::event::to_ns(std::chrono::hours::max()) ==
              std::numeric_limits<std::int64_t>::max());
static_assert((xpoll::flag::add | xpoll::flag::clear) ==
              static_cast<xpoll::flag>(XPOLL_ADD | XPOLL_CLEAR));
static_assert(xpoll::event::read(3).disabled().flags == (XPOLL_ADD | XPOLL_DISABLE));

void queue_moves_and_an_empty_one_fails()
{
	xpoll::queue first;
	xpoll *raw = first.get();
	xpoll::queue second = std::move(first);
	xpoll::event events[1];
	std::error_code error;

	CHECK(!first && second.get() == raw);
	CHECK(first.wait(events, 0s, error).empty());
	CHECK(error == std::errc::invalid_argument);
	first = std::move(second);
	CHECK(first.get() == raw && !second);
	CHECK(std::strlen(first.backend()) > 0);
	CHECK(first.supports(xpoll::filter::timer));
	xpoll_destroy(first.release());
	CHECK(!first);
}

void unknown_back_end_is_an_error_in_both_forms()
{
	std::error_code error;
	xpoll::queue none({.backend = "nope"}, error);

	CHECK(!none && error == std::errc::not_supported);
	try {
		xpoll::queue thrown(xpoll::queue::options{.backend = "nope"});

		CHECK(false);
	} catch (const std::system_error &caught) {
		CHECK(caught.code() == std::errc::not_supported);
		CHECK(std::strstr(caught.what(), "no back end \"nope\"; usable here: "));
	}
}

void events_come_with_their_data()
{
	xpoll::queue queue;
	pipe_pair pipe;
	xpoll::event events[4];
	int mine = 7;

	queue.change(xpoll::event::read(pipe.r).with(&mine));
	CHECK(queue.wait(events, 0s).empty());
	pipe.put();

	auto ready = queue.wait(events);

	CHECK(ready.size() == 1 && ready.data() == events);
	CHECK(ready[0].what() == xpoll::filter::read && ready[0].fd() == pipe.r);
	CHECK(ready[0].pointer<int>() == &mine && !ready[0].eof());
	CHECK(ready[0].describe().find("READ") == 0);
	queue.change(xpoll::event::disable(xpoll::filter::read, ready[0].ident));
	CHECK(queue.wait(events, 1ms).empty());
	CHECK(queue.lookup(xpoll::filter::read, pipe.r).has(xpoll::flag::disable));
}

void changes_report_their_status()
{
	xpoll::queue queue;
	pipe_pair pipe;
	const xpoll::event changes[] = {
		xpoll::event::write(pipe.w).receipt(),
		xpoll::event::remove(xpoll::filter::read, pipe.r),
	};
	xpoll::event events[4];
	auto statuses = queue.wait(changes, events, 0s);
	std::error_code error;

	CHECK(statuses.size() == 2);
	CHECK(statuses[0].has(xpoll::flag::error) && !statuses[0].status());
	CHECK(statuses[1].status() == std::errc::no_such_file_or_directory);
	queue.change(xpoll::event::read(-1), error);
	CHECK(error == std::errc::bad_file_descriptor);
	try {
		queue.change(xpoll::event::read(-1));
		CHECK(false);
	} catch (const std::system_error &caught) {
		CHECK(caught.code() == std::errc::bad_file_descriptor);
	}
}

void options_include_the_flags_of_a_queue()
{
	xpoll::queue queue({.flags = XPOLL_TELL_MODES});
	xpoll::event events[1];
	std::error_code error;

	queue.change(xpoll::event::user(1u));
	queue.change(xpoll::event::trigger(1));
	CHECK(queue.wait(events, 0s).front().has(xpoll::flag::clear));
	xpoll::queue none({.flags = ~0u}, error);
	CHECK(!none && error == std::errc::invalid_argument);
}

void ready_descriptors_come_with_bits_and_data()
{
	xpoll::queue queue;
	pipe_pair pipe;
	xpoll::ready ready[4];
	std::error_code error;
	int mine = 7;

	queue.ctl(xpoll::flag::add, POLLIN, pipe.r, &mine);
	queue.ctl(xpoll::flag::add | xpoll::flag::oneshot, POLLOUT, pipe.w);
	pipe.put();

	auto found = queue.poll(ready);

	CHECK(found.size() == 2 && found.data() == ready);
	for (const xpoll::ready &one : found) {
		CHECK(one.has(one.fd == pipe.r ? POLLIN : POLLOUT));
		CHECK(one.pointer<int>() == (one.fd == pipe.r ? &mine : nullptr));
	}
	found = queue.poll(ready, 1h);
	CHECK(found.size() == 1 && found[0].fd == pipe.r && found[0].events == POLLIN);
	queue.ctl(xpoll::flag::disable, POLLIN, pipe.r);
	CHECK(queue.poll(ready, 1us).empty());
	queue.change(xpoll::event::read(pipe.r).with_number(UINT64_C(0xfedcba9876543210)));
	CHECK(queue.poll(ready, 0s).front().data64 == UINT64_C(0xfedcba9876543210));

	queue.ctl(xpoll::flag::enable, POLLOUT, pipe.r, error);
	CHECK(error == std::errc::no_such_file_or_directory);
	queue.poll(std::span<xpoll::ready>(), 0s, error);
	CHECK(error == std::errc::invalid_argument);
	try {
		queue.ctl(xpoll::flag::add, POLLIN, -1);
		CHECK(false);
	} catch (const std::system_error &caught) {
		CHECK(caught.code() == std::errc::bad_file_descriptor);
	}
}

void whole_disables_the_other_direction_too()
{
	for (xpoll::flag whole : {xpoll::flag::dispatch, xpoll::flag::whole}) {
		xpoll::queue queue;
		xpoll::ready ready[2];
		int ends[2];

		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		queue.ctl(xpoll::flag::add | xpoll::flag::dispatch | whole, POLLIN | POLLOUT, ends[0]);
		CHECK(queue.poll(ready, 0s).front().events == POLLOUT);
		CHECK(write(ends[1], "x", 1) == 1);
		CHECK(queue.poll(ready, 0s).empty() == (whole == xpoll::flag::whole));
		close(ends[0]);
		close(ends[1]);
	}
}

/* One of several threads owns a descriptor until it enables it again. */
void whole_descriptor_goes_to_one_of_many_threads()
{
	constexpr int threads = 4, pipes = 3, rounds = 500;
	xpoll::queue queue;
	pipe_pair pair[pipes];
	std::atomic<int> owners[pipes] = {}, left = pipes * rounds;
	std::vector<std::thread> pool;

	for (int i = 0; i < pipes; i++) {
		queue.ctl(xpoll::flag::add | xpoll::flag::dispatch | xpoll::flag::whole, POLLIN,
		          pair[i].r, &owners[i]);
		pair[i].put();
	}
	for (int i = 0; i < threads; i++)
		pool.emplace_back([&] {
			xpoll::ready ready[2];

			while (left > 0)
				for (const xpoll::ready &one : queue.poll(ready)) {
					std::atomic<int> &owner = *one.pointer<std::atomic<int>>();

					CHECK(one.events == POLLIN && owner.fetch_add(1) == 0);
					owner--;
					queue.ctl(xpoll::flag::enable, POLLIN, one.fd);
					left--;
				}
			queue.wake();
		});
	for (std::thread &one : pool)
		one.join();
	CHECK(left <= 0 && queue.stats().events >= pipes * rounds);
}

void mask_lets_a_signal_in_while_polling()
{
	xpoll::queue queue;
	xpoll::ready ready[1];
	std::error_code error;
	sigset_t blocked, before;

	std::signal(SIGUSR1, [](int) {});
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	CHECK(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(queue.poll(ready, 1ms, error).empty() && !error);
	CHECK(queue.poll(ready, 1h, &before, error).empty());
	CHECK(error == std::errc::interrupted);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(queue.poll(ready, 1ms, &before).empty()); /* goes on to the end of its time */
	CHECK(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
	std::signal(SIGUSR1, SIG_DFL);
}

void no_room_for_events_is_an_error()
{
	xpoll::queue queue;
	std::error_code error;

	queue.wait(std::span<xpoll::event>(), 0s, error);
	CHECK(error == std::errc::invalid_argument);
}

xpoll::queue *interrupted;
int interruptions;

/* The first one does not end the wait; the second does, by a wake. */
void on_alarm(int)
{
	if (++interruptions == 2)
		interrupted->wake();
}

void signal_handler_ends_a_wait_only_by_wake()
{
	xpoll::queue queue;
	xpoll::event events[1];
	struct itimerval every = {{0, 10000}, {0, 10000}};
	struct itimerval off = {};
	struct sigaction action = {};
	std::error_code error;

	interrupted = &queue;
	action.sa_handler = on_alarm;
	CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, nullptr) == 0);
	CHECK(queue.wait(events).empty());
	CHECK(interruptions >= 2);
	queue.wait(events, error);
	CHECK(error == std::errc::interrupted);
	CHECK(setitimer(ITIMER_REAL, &off, nullptr) == 0);
}

/* A coroutine that somebody else owns, as far as it is needed here. */
struct task {
	struct promise_type {
		task get_return_object()
		{
			return task{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};

	explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
	task(task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
	~task()
	{
		if (handle_)
			handle_.destroy();
	}
	bool done() const { return handle_.done(); }

private:
	std::coroutine_handle<promise_type> handle_;
};

void run_until_done(xpoll::queue &queue, const task &waiting)
{
	xpoll::event events[8];

	while (!waiting.done())
		for (const xpoll::event &event : queue.wait(events))
			CHECK(xpoll::resume(event));
}

task wait_for_everything(xpoll::queue &queue, const pipe_pair &pipe, int &steps)
{
	pid_t child;
	std::error_code error;
	xpoll::event event = co_await queue.writable(pipe.w);

	CHECK(event.what() == xpoll::filter::write);
	steps++;
	pipe.put();
	event = co_await queue.readable(pipe.r);
	CHECK(event.fd() == pipe.r);
	pipe.take();
	steps++;
	co_await queue.timer(1ms);
	steps++;
	raise(SIGUSR1);
	child = fork();
	if (child == 0)
		_exit(3);
	event = co_await queue.process(child);
	CHECK(event.has(xpoll::note::exit) && WEXITSTATUS(event.data) == 3);
	CHECK(waitpid(child, nullptr, 0) == child);
	steps++;
	co_await queue.readable(-1, error);
	CHECK(error == std::errc::bad_file_descriptor);
	steps++;
	try {
		co_await queue.readable(-1);
		CHECK(false);
	} catch (const std::system_error &caught) {
		CHECK(caught.code() == std::errc::bad_file_descriptor);
		steps++;
	}
}

void coroutine_is_resumed_by_each_kind_of_event()
{
	xpoll::queue queue;
	pipe_pair pipe;
	int steps = 0;

	std::signal(SIGUSR1, SIG_IGN);
	task waiting = wait_for_everything(queue, pipe, steps);

	run_until_done(queue, waiting);
	CHECK(steps == 6);
}

task wait_for_a_signal(xpoll::queue &queue, int &count)
{
	xpoll::event event = co_await queue.signal(SIGUSR1);

	count = static_cast<int>(event.data);
}

void coroutine_waits_for_a_signal()
{
	xpoll::queue queue;
	int count = 0;

	std::signal(SIGUSR1, SIG_IGN);
	task waiting = wait_for_a_signal(queue, count);

	CHECK(kill(getpid(), SIGUSR1) == 0);
	run_until_done(queue, waiting);
	CHECK(count == 1);
}

task wait_to_read(xpoll::queue &queue, int fd)
{
	std::error_code error;

	co_await queue.readable(fd, error);
}

task wait_to_write(xpoll::queue &queue, int fd)
{
	co_await queue.writable(fd);
}

void destroyed_coroutine_takes_its_registration_along()
{
	xpoll::queue queue;
	pipe_pair pipe;
	xpoll::event events[1];
	std::error_code error;

	{
		task waiting = wait_to_read(queue, pipe.r);

		CHECK(!waiting.done());
		queue.lookup(xpoll::filter::read, pipe.r);
	}
	pipe.put();
	queue.lookup(xpoll::filter::read, pipe.r, error);
	CHECK(error == std::errc::no_such_file_or_directory);
	CHECK(queue.wait(events, 0s).empty());
}

void queue_may_be_destroyed_before_its_coroutines()
{
	pipe_pair pipe;
	std::optional<xpoll::queue> queue{std::in_place};
	task waiting = wait_to_read(*queue, pipe.r);
	xpoll::queue other;

	*queue = std::move(other); /* destroys the first one */
	task second = wait_to_read(*queue, pipe.r);
	xpoll::queue moved = std::move(*queue);
	task third = wait_to_read(*queue, pipe.r); /* fails: no queue */

	queue.reset();
	CHECK(!waiting.done() && !second.done() && third.done());
	pipe.put();
	run_until_done(moved, second);
}

void coroutine_may_be_destroyed_before_its_event_is_resumed()
{
	xpoll::queue queue;
	pipe_pair pipe;
	xpoll::event events[2];
	std::optional<task> first{wait_to_read(queue, pipe.r)};

	pipe.put();
	CHECK(queue.wait(events, 0s).size() == 1);

	/* A second one waits for the same by now, and goes on waiting. */
	task second = wait_to_read(queue, pipe.r);

	first.reset();
	CHECK(xpoll::resume(events[0]));
	CHECK(!second.done());
	CHECK(queue.wait(events, 0s).size() == 1);
	CHECK(xpoll::resume(events[0]) && second.done());
	CHECK(xpoll::resume(events[0]));
}

/* It has the udata of the event that it was made of. */
void status_of_a_change_resumes_nothing()
{
	xpoll::queue queue;
	pipe_pair pipe;
	xpoll::event events[1];
	task waiting = wait_to_read(queue, pipe.r);
	xpoll::event change = queue.lookup(xpoll::filter::read, pipe.r);

	change.ident = static_cast<std::uint64_t>(pipe.w);
	change.flags = XPOLL_ENABLE;
	CHECK(change.udata64 != 0);
	CHECK(queue.wait(std::span(&change, 1), events, 0s).size() == 1);
	CHECK(events[0].status() == std::errc::no_such_file_or_directory);
	CHECK(!xpoll::resume(events[0]) && !waiting.done());
}

void released_queue_still_resumes_coroutines()
{
	xpoll::queue queue;
	pipe_pair pipe;
	struct xpoll_event event;
	std::optional<task> gone{wait_to_read(queue, pipe.r)};
	task waiting = wait_to_write(queue, pipe.w);
	xpoll *raw = queue.release();

	gone.reset();
	CHECK(xpoll_event(raw, nullptr, 0, &event, 1, 0) == 1);
	xpoll::event occurred;
	static_cast<struct xpoll_event &>(occurred) = event;
	CHECK(xpoll::resume(occurred) && waiting.done());
	xpoll_destroy(raw);
}

} // namespace

int main()
{
	queue_moves_and_an_empty_one_fails();
	unknown_back_end_is_an_error_in_both_forms();
	events_come_with_their_data();
	changes_report_their_status();
	options_include_the_flags_of_a_queue();
	no_room_for_events_is_an_error();
	ready_descriptors_come_with_bits_and_data();
	whole_disables_the_other_direction_too();
	whole_descriptor_goes_to_one_of_many_threads();
	mask_lets_a_signal_in_while_polling();
	signal_handler_ends_a_wait_only_by_wake();
	coroutine_is_resumed_by_each_kind_of_event();
	coroutine_waits_for_a_signal();
	destroyed_coroutine_takes_its_registration_along();
	queue_may_be_destroyed_before_its_coroutines();
	coroutine_may_be_destroyed_before_its_event_is_resumed();
	status_of_a_change_resumes_nothing();
	released_queue_still_resumes_coroutines();
	std::puts("17 passed, 0 failed");
	return 0;
}
