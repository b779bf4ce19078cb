/*
 * Goal: coroutines, their queues and their events may end in any order.
 * Method: a random program that starts tasks which read, write, sleep or do one of two,
 * keeps the events of waits and resumes them later, in another order, twice or never, and
 * destroys tasks and moves, releases and destroys queues in between.
 * Oracle: AddressSanitizer; each task gets the event that it awaits; at the end every task
 * is resumed that waits in a queue which still exists, and that no other has replaced.
 *
 *     cpp_random [STEPS [SEED]]
 *
 * XPOLL_STRESS_SECONDS multiplies the usual number of steps.
 */
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include <fcntl.h>

#include <xpoll.hpp>

#include "check.hpp"

using namespace std::chrono_literals;

namespace {

/* A coroutine that its owner destroys; another may wait for its end. */
struct task {
	struct promise_type;
	using handle_type = std::coroutine_handle<promise_type>;

	struct at_end {
		bool await_ready() noexcept { return false; }
		std::coroutine_handle<> await_suspend(handle_type ended) noexcept
		{
			std::coroutine_handle<> next = ended.promise().next;

			return next ? next : std::noop_coroutine();
		}
		void await_resume() noexcept {}
	};

	struct promise_type {
		std::coroutine_handle<> next;

		task get_return_object() { return task{handle_type::from_promise(*this)}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		at_end final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};

	explicit task(handle_type handle) : handle_(handle) {}
	task(task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
	~task()
	{
		if (handle_)
			handle_.destroy();
	}
	bool done() const { return handle_.done(); }
	void resume() const { handle_.resume(); }
	void then(std::coroutine_handle<> next) const { handle_.promise().next = next; }

private:
	handle_type handle_;
};

/* co_await first_of{a, b}: until one of the two is done. */
struct first_of {
	const task &a;
	const task &b;

	bool await_ready() const noexcept { return a.done() || b.done(); }
	void await_suspend(std::coroutine_handle<> waiter) const noexcept
	{
		a.then(waiter);
		b.then(waiter);
	}
	void await_resume() const noexcept {}
};

constexpr int QUEUES = 3, PIPES = 6, TASKS = 24;

enum class kind { read, write, sleep, read_or_sleep, held };

/* What is registered: the queue, by its number, the filter and the descriptor. */
using place = std::tuple<int, xpoll::filter, int>;

struct world;

/* One wait of one coroutine, until its event has been resumed. */
struct wait_state {
	world &all;
	place where;
	bool over = false;

	wait_state(world &all, place where);
	wait_state(const wait_state &) = delete;
	~wait_state();
};

struct kept_event {
	xpoll::event event;
	wait_state *of; /* nullptr: its coroutine is gone, or it is a timer's */
};

struct named_queue {
	xpoll::queue queue{nullptr};
	int number = 0; /* 0: none */
};

struct task_entry {
	std::unique_ptr<task> running;
	bool parked = false; /* suspended by itself */
};

struct world {
	std::mt19937 random;
	pipe_pair pipes[PIPES];
	std::vector<kept_event> events;
	std::map<place, wait_state *> registered;
	task_entry tasks[TASKS];
	std::optional<named_queue> queues[QUEUES]; /* end before the tasks */
	int queues_made = 0;
	long resumed = 0, stale = 0;

