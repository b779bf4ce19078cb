/*
 * xpoll for C++20: one header over <xpoll.h>.
 *
 *   xpoll::queue   a queue; move-only, destroyed with the object
 *   xpoll::event   a change or an event, struct xpoll_event underneath
 *   xpoll::ready   a descriptor with POLL* bits, struct xpoll_ready underneath
 *   xpoll::filter, xpoll::flag, xpoll::note   typed constants
 *   co_await queue.readable(fd), .writable(fd), .timer(5s), .process(pid),
 *   .signal(SIGHUP), .file(fd, notes)
 *
 * Each call that can fail has two forms: one takes a std::error_code and never
 * throws, the other throws std::system_error.  With -fno-exceptions only the
 * first exists.  Threads, ownership and errors are as for the C calls; see
 * xpoll(3).
 *
 * `xpoll` is a class, not a namespace, because the C header has a structure of
 * that name.  So `using xpoll::queue` works only inside a class; elsewhere write
 * `using queue = xpoll::queue`.  xpoll_event is both a structure and a function,
 * like stat, so C++ code that names the structure writes `struct xpoll_event`.
 */
#ifndef XPOLL_HPP
#define XPOLL_HPP

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "xpoll.hpp needs C++20: compile with -std=c++20 or later"
#endif

#include <xpoll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions) && __cpp_exceptions
#define XPOLL_HPP_THROWS 1
#else
#define XPOLL_HPP_THROWS 0
#endif

/* Makes all modules of a process share a class's static objects, even with -fvisibility=hidden. */
#if defined(__GNUC__) && !defined(_WIN32)
#define XPOLL_HPP_SHARED __attribute__((visibility("default")))
#else
#define XPOLL_HPP_SHARED
#endif

struct XPOLL_HPP_SHARED xpoll {
	xpoll() = delete; /* never an object, only a scope for the names below */
	~xpoll() = delete;

	/* The kind of event; `ident` is a descriptor where no comment says otherwise. */
	enum class filter : std::int16_t {
		read = XPOLL_FILT_READ,
		write = XPOLL_FILT_WRITE,
		aio = XPOLL_FILT_AIO, /* address of a struct xpoll_aio */
		vnode = XPOLL_FILT_VNODE,
		process = XPOLL_FILT_PROC,  /* process id */
		signal = XPOLL_FILT_SIGNAL, /* signal number */
		timer = XPOLL_FILT_TIMER,   /* any number */
		user = XPOLL_FILT_USER,     /* any number */
		empty = XPOLL_FILT_EMPTY,
		except = XPOLL_FILT_EXCEPT,
	};

	enum class flag : std::uint16_t {
		none = 0,
		add = XPOLL_ADD,
		remove = XPOLL_DELETE,
		enable = XPOLL_ENABLE,
		disable = XPOLL_DISABLE,
		oneshot = XPOLL_ONESHOT,
		clear = XPOLL_CLEAR,
		receipt = XPOLL_RECEIPT,
		dispatch = XPOLL_DISPATCH,
		keep_udata = XPOLL_KEEPUDATA,
		set_udata = XPOLL_SETUDATA,
		whole = XPOLL_WHOLE, /* for queue::ctl */
		error = XPOLL_ERROR,
		eof = XPOLL_EOF,
	};

	enum class note : std::uint32_t {
		none = 0,
		/* read, write */
		lowat = XPOLL_NOTE_LOWAT,
		count = XPOLL_NOTE_COUNT,
		socket_error = XPOLL_NOTE_SOERR,
		exclusive = XPOLL_NOTE_EXCLUSIVE,
		/* except */
		oob = XPOLL_NOTE_OOB,
		/* user */
		trigger = XPOLL_NOTE_TRIGGER,
		/* timer */
		seconds = XPOLL_NOTE_SECONDS,
		milliseconds = XPOLL_NOTE_MSECONDS,
		microseconds = XPOLL_NOTE_USECONDS,
		nanoseconds = XPOLL_NOTE_NSECONDS,
		absolute = XPOLL_NOTE_ABSTIME,
		monotonic = XPOLL_NOTE_MONOTONIC,
		/* signal */
		accept = XPOLL_NOTE_ACCEPT,
		/* process */
		exit = XPOLL_NOTE_EXIT,
		fork = XPOLL_NOTE_FORK,
		exec = XPOLL_NOTE_EXEC,
		track = XPOLL_NOTE_TRACK,
		track_error = XPOLL_NOTE_TRACKERR,
		child = XPOLL_NOTE_CHILD,
		status_unknown = XPOLL_NOTE_STATUS_UNKNOWN,
		/* vnode */
		deleted = XPOLL_NOTE_DELETE,
		written = XPOLL_NOTE_WRITE,
		extended = XPOLL_NOTE_EXTEND,
		attributes = XPOLL_NOTE_ATTRIB,
		linked = XPOLL_NOTE_LINK,
		renamed = XPOLL_NOTE_RENAME,
		revoked = XPOLL_NOTE_REVOKE,
		opened = XPOLL_NOTE_OPEN,
		closed = XPOLL_NOTE_CLOSE,
		closed_written = XPOLL_NOTE_CLOSE_WRITE,
		was_read = XPOLL_NOTE_READ,
		truncated = XPOLL_NOTE_TRUNCATE,
	};

