/*
 * The outer epoll set, whose descriptor xpoll_fd returns.
 *
 * It contains the queue's own epoll set, called the inner set, which can be replaced while the
 * outer descriptor stays the same; an attention descriptor, which the queue makes readable for
 * events that the kernel does not report; and a timerfd, the alarm.  All entries are
 * level-triggered, and nobody takes reports from the outer set: programs only poll it.
 */
#ifndef XP_POSIX_OUTER_H
#define XP_POSIX_OUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/backend.h"
#include "sys/wakefd.h"

/* State of the outer set: the first member of the state of each back end that uses xp_outer_ops. */
struct xp_outer {
	int inner_fd;        /* the queue's own set */
	int second_inner_fd; /* a second inner set; -1: none */
	int fd;              /* the outer set; -1: neither this nor `attention` is open */
	struct xp_wakefd attention; /* signalled while the outer set has to be readable */
	int alarm_fd;     /* the alarm, a timerfd; -1: none was needed yet */
	int64_t alarm_ns; /* time at which alarm_fd becomes readable; XP_NEVER: never */
};

/*
 * Initialise for these inner sets.  The outer set is opened by the first call of xp_outer_ops.fd.
 */
void xp_outer_init(struct xp_outer *outer, int inner_fd, int second_fd);
void xp_outer_fini(struct xp_outer *outer);
/* Returns true if fd is the outer set, the attention descriptor or the alarm. */
bool xp_outer_owns(const struct xp_outer *outer, int fd);

/*
 * Add an inner set to the outer one, or remove it; without an effect if the outer set is not open.
 */
int xp_outer_add_inner(struct xp_outer *outer, int inner_fd);
void xp_outer_remove_inner(struct xp_outer *outer, int inner_fd);

extern const struct xp_outer_ops xp_outer_ops;

#endif
