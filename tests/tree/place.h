/* A directory for one test, and the tree that watches it. */
#ifndef TREE_PLACE_H
#define TREE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <xpoll_tree.h>

extern char root[PATH_MAX];

void make_root(void);
const char *at(const char *name); /* a path below root; good for 4 calls */
bool put(const char *name);       /* append a byte to a file, which is made */
struct xpoll_tree *tree_open(uint32_t flags, uint32_t notes);
/* The next change is this one; to: NULL if it has none. */
bool next_is(struct xpoll_tree *tree, int kind, const char *path, const char *to);
/* Where directories are read again, a rename is an entry that went and one that came. */
bool reports_renames(void);

#define NEXT(kind, ...) XT_CHECK(next_is(tree, XPOLL_TREE_##kind, __VA_ARGS__))

#endif