	template <typename T>
	static constexpr bool is_bits = std::is_same_v<T, flag> || std::is_same_v<T, note>;

	/* Sets of flags or notes. */
	template <typename T>
		requires is_bits<T>
	friend constexpr T operator|(T a, T b) noexcept
	{
		using bits = std::underlying_type_t<T>;
		return static_cast<T>(static_cast<bits>(a) | static_cast<bits>(b));
	}

	template <typename T>
		requires is_bits<T>
	friend constexpr T operator&(T a, T b) noexcept
	{
		using bits = std::underlying_type_t<T>;
		return static_cast<T>(static_cast<bits>(a) & static_cast<bits>(b));
	}

	template <typename T>
		requires is_bits<T>
	friend constexpr T &operator|=(T &a, T b) noexcept
	{
		return a = a | b;
	}

	using c_event = struct ::xpoll_event;
	using c_ready = struct ::xpoll_ready;
	using counters = struct ::xpoll_stats;
	struct event;
	struct ready;
	class queue;
	class awaiter;
	class tree; /* <xpoll_tree.hpp> */

	/*
	 * Resume the coroutine that awaits this event, unless it was destroyed meanwhile.
	 * Returns false if the event has no udata, or is the status of a change (flag::error).
	 * Any other udata must be that of a registration which co_await has made.
	 */
	static bool resume(const event &occurred);

	static std::error_code last_error() noexcept
	{
		return {errno, std::system_category()};
	}

private:
	class waiting;
	class hub;
};

/*
 * A change for queue::change and queue::wait, or an event that a wait returned.
 * It has the layout of struct xpoll_event and may be used as one.
 */
struct xpoll::event : xpoll::c_event {
	constexpr event() noexcept : c_event{} {}

	constexpr event(xpoll::filter what, std::uint64_t id, flag how, note notes = note::none,
	                std::int64_t amount = 0) noexcept
		: c_event{}
	{
		ident = id;
		c_event::filter = static_cast<std::int16_t>(what);
		flags = static_cast<std::uint16_t>(how);
		fflags = static_cast<std::uint32_t>(notes);
		data = amount;
	}

	/*
	 * Changes that add a registration and enable it; append a mode from below if
	 * wanted.  user() has the mode clear already.
	 */
	static constexpr event read(xpoll_fd_t fd, note notes = note::none) noexcept
	{
		return {xpoll::filter::read, id_of(fd), added, notes};
	}
	static constexpr event write(xpoll_fd_t fd, note notes = note::none) noexcept
	{
		return {xpoll::filter::write, id_of(fd), added, notes};
	}
	static constexpr event except(xpoll_fd_t fd) noexcept
	{
		return {xpoll::filter::except, id_of(fd), added, note::oob};
	}
	static constexpr event vnode(xpoll_fd_t fd, note notes) noexcept
	{
		return {xpoll::filter::vnode, id_of(fd), added, notes};
	}
	static constexpr event process(std::int64_t pid, note notes = note::exit) noexcept
	{
		return {xpoll::filter::process, static_cast<std::uint64_t>(pid), added, notes};
	}
	static constexpr event signal(int number, note notes = note{}) noexcept
	{
		return {xpoll::filter::signal, static_cast<std::uint64_t>(number), added, notes};
	}
	static constexpr event user(std::uint64_t id) noexcept
	{
		return {xpoll::filter::user, id, added | flag::clear};
	}
	/* Expires every `period`, or once with oneshot(); a negative period counts as 0. */
	template <typename Rep, typename Period>
	static constexpr event timer(std::uint64_t id,
	                             std::chrono::duration<Rep, Period> period) noexcept
	{
		return {xpoll::filter::timer, id, added, note::nanoseconds, to_ns(period)};
	}

	/* Changes of an existing registration; the ident is an integer of any type. */
	static constexpr event remove(xpoll::filter what, std::integral auto id) noexcept
	{
		return {what, static_cast<std::uint64_t>(id), flag::remove};
	}
	static constexpr event enable(xpoll::filter what, std::integral auto id) noexcept
	{
		return {what, static_cast<std::uint64_t>(id), flag::enable};
	}
	static constexpr event disable(xpoll::filter what, std::integral auto id) noexcept
	{
		return {what, static_cast<std::uint64_t>(id), flag::disable};
	}
	static constexpr event trigger(std::uint64_t id) noexcept
	{
		return {xpoll::filter::user, id, flag::none, note::trigger};
	}

