/* The watches of inotify(7), found by the watch descriptor of a report. */
#ifndef XPOLL_TREE_WATCH_INOTIFY_H
#define XPOLL_TREE_WATCH_INOTIFY_H

#include <sys/inotify.h>

#include "tree.h"

/* The events of inotify(7) after which the known names have to be changed. */
#define NAME_EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF)

/* Returns the first directory with this watch, or the next one after `held`; NULL: none. */
struct held *xp_watch_find(const struct xpoll_tree *tree, int watch, struct held *held);
/* Remove a directory, whose watch ends or has ended, from the table by watch descriptor. */
void xp_watch_unlink(struct xpoll_tree *tree, struct held *held);
/* Returns the XPOLL_NOTE_ bits for a report with this mask. */
uint32_t xp_watch_notes(uint32_t mask);

#endif
