/*
 * The outer epoll set, whose descriptor xpoll_fd returns.
 *
 * It contains the queue's own set, the inner set, which can be renewed without a change of the
 * outer descriptor; an attention descriptor; and an alarm.  All entries are level-triggered, and
 * nobody takes events from the set.
 */
#ifndef XP_POSIX_OUTER_H
#define XP_POSIX_OUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/backend.h"
#include "sys/wakefd.h"

/* The first member of the state of a back end that uses xp_outer_ops. */
struct xp_outer {
	int inner_fd;
	int second_fd;    /* another inner set; -1: none */
	int fd;           /* the outer set; -1: neither this nor `attention` is open */
	struct xp_wakefd attention;
	int alarm_fd;     /* a timerfd; -1: none was needed yet */
	int64_t alarm_ns; /* when alarm_fd becomes readable; XP_NEVER */
};

/* Initialise for these inner sets; the first call of xp_outer_ops.fd opens the outer set. */
void xp_outer_init(struct xp_outer *outer, int inner_fd, int second_fd);
void xp_outer_fini(struct xp_outer *outer);
bool xp_outer_owns(const struct xp_outer *outer, int fd);

/* Add an inner set to the outer one, or remove it; does nothing while the outer set is not open. */
int xp_outer_hold(struct xp_outer *outer, int inner_fd);
void xp_outer_release(struct xp_outer *outer, int inner_fd);

extern const struct xp_outer_ops xp_outer_ops;

#endif