	/* Return a copy with a mode or a udata: event::read(fd).clear().with(pointer). */
	constexpr event oneshot() const noexcept { return and_also(flag::oneshot); }
	constexpr event clear() const noexcept { return and_also(flag::clear); }
	constexpr event dispatch() const noexcept { return and_also(flag::dispatch); }
	constexpr event receipt() const noexcept { return and_also(flag::receipt); }
	constexpr event disabled() const noexcept
	{
		event changed = and_also(flag::disable);

		changed.flags &= static_cast<std::uint16_t>(~XPOLL_ENABLE);
		return changed;
	}
	constexpr event with(void *pointer) const noexcept
	{
		event changed = *this;

		changed.udata64 = 0; /* all 64 bits, even where pointers have 32 */
		changed.udata = pointer;
		return changed;
	}
	constexpr event with_number(std::uint64_t number) const noexcept
	{
		event changed = *this;

		changed.udata64 = number;
		return changed;
	}

	/* Read an event. */
	constexpr xpoll::filter what() const noexcept
	{
		return static_cast<xpoll::filter>(c_event::filter);
	}
	constexpr xpoll_fd_t fd() const noexcept { return static_cast<xpoll_fd_t>(ident); }
	constexpr note notes() const noexcept { return static_cast<note>(fflags); }
	constexpr bool has(flag one) const noexcept
	{
		return flags & static_cast<std::uint16_t>(one);
	}
	constexpr bool has(note one) const noexcept
	{
		return fflags & static_cast<std::uint32_t>(one);
	}
	constexpr bool eof() const noexcept { return has(flag::eof); }
	/*
	 * Returns why a change failed; no error if it succeeded or this is an ordinary event.  With
	 * flag::error the other members are those of the change, and `data` is an errno value.
	 */
	std::error_code status() const noexcept
	{
		return {has(flag::error) ? static_cast<int>(data) : 0, std::system_category()};
	}
	template <typename T> T *pointer() const noexcept { return static_cast<T *>(udata); }

	/* Returns a text for logs, such as "READ ident=5 data=12 EOF". */
	std::string describe() const
	{
		char text[256];
		int len = xpoll_describe(this, text, sizeof text);

		return len < 0 ? std::string() : std::string(text);
	}

	/* Convert to whole nanoseconds, rounded up; a negative time becomes 0. */
	template <typename Rep, typename Period>
	static constexpr std::int64_t to_ns(std::chrono::duration<Rep, Period> time) noexcept
	{
		using namespace std::chrono;
		constexpr auto most = std::numeric_limits<std::int64_t>::max();

		if (!(time > time.zero()))
			return 0;
		if (duration<double>(time).count() >= static_cast<double>(most) / 1e9)
			return most;
		return ceil<std::chrono::nanoseconds>(time).count();
	}

private:
	static constexpr flag added = flag::add | flag::enable;

	static constexpr std::uint64_t id_of(xpoll_fd_t fd) noexcept
	{
		return static_cast<std::uint64_t>(fd);
	}
	constexpr event and_also(flag more) const noexcept
	{
		event changed = *this;

		changed.flags |= static_cast<std::uint16_t>(more);
		return changed;
	}
};

static_assert(sizeof(xpoll::event) == sizeof(struct xpoll_event));

/*
 * A descriptor that queue::poll returned, with the members of struct xpoll_ready: `fd`, `events`
 * (POLL* bits) and `data64`.
 */
struct xpoll::ready : xpoll::c_ready {
	constexpr ready() noexcept : c_ready{} {}

	/* Returns true if one of these POLL* bits is set. */
	constexpr bool has(int bits) const noexcept { return (events & bits) != 0; }
	template <typename T> T *pointer() const noexcept { return static_cast<T *>(data); }
};

static_assert(sizeof(xpoll::ready) == sizeof(struct xpoll_ready));

/*
 * A table of the awaiters whose coroutines wait.  Each has a number, the udata of its
 * registration.  A number is not used again before its slot has had 2^32 awaiters, so an event that
 * is passed to xpoll::resume after its awaiter has gone finds nothing.  The table is divided into
 * shards, each with a lock, so that threads seldom wait for each other.  All modules of a process
 * share it, and its memory is not freed, because static objects may use it until the end.
 */
class XPOLL_HPP_SHARED xpoll::waiting {
public:
	/* Add an awaiter.  Returns its number; 0: no memory. */
	static std::uint64_t add(awaiter *waiter) noexcept
	{
		std::uint64_t which = reinterpret_cast<std::uintptr_t>(waiter) / 64 % shard_count;
		shard &home = shards[which];
		std::lock_guard<std::mutex> guard(home.lock);

		if (home.free == 0 && !home.grow())
			return 0;
		std::uint32_t index = home.free - 1;
		slot &taken = home.slots[index];

		home.free = taken.next_free;
		taken.waiter = waiter;
		return std::uint64_t{taken.generation} << 32 | index * shard_count | which;
	}

