/*
 * Goal: <xpoll_tree.hpp> passes everything on: changes, options, errors, wake-ups and times.
 */
#include <xpoll_tree.hpp>

#include "check.hpp"

#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using kind = xpoll::tree::kind;
using note = xpoll::note;
namespace fs = std::filesystem;

static fs::path make_folder()
{
	char name[] = "/tmp/xpoll-cpp-tree-XXXXXX";

	CHECK(mkdtemp(name) != nullptr);
	return name;
}

static void changes_come_with_their_names(const fs::path &top)
{
	xpoll::tree tree(top.c_str(), {.notes = note::written});
	std::error_code error;

	CHECK(!tree.next(0s));
	fs::create_directories(top / "a/b");
	auto change = tree.next(20s);
	CHECK(change && change->what == kind::created && change->path == "a");
	change = tree.next(20s, error);
	CHECK(!error && change && change->what == kind::created && change->path == "a/b");
	std::ofstream(top / "a/b/c") << "text";
	change = tree.next();
	CHECK(change && change->what == kind::created && change->path == "a/b/c");
	change = tree.next();
	CHECK(change && change->what == kind::changed && change->has(note::written));
	fs::rename(top / "a", top / "d");
	do
		change = tree.next(20s);
	while (change && change->what == kind::changed);
	CHECK(change && change->what == kind::renamed && change->path == "a" && change->to == "d");
	CHECK(tree.fd() >= 0 && tree.fd(error) >= 0 && !error);
	tree.wake();
	CHECK(!tree.next(error) && !error);
	xpoll::tree moved = std::move(tree);
	CHECK(!tree.next(0s, error) && error == std::errc::invalid_argument);
	CHECK(!moved.next(1ms));
}

static void entries_are_skipped_and_folders_left_alone(const fs::path &top)
{
	xpoll::tree tree(top.c_str(), {.flat = true, .skip = [](const char *path) {
		return std::string(path).ends_with(".o");
	}});

	std::ofstream(top / "x.o") << "";
	fs::create_directory(top / "e");
	std::ofstream(top / "e/f") << "";
	std::ofstream(top / "y") << "";
	auto change = tree.next(20s);
	CHECK(change && change->path == "e");
	change = tree.next(20s);
	CHECK(change && change->path == "y");
	CHECK(!tree.next(0s));
}

/* A function whose copy finds no memory. */
struct uncopyable_skip {
	uncopyable_skip() = default;
	uncopyable_skip(uncopyable_skip &&) = default;
	uncopyable_skip(const uncopyable_skip &) { throw std::bad_alloc(); }
	bool operator()(const char *) const { return false; }

	char large[100] = {}; /* so that std::function allocates it */
};

static void lack_of_memory_for_a_copy_is_thrown(const fs::path &top)
{
	xpoll::tree::options options = {.skip = uncopyable_skip()};
	std::error_code error;
	int thrown = 0;

	try {
		xpoll::tree tree(top.c_str(), options, error);
	} catch (const std::bad_alloc &) {
		thrown++;
	}
	try {
		xpoll::tree tree(top.c_str(), options);
	} catch (const std::bad_alloc &) {
		thrown++;
	}
	CHECK(thrown == 2);
	xpoll::tree moved(top.c_str(), std::move(options), error);
	CHECK(!error && !moved.next(0s));
}

static void errors_are_thrown_or_returned(const fs::path &top)
{
	std::error_code error;
	bool thrown = false;

	xpoll::tree none((top / "none").c_str(), {}, error);
	CHECK(error == std::errc::no_such_file_or_directory);
	try {
		xpoll::tree file((top / "y").c_str());
	} catch (const std::system_error &refused) {
		thrown = refused.code() == std::errc::not_a_directory;
	}
	CHECK(thrown);
	xpoll::tree tree(top.c_str());
	fs::remove_all(top);
	auto change = tree.next(20s);
	while (change && change->what == kind::deleted)
		change = tree.next(20s);
	CHECK(change && change->what == kind::ended && change->path.empty());
	CHECK(change->has(note::deleted));
	CHECK(!tree.next(error) && error.value() == ESTALE);
}

int main()
{
	fs::path top = make_folder();

	changes_come_with_their_names(top);
	entries_are_skipped_and_folders_left_alone(top);
	lack_of_memory_for_a_copy_is_thrown(top);
	errors_are_thrown_or_returned(top);
	return 0;
}
