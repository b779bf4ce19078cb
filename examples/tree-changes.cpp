/*
 * Print what happens to a directory and all below it.
 *
 *     tree-changes [DIRECTORY]
 */
#include <exception>
#include <iostream>

#include <xpoll_tree.hpp>

int main(int argc, char **argv)
{
	using kind = xpoll::tree::kind;
	static const char *const words[] = {
		"", "create", "delete", "rename", "write", "look", "unwatched", "end",
	};

	try {
		xpoll::tree tree(argc > 1 ? argv[1] : ".", {.notes = xpoll::note::written});

		std::cout << "watching" << std::endl;
		while (auto change = tree.next()) {
			std::cout << words[static_cast<int>(change->what)] << ' ' << change->path;
			if (change->what == kind::renamed)
				std::cout << " -> " << change->to;
			std::cout << std::endl;
			if (change->what == kind::ended)
				break;
		}
	} catch (const std::exception &error) {
		std::cerr << error.what() << '\n';
		return 1;
	}
	return 0;
}
