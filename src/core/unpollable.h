/*
 * Files that the kernel refuses to wait for: regular files, directories, some
 * devices.  poll(2) calls them always ready, and so does the poll-like level;
 * at the event level READ of a regular file means that its offset is not at
 * its end.
 *
 * An awake file is checked when a wait begins, until it turns out not to be
 * ready; then it sleeps until its growth is reported.  An offset that is moved
 * is reported by nobody, so each wait checks a few of those that sleep.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_UNPOLLABLE_H
#define XP_CORE_UNPOLLABLE_H

#include "core/queue.h"

/* Note fd as such a file; -EBADF, -ENOMEM. */
int xp_unpollable_add(struct xpoll *queue, int fd);
/* Wake it when it grows; -EBADF, -ENOMEM, -ENOENT: it is another file by now. */
int xp_unpollable_follow(struct xpoll *queue, int fd);
void xp_unpollable_remove(struct xpoll *queue, int fd);
/* Does the number still stand for the file that was added?  -EBADF, -ENOENT. */
int xp_unpollable_confirm(struct xpoll *queue, int fd);
/* Check it in the next wait, also if all its filters are CLEAR. */
void xp_unpollable_ask(struct xpoll *queue, int fd, unsigned filters);

/* Bytes from the offset to the end, may be negative; 1: not known. */
int64_t xp_unpollable_left(struct xpoll *queue, int fd);

/* A pass over the files begins: it takes in some of those that sleep. */
void xp_files_begin(struct xpoll *queue, bool poll_level);
/*
 * Check the next that is awake: its bits; 0: not ready; -EBADF, -ENOENT: it is
 * gone.  false: this pass has checked all of them.
 */
bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events);

/* Is one of them ready?  For xpoll_fd. */
bool xp_unpollable_ready(struct xpoll *queue);

/* In a forked child: watch growth by kernel objects of its own. */
int xp_unpollable_inherit(struct xpoll *queue, int fd);
/* After the sources have ended. */
void xp_unpollable_fini(struct xpoll *queue);

#endif
