/*
 * xpoll for C++20: a directory tree as one thing to watch, over <xpoll_tree.h>.
 *
 *   xpoll::tree           a tree; move-only, closed with the object
 *   xpoll::tree::change   what tree.next() returns
 *
 * As in <xpoll.hpp> each call that can fail has a form with a std::error_code and one that throws
 * std::system_error.  The reference is xpoll_tree_open(3).
 */
#ifndef XPOLL_TREE_HPP
#define XPOLL_TREE_HPP

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <xpoll.hpp>
#include <xpoll_tree.h>

class xpoll::tree {
public:
	enum class kind {
		created = XPOLL_TREE_CREATE,
		deleted = XPOLL_TREE_DELETE,
		renamed = XPOLL_TREE_RENAME,
		changed = XPOLL_TREE_CHANGE,
		look = XPOLL_TREE_LOOK, /* reports were dropped: look below `path` yourself */
		unwatched = XPOLL_TREE_UNWATCHED,
		ended = XPOLL_TREE_END,
	};

	/* The strings are valid until the next call of next(). */
	struct change {
		kind what;
		std::string_view path; /* relative to the directory; empty: the directory itself */
		std::string_view to;   /* renamed: the new path; else empty */
		note notes;            /* changed: what happened; ended: deleted or renamed */
		std::error_code error; /* unwatched: the reason */

		bool has(note one) const noexcept { return (notes & one) != note::none; }
	};

	struct options {
		bool flat = false;        /* do not enter the directories below it */
		bool links = false;       /* enter directories that symbolic links lead to */
		note notes = note::none;  /* what to report about the contents of files */
		/* Entries for which this returns true are left out; it must not throw. */
		std::function<bool(const char *path)> skip = {};
	};

	/* `wanted` is copied by the caller: a copy of `skip` may throw. */
	tree(const char *path, options wanted, std::error_code &error) noexcept
	{
		::xpoll_tree_options given = {};

		error = {};
		if (wanted.skip) {
			skip_.reset(new (std::nothrow) skipper(std::move(wanted.skip)));
			if (!skip_) {
				error = std::make_error_code(std::errc::not_enough_memory);
				return;
			}
			given.skip = [](void *skip, const char *entry) noexcept -> int {
				return (*static_cast<skipper *>(skip))(entry);
			};
			given.argument = skip_.get();
		}
		given.size = sizeof given;
		given.flags = (wanted.flat ? XPOLL_TREE_FLAT : 0) |
			(wanted.links ? XPOLL_TREE_LINKS : 0);
		given.notes = static_cast<std::uint32_t>(wanted.notes);
		tree_.reset(xpoll_tree_open(path, &given));
		if (!tree_)
			error = last_error();
	}

	/*
	 * Returns the next change; empty at the timeout, after wake() and on an error.  If a signal
	 * handler runs, the form with an error_code stores errc::interrupted; the other one
	 * continues to wait.
	 */
	std::optional<change> next(std::error_code &error) noexcept { return next_ns(-1, error); }
	template <typename Rep, typename Period>
	std::optional<change> next(std::chrono::duration<Rep, Period> timeout,
	                           std::error_code &error) noexcept
	{
		return next_ns(event::to_ns(timeout), error);
	}

	/* Returns a descriptor, readable when next() may have a change.  Never read or close it. */
	int fd(std::error_code &error) noexcept
	{
		int number = xpoll_tree_fd(tree_.get());

		error = number < 0 ? last_error() : std::error_code();
		return number;
	}

	/* Make one next() return empty: one in progress, else the next.  Async-signal-safe. */
	void wake() noexcept { (void)xpoll_tree_wake(tree_.get()); }

#if XPOLL_HPP_THROWS
	explicit tree(const char *path) : tree(path, options{}) {}
	tree(const char *path, const options &wanted)
	{
		std::error_code error;

		*this = tree(path, wanted, error);
		raise(error, path ? path : "xpoll_tree_open");
	}
	std::optional<change> next() { return next_until(-1); }
	template <typename Rep, typename Period>
	std::optional<change> next(std::chrono::duration<Rep, Period> timeout)
	{
		return next_until(event::to_ns(timeout));
	}
	int fd()
	{
		std::error_code error;
		int number = fd(error);

		raise(error, "xpoll_tree_fd");
		return number;
	}
#endif

private:
	using skipper = std::function<bool(const char *path)>;
	struct closer {
		void operator()(::xpoll_tree *tree) const noexcept { xpoll_tree_close(tree); }
	};

	std::optional<change> next_ns(std::int64_t timeout_ns, std::error_code &error) noexcept
	{
		::xpoll_tree_change found;
		int count = xpoll_tree_next(tree_.get(), &found, timeout_ns);

		error = count < 0 ? last_error() : std::error_code();
		if (count <= 0)
			return {};
		return change{
			.what = static_cast<kind>(found.kind),
			.path = found.path,
			.to = found.to ? found.to : std::string_view(),
			.notes = static_cast<note>(found.notes),
			.error = {found.error, std::system_category()},
		};
	}

#if XPOLL_HPP_THROWS
	static void raise(const std::error_code &error, const char *what)
	{
		if (error)
			throw std::system_error(error, what);
	}

	/* After a signal handler waits again for the remaining time; throws on other errors. */
	std::optional<change> next_until(std::int64_t timeout_ns)
	{
		using clock = std::chrono::steady_clock;
		clock::time_point start = timeout_ns > 0 ? clock::now() : clock::time_point();
		std::int64_t left_ns = timeout_ns;

		for (;;) {
			std::error_code error;
			std::optional<change> found = next_ns(left_ns, error);

			if (error != std::errc::interrupted) {
				raise(error, "xpoll_tree_next");
				return found;
			}
			if (timeout_ns > 0) {
				left_ns = timeout_ns - event::to_ns(clock::now() - start);
				left_ns = left_ns > 0 ? left_ns : 0;
			}
		}
	}
#endif

	std::unique_ptr<skipper> skip_; /* closed after the tree, which calls it */
	std::unique_ptr<::xpoll_tree, closer> tree_;
};

#endif
