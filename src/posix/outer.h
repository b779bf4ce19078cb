/*
 * The outer epoll set, which xpoll_fd hands out.
 *
 * It holds the queue's own, the inner set, which can be renewed without the
 * holder of the descriptor noticing; and what makes it readable besides.
 * Nobody takes events from it: all are in it by level.
 */
#ifndef XP_POSIX_OUTER_H
#define XP_POSIX_OUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/backend.h"
#include "sys/wakefd.h"

/* A state that uses xp_outer_ops begins with it. */
struct xp_outer {
	int inner_fd;
	int second_fd;    /* -1: there is none */
	int fd;           /* -1: it is not open, nor is the next */
	struct xp_wakefd attention;
	int alarm_fd;     /* -1: there was no timer since */
	int64_t alarm_ns; /* alarm_fd is readable from then on */
};

/* For these inner sets; it is opened by the first call for its number. */
void xp_outer_init(struct xp_outer *outer, int inner_fd, int second_fd);
void xp_outer_fini(struct xp_outer *outer);
bool xp_outer_owns(const struct xp_outer *outer, int fd);

/* Hold an inner set, and no longer; nothing if it is not open. */
int xp_outer_hold(struct xp_outer *outer, int inner_fd);
void xp_outer_release(struct xp_outer *outer, int inner_fd);

extern const struct xp_outer_ops xp_outer_ops;

#endif
