/*
 * What xpoll_fd hands out of a kqueue back end: a queue that holds the inner
 * one, a wake-up descriptor and a timer.  Nobody else takes events from it.
 */
#ifndef XP_BACKEND_KQUEUE_OUTER_H
#define XP_BACKEND_KQUEUE_OUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "os/wakefd.h"

struct xp_kq_outer {
	int fd;                     /* -1: xpoll_fd was not called */
	struct xp_wakefd attention; /* its fd is -1: likewise */
	int64_t alarm_ns;           /* XP_NEVER: the timer is not set */
	bool attended;              /* why `attention` is readable */
	bool due;                   /* the same: alarm_ns has come */
	bool readable;
};

void xp_kq_outer_init(struct xp_kq_outer *outer);
/* `ours`: this is no forked child. */
void xp_kq_outer_fini(struct xp_kq_outer *outer, bool ours);

/* As the functions of struct xp_outer_ops. */
int xp_kq_outer_open(struct xp_kq_outer *outer, int inner_fd);
void xp_kq_outer_attention(struct xp_kq_outer *outer, bool on);
int xp_kq_outer_alarm(struct xp_kq_outer *outer, int64_t deadline_ns);

/*
 * Have its kernel find out what is over: it only does so when it is asked for
 * events, and up to then the queue is readable.  With the lock held.
 */
void xp_kq_outer_probe(struct xp_kq_outer *outer);

/* Have a queue hold a descriptor of the library's own: 0 or -errno. */
int xp_kq_hold(int queue_fd, int fd, unsigned flags);

#endif