	/* Remove the awaiter with this number and return it; nullptr: it has gone. */
	static awaiter *take(std::uint64_t number) noexcept
	{
		shard &home = shards[number % shard_count];
		std::uint32_t index = static_cast<std::uint32_t>(number) / shard_count;
		std::lock_guard<std::mutex> guard(home.lock);

		if (index >= home.size)
			return nullptr;
		slot &left = home.slots[index];

		if (!left.waiter || left.generation != number >> 32)
			return nullptr;
		if (++left.generation == 0)
			left.generation = 1;
		left.next_free = std::exchange(home.free, index + 1);
		return std::exchange(left.waiter, nullptr);
	}

private:
	static constexpr std::uint32_t shard_count = 16;

	struct slot {
		awaiter *waiter = nullptr;
		/* Upper half of the awaiter's number; of the next one's, while the slot is free. */
		std::uint32_t generation = 1;
		std::uint32_t next_free = 0;  /* index + 1 of the next free slot; 0: none */
	};

	struct alignas(64) shard {
		std::mutex lock;
		slot *slots = nullptr;
		std::uint32_t size = 0;
		std::uint32_t free = 0; /* index + 1 of the first free slot; 0: none */

		/* Double the number of slots.  Returns false if memory is lacking. */
		bool grow() noexcept
		{
			std::uint32_t wanted = size ? 2 * size : 16;
			slot *grown = wanted <= UINT32_MAX / shard_count
				? new (std::nothrow) slot[wanted] : nullptr;

			if (!grown)
				return false;
			for (std::uint32_t i = 0; i < size; i++)
				grown[i] = slots[i];
			for (std::uint32_t i = wanted; i > size; i--)
				grown[i - 1].next_free = std::exchange(free, i);
			delete[] slots;
			slots = grown;
			size = wanted;
			return true;
		}
	};

	static shard shards[shard_count];
};

inline constinit xpoll::waiting::shard xpoll::waiting::shards[shard_count];

/*
 * An object that a queue and its awaiters share, with the C queue until that is destroyed.  It
 * deletes itself when the last of them calls leave().
 */
class xpoll::hub {
public:
	explicit hub(::xpoll *owned) noexcept : queue_(owned) {}

	void enter() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
	void leave() noexcept
	{
		if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
			delete this;
	}

	/* The C queue will be destroyed, or the caller of release() owns it: do not use it. */
	void detach() noexcept
	{
		std::lock_guard<std::mutex> guard(lock_);

		queue_ = nullptr;
	}

	/* Apply a change that adds a registration.  Returns 0 or an errno value. */
	int add(const event &wanted) noexcept
	{
		std::lock_guard<std::mutex> guard(lock_);

		return xpoll_event(queue_, &wanted, 1, nullptr, 0, 0) < 0 ? errno : 0;
	}

	/* Delete the registration, unless its udata shows that another has taken its place. */
	void remove(filter what, std::uint64_t ident, std::uint64_t number) noexcept
	{
		std::lock_guard<std::mutex> guard(lock_);
		event found;
		event removal = event::remove(what, ident);

		if (queue_ && xpoll_lookup(queue_, ident, static_cast<int>(what), &found) == 0 &&
		    found.udata64 == number)
			(void)xpoll_event(queue_, &removal, 1, nullptr, 0, 0);
	}

private:
	std::mutex lock_;
	::xpoll *queue_; /* nullptr: detached */
	std::atomic<int> users_ = 1; /* calls of enter() without leave(); 1: the queue itself */
};

/*
 * A queue.  Any number of threads may use one object; none may move it or assign to
 * it while others use it.
 */
class xpoll::queue {
public:
	struct options {
		const char *backend = nullptr; /* nullptr: $XPOLL_BACKEND, else the best */
		int size_hint = 0;             /* descriptors expected */
		std::uint32_t flags = 0;       /* XPOLL_ALL_READY and so on: xpoll_open(3) */
		/* How long to poll network devices before a sleep; 0: not at all. */
		std::chrono::microseconds busy_poll{0};
	};

	/* An object without a queue, as after a move from it: every call fails with EINVAL. */
	explicit queue(std::nullptr_t) noexcept {}
	/* Take ownership of a queue of the C interface. */
	explicit queue(::xpoll *adopted) noexcept : queue_(adopted) {}
	queue(const options &wanted, std::error_code &error) noexcept
	{
		struct xpoll_options given = {};

		given.size = sizeof given;
		given.backend = wanted.backend;
		given.size_hint = wanted.size_hint;
		given.flags = wanted.flags;
		given.busy_poll_us = busy_poll_us(wanted.busy_poll);
		queue_ = xpoll_open(&given);
		error = queue_ ? std::error_code() : last_error();
	}
	explicit queue(std::error_code &error) noexcept : queue(options{}, error) {}

