/*
 * Print what happens to a directory and all below it.
 *
 *     tree-changes [DIRECTORY]
 */
#include <stdio.h>
#include <xpoll.h>
#include <xpoll_tree.h>

int main(int argc, char **argv)
{
	static const char *const words[] = {
		"", "create", "delete", "rename",
		"write", "look", "unwatched", "end",
	};
	struct xpoll_tree_options options = {
		.size = sizeof options,
		.notes = XPOLL_NOTE_WRITE,
	};
	struct xpoll_tree_change change;
	const char *top = argc > 1 ? argv[1] : ".";
	struct xpoll_tree *tree = xpoll_tree_open(top, &options);

	if (tree == NULL) {
		perror(top);
		return 1;
	}
	puts("watching");
	do {
		fflush(stdout);
		if (xpoll_tree_next(tree, &change, -1) != 1)
			break;
		printf("%s %s", words[change.kind], change.path);
		if (change.to != NULL)
			printf(" -> %s", change.to);
		putchar('\n');
	} while (change.kind != XPOLL_TREE_END);
	xpoll_tree_close(tree);
	return 0;
}
