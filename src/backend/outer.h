/*
 * The outer epoll set, which xpoll_fd hands out.
 *
 * It holds the queue's own, the inner set, which can be renewed without the
 * holder of the descriptor noticing; and what makes it readable besides.
 * Nobody takes events from it: all are in it by level.
 */
#ifndef XP_BACKEND_OUTER_H
#define XP_BACKEND_OUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

struct xp_outer {
	int fd;           /* -1: it is not open, nor is the next */
	int attention_fd;
	int alarm_fd;     /* -1: there was no timer since */
	int64_t alarm_ns; /* alarm_fd is readable from then on */
	bool apart;       /* readable by attention, without the inner set */
};

void xp_outer_init(struct xp_outer *outer);
void xp_outer_fini(struct xp_outer *outer);
bool xp_outer_owns(const struct xp_outer *outer, int fd);

/* Its number; opened by the first call, with the inner sets; second_fd -1: none. */
int xp_outer_fd(struct xp_outer *outer, int inner_fd, int second_fd);

/* Hold an inner set, and no longer; nothing if it is not open or apart. */
int xp_outer_hold(struct xp_outer *outer, int inner_fd);
void xp_outer_release(struct xp_outer *outer, int inner_fd);

/* As the functions of these names. */
int xp_outer_set_attention(struct xp_outer *outer, enum xp_attention attention,
                           int inner_fd);
int xp_outer_set_alarm(struct xp_outer *outer, int64_t deadline_ns);

#endif