	queue(queue &&other) noexcept
		: queue_(std::exchange(other.queue_, nullptr)), hub_(other.hub_.exchange(nullptr))
	{
	}
	queue &operator=(queue &&other) noexcept
	{
		if (this != &other) {
			xpoll_destroy(release());
			queue_ = std::exchange(other.queue_, nullptr);
			hub_ = other.hub_.exchange(nullptr);
		}
		return *this;
	}
	queue(const queue &) = delete;
	queue &operator=(const queue &) = delete;
	/* Coroutines that wait stay suspended, and may be destroyed later. */
	~queue() { xpoll_destroy(release()); }

	explicit operator bool() const noexcept { return queue_ != nullptr; }
	::xpoll *get() const noexcept { return queue_; }
	/*
	 * The caller owns the queue from now on.  Coroutines that wait can be resumed, but do
	 * not delete their registrations when they are destroyed.
	 */
	::xpoll *release() noexcept
	{
		if (hub *shared = hub_.exchange(nullptr)) {
			shared->detach();
			shared->leave();
		}
		return std::exchange(queue_, nullptr);
	}

	/*
	 * Apply changes, then wait; without a timeout, for ever.  `events` must have
	 * room for at least one.  Returns the part of `events` that was filled, which is
	 * empty at the timeout and after wake().  A change that failed is returned
	 * with flag::error.  If a signal handler runs, the form with an error_code
	 * returns errc::interrupted; the form that throws continues to wait, and a
	 * handler that calls wake() ends the wait.
	 */
	std::span<event> wait(std::span<event> events, std::error_code &error) noexcept
	{
		return wait_ns({}, events, -1, error);
	}
	template <typename Rep, typename Period>
	std::span<event> wait(std::span<event> events,
	                      std::chrono::duration<Rep, Period> timeout,
	                      std::error_code &error) noexcept
	{
		return wait_ns({}, events, event::to_ns(timeout), error);
	}
	std::span<event> wait(std::span<const event> changes, std::span<event> events,
	                      std::error_code &error) noexcept
	{
		return wait_ns(changes, events, -1, error);
	}
	template <typename Rep, typename Period>
	std::span<event> wait(std::span<const event> changes, std::span<event> events,
	                      std::chrono::duration<Rep, Period> timeout,
	                      std::error_code &error) noexcept
	{
		return wait_ns(changes, events, event::to_ns(timeout), error);
	}

	/* Apply all changes, also after one that fails; the error is the first of them. */
	void change(std::span<const event> changes, std::error_code &error) noexcept
	{
		if (changes.size() > most)
			error = std::make_error_code(std::errc::invalid_argument);
		else
			check(xpoll_event(queue_, changes.data(),
			                  static_cast<int>(changes.size()), nullptr, 0, 0),
			      error);
	}
	void change(const event &one, std::error_code &error) noexcept
	{
		check(xpoll_event(queue_, &one, 1, nullptr, 0, 0), error);
	}

	/*
	 * The poll-like level: xpoll_ctl(3).  `op` is flag::add with the modes, flag::remove,
	 * enable or disable; `bits` are POLLIN, POLLOUT, POLLPRI and POLLRDHUP.
	 */
	void ctl(flag op, int bits, xpoll_fd_t fd, void *data, std::error_code &error) noexcept
	{
		check(xpoll_ctl(queue_, static_cast<int>(op), bits, fd, data), error);
	}
	void ctl(flag op, int bits, xpoll_fd_t fd, std::error_code &error) noexcept
	{
		ctl(op, bits, fd, nullptr, error);
	}

	/*
	 * Wait until descriptors are ready, and return one record of each: xpoll_pwait(3).  Any
	 * number of threads may wait.  `mask`, a const sigset_t *, is the signal mask while the
	 * call waits.  Interruptions are as for wait().
	 */
	std::span<ready> poll(std::span<ready> into, std::error_code &error) noexcept
	{
		return poll_ns(into, -1, nullptr, error);
	}
	template <typename Rep, typename Period>
	std::span<ready> poll(std::span<ready> into, std::chrono::duration<Rep, Period> timeout,
	                      std::error_code &error) noexcept
	{
		return poll_ns(into, event::to_ns(timeout), nullptr, error);
	}
	template <typename Rep, typename Period>
	std::span<ready> poll(std::span<ready> into, std::chrono::duration<Rep, Period> timeout,
	                      const void *mask, std::error_code &error) noexcept
	{
		return poll_ns(into, event::to_ns(timeout), mask, error);
	}

	/* Make one wait return empty: one in progress, else the next.  Async-signal-safe. */
	void wake() noexcept { (void)xpoll_wake(queue_); }
	/* Make all waits that are in progress return empty. */
	void wake_all() noexcept { (void)xpoll_wake_all(queue_); }

