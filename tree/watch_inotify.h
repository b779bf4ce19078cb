/* Watches of inotify(7), as the reports of the kernel name them. */
#ifndef XPOLL_TREE_WATCH_INOTIFY_H
#define XPOLL_TREE_WATCH_INOTIFY_H

#include <sys/inotify.h>

#include "tree.h"

#define NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF)

/* The first directory with this watch, or the next one after `held`; NULL: none. */
struct held *xp_watch_find(const struct xpoll_tree *tree, int watch, struct held *held);
void xp_watch_unlink(struct xpoll_tree *tree, struct held *held);
/* The notes that a report with this mask stands for. */
uint32_t xp_watch_notes(uint32_t mask);

#endif
