/*
 * Print what happens to files and folders, until all of them are gone.
 *
 *     file-watcher PATH...
 *
 * The descriptor is watched, not the name: a file is followed when it is renamed.
 */
#include <exception>
#include <iostream>
#include <utility>

#include <fcntl.h>

#include <xpoll.hpp>

namespace {

using note = xpoll::note;

constexpr std::pair<note, const char *> words[] = {
	{note::written, "written"}, {note::extended, "grown"},  {note::truncated, "cut"},
	{note::renamed, "renamed"}, {note::deleted, "deleted"},
};

void watch(xpoll::queue &queue, char *path)
{
	note all = note::none;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		throw std::system_error(xpoll::last_error(), path);
	for (const auto &[one, word] : words)
		all |= one;
	queue.change(xpoll::event::vnode(fd, all).with(path));
	std::cout << "watching " << path << std::endl;
}

/* "PATH: written grown" */
void print(const xpoll::event &event)
{
	std::cout << event.pointer<char>() << ':';
	for (const auto &[one, word] : words)
		if (event.has(one))
			std::cout << ' ' << word;
	std::cout << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		xpoll::queue queue;
		xpoll::event events[16];

		for (int i = 1; i < argc; i++)
			watch(queue, argv[i]);
		for (int left = argc - 1; left > 0;) {
			for (const xpoll::event &event : queue.wait(events)) {
				print(event);
				if (event.has(note::deleted)) {
					xpoll_close_fd(event.fd()); /* and is not watched any more */
					left--;
				}
			}
		}
	} catch (const std::exception &error) {
		std::cerr << "file-watcher: " << error.what() << '\n';
		return 1;
	}
}