	/*
	 * Returns a descriptor that is readable while an event is pending, to watch in another
	 * event loop.  Never read or close it.
	 */
	int fd(std::error_code &error) noexcept { return check(xpoll_fd(queue_), error); }
	const char *backend() const noexcept
	{
		const char *name = xpoll_backend(queue_);

		return name ? name : "";
	}
	/* Returns the counters since the queue was made: xpoll_stats(3). */
	counters stats() const noexcept
	{
		counters now = {};

		(void)xpoll_stats(queue_, &now, sizeof now);
		return now;
	}
	bool supports(filter what, note notes = note::none) const noexcept
	{
		return xpoll_supports(queue_, static_cast<int>(what),
		                      static_cast<std::uint32_t>(notes)) == 1;
	}
	/* Returns the registration; errc::no_such_file_or_directory: there is none. */
	event lookup(filter what, std::integral auto id, std::error_code &error) noexcept
	{
		event found;

		check(xpoll_lookup(queue_, static_cast<std::uint64_t>(id),
		                   static_cast<int>(what), &found),
		      error);
		return found;
	}

	/*
	 * For co_await.  Each of these registers the event with flag::oneshot; the
	 * coroutine is resumed when xpoll::resume is called with the event that a
	 * wait returned.  Only one coroutine at a time may await the same descriptor
	 * and filter, process or signal.  A coroutine that waits may be destroyed at any
	 * time, also after its queue, and between the wait that returned its event and
	 * xpoll::resume: this deletes its registration.  A failure to register is stored in
	 * the error_code, or thrown by the form that has none.
	 */
	awaiter readable(xpoll_fd_t fd, std::error_code &error) noexcept;
	awaiter writable(xpoll_fd_t fd, std::error_code &error) noexcept;
	awaiter process(std::int64_t pid, std::error_code &error) noexcept;
	awaiter signal(int number, std::error_code &error) noexcept;
	awaiter file(xpoll_fd_t fd, note notes, std::error_code &error) noexcept;
	template <typename Rep, typename Period>
	awaiter timer(std::chrono::duration<Rep, Period> delay,
	              std::error_code &error) noexcept;

#if XPOLL_HPP_THROWS
	awaiter readable(xpoll_fd_t fd) noexcept;
	awaiter writable(xpoll_fd_t fd) noexcept;
	awaiter process(std::int64_t pid) noexcept;
	awaiter signal(int number) noexcept;
	awaiter file(xpoll_fd_t fd, note notes) noexcept;
	template <typename Rep, typename Period>
	awaiter timer(std::chrono::duration<Rep, Period> delay) noexcept;

	queue() : queue(options{}) {}
	explicit queue(const options &wanted)
	{
		std::error_code error;

		*this = queue(wanted, error);
		if (wanted.backend && error == std::errc::not_supported)
			raise(error, no_back_end(wanted.backend).c_str());
		raise(error, "xpoll_open");
	}
	std::span<event> wait(std::span<event> events) { return wait_on({}, events, -1); }
	template <typename Rep, typename Period>
	std::span<event> wait(std::span<event> events,
	                      std::chrono::duration<Rep, Period> timeout)
	{
		return wait_on({}, events, event::to_ns(timeout));
	}
	std::span<event> wait(std::span<const event> changes, std::span<event> events)
	{
		return wait_on(changes, events, -1);
	}
	template <typename Rep, typename Period>
	std::span<event> wait(std::span<const event> changes, std::span<event> events,
	                      std::chrono::duration<Rep, Period> timeout)
	{
		return wait_on(changes, events, event::to_ns(timeout));
	}
	void change(std::span<const event> changes)
	{
		std::error_code error;

		change(changes, error);
		raise(error, "xpoll_event");
	}
	void change(const event &one)
	{
		if (xpoll_event(queue_, &one, 1, nullptr, 0, 0) < 0) [[unlikely]]
			raise(last_error(), "xpoll_event");
	}
	void ctl(flag op, int bits, xpoll_fd_t fd, void *data = nullptr)
	{
		if (xpoll_ctl(queue_, static_cast<int>(op), bits, fd, data) < 0) [[unlikely]]
			raise(last_error(), "xpoll_ctl");
	}
	std::span<ready> poll(std::span<ready> into) { return poll_on(into, -1, nullptr); }
	template <typename Rep, typename Period>
	std::span<ready> poll(std::span<ready> into, std::chrono::duration<Rep, Period> timeout,
	                      const void *mask = nullptr)
	{
		return poll_on(into, event::to_ns(timeout), mask);
	}
	int fd()
	{
		std::error_code error;
		int number = fd(error);

		raise(error, "xpoll_fd");
		return number;
	}
	event lookup(filter what, std::integral auto id)
	{
		std::error_code error;
		event found = lookup(what, id, error);

		raise(error, "xpoll_lookup");
		return found;
	}
#endif

private:
	static constexpr std::size_t most = std::numeric_limits<int>::max();