	explicit world(unsigned seed) : random(seed)
	{
		for (auto &one : queues)
			one.emplace();
		for (auto &pipe : pipes)
			for (int fd : {pipe.r, pipe.w})
				CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	}
	int below(int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }
	named_queue &any_queue() { return *queues[below(QUEUES)]; }
};

wait_state::wait_state(world &among, place at) : all(among), where(at)
{
	all.registered[where] = this; /* takes the place of another */
}

wait_state::~wait_state()
{
	auto found = all.registered.find(where);

	if (found != all.registered.end() && found->second == this)
		all.registered.erase(found);
	for (kept_event &kept : all.events)
		if (kept.of == this)
			kept.of = nullptr;
}

/* Await it; error if the queue is gone. */
task wait_for(world &all, named_queue &in, xpoll::filter what, int fd)
{
	std::error_code error;
	bool reads = what == xpoll::filter::read;

	for (int round = 0; round < 2 && !error; round++) {
		int number = in.number;
		wait_state state(all, {number, what, fd});
		xpoll::event event = reads ? co_await in.queue.readable(fd, error)
		                           : co_await in.queue.writable(fd, error);

		CHECK(!error == (number != 0));
		CHECK(event.fd() == fd && event.what() == what);
		state.over = true;
	}
}

task sleep_for(named_queue &in, std::chrono::microseconds delay)
{
	std::error_code error;
	xpoll::event event = co_await in.queue.timer(delay, error);

	CHECK(error || event.what() == xpoll::filter::timer);
}

task read_or_sleep(world &all, named_queue &in, int fd, std::chrono::microseconds delay)
{
	task read = wait_for(all, in, xpoll::filter::read, fd);
	task sleep = sleep_for(in, delay);

	co_await first_of{read, sleep};
	CHECK(read.done() || sleep.done());
}

/* An awaiter that is made before the coroutine suspends itself, and awaited after. */
task held(named_queue &in, int fd, bool &parked)
{
	std::error_code error;
	auto awaiter = in.queue.timer(std::chrono::microseconds(fd), error);

	parked = true;
	co_await std::suspend_always();
	parked = false;
	co_await awaiter;
}

void start(world &all)
{
	task_entry &entry = all.tasks[all.below(TASKS)];
	named_queue &in = all.any_queue();
	const pipe_pair &pipe = all.pipes[all.below(PIPES)];
	std::chrono::microseconds delay(all.below(2000));

	entry.running.reset();
	entry.parked = false;
	switch (static_cast<kind>(all.below(static_cast<int>(kind::held) + 1))) {
	case kind::read:
		entry.running.reset(new task(wait_for(all, in, xpoll::filter::read, pipe.r)));
		break;
	case kind::write:
		entry.running.reset(new task(wait_for(all, in, xpoll::filter::write, pipe.w)));
		break;
	case kind::sleep:
		entry.running.reset(new task(sleep_for(in, delay)));
		break;
	case kind::read_or_sleep:
		entry.running.reset(new task(read_or_sleep(all, in, pipe.r, delay)));
		break;
	default:
		entry.running.reset(new task(held(in, all.below(500), entry.parked)));
		break;
	}
}

void go_on(world &all)
{
	task_entry &entry = all.tasks[all.below(TASKS)];

	if (entry.running && entry.parked)
		entry.running->resume();
}

/* Who waits in a queue that ends is not resumed, except by events that were kept. */
void forget(world &all, int number)
{
	std::erase_if(all.registered,
	              [&](const auto &one) { return std::get<0>(one.first) == number; });
}

void change_queues(world &all)
{
	int which = all.below(QUEUES);
	named_queue &one = *all.queues[which], &other = all.any_queue();

	switch (all.below(5)) {
	case 0:
		forget(all, one.number);
		all.queues[which].emplace(); /* destroys it */
		break;
	case 1: /* which is destroyed by C */
		forget(all, one.number);
		one.number = 0;
		xpoll_destroy(one.queue.release());
		break;
	case 2:
		if (&one != &other) {
			forget(all, one.number);
			one.queue = std::move(other.queue);
			one.number = std::exchange(other.number, 0);
		}
		break;
	default:
		if (one.number == 0) {
			one.queue = xpoll::queue();
			one.number = ++all.queues_made;
		}
		break;
	}
}

void wait(world &all)
{
	xpoll::event events[4];
	named_queue &in = all.any_queue();
	std::error_code error;

	for (const xpoll::event &event : in.queue.wait(events, 0s, error)) {
		kept_event kept = {event, nullptr};
		auto found = all.registered.find({in.number, event.what(), event.fd()});

		if (event.what() != xpoll::filter::timer) {
			CHECK(found != all.registered.end());
			kept.of = found->second;
			all.registered.erase(found); /* which was for one event */
		}
		all.events.push_back(kept);
	}
	CHECK(!error == (in.number != 0));
}

/* Some of them twice, some never. */
void resume(world &all)
{
	if (all.events.empty())
		return;

	auto which = all.events.begin() + all.below(static_cast<int>(all.events.size()));
	xpoll::event event = which->event;
	int again = all.below(8);

	if (again == 0) {
		all.events.erase(which);
		return;
	}
	all.stale += event.what() != xpoll::filter::timer && !which->of;
	all.events.erase(which);
	CHECK(xpoll::resume(event));
	all.resumed++;
	if (again == 1)
		CHECK(xpoll::resume(event));
}

/* The status of a change that fails has the udata of an event, but is none. */
void fail(world &all)
{
	named_queue &in = all.any_queue();
	xpoll::event change, status[1];
	std::error_code error;

	if (all.events.empty() || in.number == 0)
		return;
	change = all.events.front().event;
	change.ident = 1u << 30;
	change.flags = XPOLL_ENABLE;
	if (in.queue.wait(std::span(&change, 1), status, 0s, error).empty())
		return;
	CHECK(status[0].has(xpoll::flag::error) && !xpoll::resume(status[0]));
}

void step(world &all)
{
	const pipe_pair &pipe = all.pipes[all.below(PIPES)];
	char bytes[64];

	switch (all.below(16)) {
	case 0: change_queues(all); break;
	case 1: all.tasks[all.below(TASKS)].running.reset(); break;
	case 2: go_on(all); break;
	case 3: (void)!read(pipe.r, bytes, sizeof bytes); break;
	case 4: fail(all); break;
	case 5:
	case 6: pipe.put(); break;
	case 7:
	case 8:
	case 9: wait(all); break;
	case 10:
	case 11:
	case 12: resume(all); break;
	default: start(all); break;
	}
}

/* All that wait in queues and are ready come, and their number ends. */
void finish(world &all)
{
	char bytes[4096];

	for (auto &pipe : all.pipes) {
		while (read(pipe.r, bytes, sizeof bytes) > 0)
			;
		pipe.put();
	}
	while (!all.registered.empty() || !all.events.empty()) {
		for (int i = 0; i < 8; i++)
			wait(all);
		while (!all.events.empty()) {
			xpoll::event event = all.events.back().event;

			all.events.pop_back();
			CHECK(xpoll::resume(event));
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	const char *seconds = std::getenv("XPOLL_STRESS_SECONDS");
	long steps = argc > 1 ? std::atol(argv[1]) : 20000 * (seconds ? std::atol(seconds) : 1);
	unsigned seed = argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : 1;
	long resumed = 0, stale = 0;

	std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ); /* so that the last seed is seen */
	for (long done = 0; done < steps; seed++) {
		world all(seed);

		std::printf("seed %u\n", seed);
		for (int i = 0; i < 500; i++, done++)
			step(all);
		if (seed % 2)
			finish(all);
		resumed += all.resumed;
		stale += all.stale;
	}
	std::printf("%ld events resumed, %ld of coroutines that were gone\n", resumed, stale);
	return 0;
}