	/* Convert to 32 bits; a time that does not fit becomes a number that xpoll_open refuses. */
	static std::uint32_t busy_poll_us(std::chrono::microseconds time) noexcept
	{
		constexpr auto most = std::numeric_limits<std::uint32_t>::max();

		return time.count() < 0 || time.count() > most ? most
			: static_cast<std::uint32_t>(time.count());
	}

	static int check(int result, std::error_code &error) noexcept
	{
		error = result < 0 ? last_error() : std::error_code();
		return result;
	}

	static int room(std::size_t size) noexcept
	{
		return static_cast<int>(size > most ? most : size);
	}

	/* Call xpoll_event.  Returns its result, or -1 with errno; EINVAL: no room for an event. */
	int call(std::span<const event> changes, std::span<event> events,
	         std::int64_t timeout_ns) noexcept
	{
		if (changes.size() > most || events.empty()) [[unlikely]] {
			errno = EINVAL;
			return -1;
		}
		return xpoll_event(queue_, changes.data(), static_cast<int>(changes.size()),
		                   events.data(), room(events.size()), timeout_ns);
	}
	int call(std::span<ready> into, std::int64_t timeout_ns, const void *mask) noexcept
	{
		return xpoll_pwait(queue_, into.data(), room(into.size()), timeout_ns, mask);
	}

	std::span<event> wait_ns(std::span<const event> changes, std::span<event> events,
	                         std::int64_t timeout_ns, std::error_code &error) noexcept
	{
		int count = check(call(changes, events, timeout_ns), error);

		return events.first(count < 0 ? 0 : static_cast<std::size_t>(count));
	}

	std::span<ready> poll_ns(std::span<ready> into, std::int64_t timeout_ns, const void *mask,
	                         std::error_code &error) noexcept
	{
		int count = check(call(into, timeout_ns, mask), error);

		return into.first(count < 0 ? 0 : static_cast<std::size_t>(count));
	}

#if XPOLL_HPP_THROWS
	static void raise(const std::error_code &error, const char *what)
	{
		if (error)
			throw std::system_error(error, what);
	}

	static std::string no_back_end(const char *name)
	{
		const char *names[16];
		int count = xpoll_backends(names, 16);
		std::string text = std::string("no back end \"") + name + "\"; usable here";

		for (int i = 0; i < count && i < 16; i++)
			text += std::string(i == 0 ? ": " : ", ") + names[i];
		return text;
	}

	/*
	 * Wait by calling `once(left_ns)`, again after each signal handler with the remaining time.
	 * Returns the number of records; throws on another error.
	 */
	template <typename Call>
	static std::size_t repeat(std::int64_t timeout_ns, const char *name, Call once)
	{
		std::chrono::steady_clock::time_point start;
		std::int64_t left_ns = timeout_ns;

		if (timeout_ns > 0)
			start = std::chrono::steady_clock::now();
		for (;;) {
			int count = once(left_ns);

			if (count >= 0) [[likely]]
				return static_cast<std::size_t>(count);
			if (errno != EINTR)
				raise(last_error(), name);
			if (timeout_ns > 0) {
				std::int64_t past_ns = event::to_ns(
					std::chrono::steady_clock::now() - start);

				left_ns = past_ns >= timeout_ns ? 0 : timeout_ns - past_ns;
			}
		}
	}

	std::span<event> wait_on(std::span<const event> changes, std::span<event> events,
	                         std::int64_t timeout_ns)
	{
		return events.first(repeat(timeout_ns, "xpoll_event", [&](std::int64_t left_ns) {
			/* The first call applies the changes, so later ones get none. */
			return call(std::exchange(changes, {}), events, left_ns);
		}));
	}

	std::span<ready> poll_on(std::span<ready> into, std::int64_t timeout_ns, const void *mask)
	{
		return into.first(repeat(timeout_ns, "xpoll_pwait", [&](std::int64_t left_ns) {
			return call(into, left_ns, mask);
		}));
	}
#endif

	/* Enter the hub for one more awaiter and return it; nullptr: no queue, or no memory. */
	hub *share() noexcept
	{
		hub *shared = hub_.load(std::memory_order_acquire);

		if (!shared) {
			hub *made = queue_ ? new (std::nothrow) hub(queue_) : nullptr;

			if (!made)
				return nullptr;
			if (hub_.compare_exchange_strong(shared, made))
				shared = made;
			else
				made->leave();
		}
		shared->enter();
		return shared;
	}

	awaiter await(const event &change, std::error_code *error) noexcept;

	::xpoll *queue_ = nullptr;
	std::atomic<hub *> hub_ = nullptr; /* made when a coroutine first waits */
};

/* The object that queue::readable() and its like return; `co_await` it at once. */
class xpoll::awaiter {
public:
	awaiter(awaiter &&) = delete;
	~awaiter()
	{
		if (number_ != 0 && waiting::take(number_) && hub_)
			hub_->remove(change_.what(), change_.ident, number_);
		if (hub_)
			hub_->leave();
	}

	bool await_ready() const noexcept { return false; }

	bool await_suspend(std::coroutine_handle<> waiter) noexcept
	{
		hub *shared = hub_;
		int error = no_hub_;

		if (shared && (number_ = waiting::add(this)) == 0)
			error = ENOMEM;
		if (error == 0) {
			event wanted = change_;

			if (wanted.what() == filter::timer)
				wanted.ident = change_.ident = number_;
			wanted.udata64 = number_;
			waiter_ = waiter;
			/*
			 * Another thread may resume the coroutine before add() returns: then this
			 * object may be gone, so only local variables are used afterwards.
			 */
			std::uint64_t number = number_;

			shared->enter();
			error = shared->add(wanted);
			shared->leave();
			if (error == 0)
				return true;
			(void)waiting::take(number);
			number_ = 0;
		}
		failure_ = {error, std::system_category()};
		return false;
	}

	/* Returns the event; if the error_code has an error, the change that failed. */
#if XPOLL_HPP_THROWS
	event await_resume()
	{
		if (error_)
			*error_ = failure_;
		else if (failure_)
			throw std::system_error(failure_, "xpoll_event");
		return change_;
	}
#else
	event await_resume() noexcept
	{
		*error_ = failure_;
		return change_;
	}
#endif

private:
	friend class queue;
	friend struct xpoll;

	awaiter(hub *entered, int no_hub, const event &change, std::error_code *error) noexcept
		: hub_(entered), no_hub_(no_hub), change_(change.oneshot()), error_(error)
	{
	}

	void finish(const event &occurred)
	{
		change_ = occurred;
		change_.udata64 = 0; /* the number was for xpoll::resume alone */
		number_ = 0;
		waiter_.resume();
	}

	hub *hub_;
	int no_hub_;   /* the errno value with which co_await fails if hub_ is nullptr; else 0 */
	event change_; /* replaced by the event when it occurs */
	std::error_code *error_;
	std::error_code failure_;
	std::coroutine_handle<> waiter_;
	std::uint64_t number_ = 0; /* number in `waiting`; 0: the coroutine does not wait */
};

inline bool xpoll::resume(const event &occurred)
{
	if (occurred.udata64 == 0 || occurred.has(flag::error))
		return false;
	if (awaiter *waiter = waiting::take(occurred.udata64))
		waiter->finish(occurred);
	return true;
}

inline xpoll::awaiter xpoll::queue::await(const event &change, std::error_code *error) noexcept
{
	hub *entered = share();

	return {entered, entered ? 0 : queue_ ? ENOMEM : EINVAL, change, error};
}

#if XPOLL_HPP_THROWS
inline xpoll::awaiter xpoll::queue::readable(xpoll_fd_t fd) noexcept
{
	return await(event::read(fd), nullptr);
}
inline xpoll::awaiter xpoll::queue::writable(xpoll_fd_t fd) noexcept
{
	return await(event::write(fd), nullptr);
}
inline xpoll::awaiter xpoll::queue::process(std::int64_t pid) noexcept
{
	return await(event::process(pid), nullptr);
}
inline xpoll::awaiter xpoll::queue::signal(int number) noexcept
{
	return await(event::signal(number), nullptr);
}
inline xpoll::awaiter xpoll::queue::file(xpoll_fd_t fd, note notes) noexcept
{
	return await(event::vnode(fd, notes), nullptr);
}
template <typename Rep, typename Period>
xpoll::awaiter xpoll::queue::timer(std::chrono::duration<Rep, Period> delay) noexcept
{
	return await(event::timer(0, delay), nullptr);
}
#endif
inline xpoll::awaiter xpoll::queue::readable(xpoll_fd_t fd, std::error_code &error) noexcept
{
	return await(event::read(fd), &error);
}
inline xpoll::awaiter xpoll::queue::writable(xpoll_fd_t fd, std::error_code &error) noexcept
{
	return await(event::write(fd), &error);
}
inline xpoll::awaiter xpoll::queue::process(std::int64_t pid, std::error_code &error) noexcept
{
	return await(event::process(pid), &error);
}
inline xpoll::awaiter xpoll::queue::signal(int number, std::error_code &error) noexcept
{
	return await(event::signal(number), &error);
}
inline xpoll::awaiter xpoll::queue::file(xpoll_fd_t fd, note notes,
                                         std::error_code &error) noexcept
{
	return await(event::vnode(fd, notes), &error);
}
template <typename Rep, typename Period>
xpoll::awaiter xpoll::queue::timer(std::chrono::duration<Rep, Period> delay,
                                   std::error_code &error) noexcept
{
	return await(event::timer(0, delay), &error);
}

#endif
