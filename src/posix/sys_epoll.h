/*
 * epoll(7) and what goes with it, of Linux and of illumos: see sys.h for the
 * conventions.  How Linux waits with it is in sys_linux.h.  On Solaris, which has no
 * such thing, all of them fail with ENOTSUP.
 */
#ifndef XP_POSIX_SYS_EPOLL_H
#define XP_POSIX_SYS_EPOLL_H

#include <stdint.h>

#include "sys/pollbits.h"

#ifdef __has_include
#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#endif
#else
#include <sys/epoll.h>
#endif
#ifndef EPOLL_CTL_ADD
#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3
#define EPOLLIN       POLLIN
#define EPOLLET       0x80000000u
struct XP_AS_EPOLL epoll_event {
	uint32_t events;
	union {
		uint64_t u64;
	} data;
};
#endif

/* events: EPOLL* bits. */
int xp_sys_epoll_create(void);
/* Busy polling of this set (EPIOCSPARAMS); -ENOTSUP: this kernel has no such call. */
int xp_sys_epoll_busy_poll(int epoll_fd, uint32_t microseconds);
/* The same busy polling as another set has, if it has any. */
void xp_sys_epoll_busy_poll_like(int epoll_fd, int other_fd);
int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token);
int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap);

/*
 * A descriptor that becomes readable at a moment of the monotonic clock;
 * XP_NEVER: not at all.  Setting it ends its being readable.
 */
int xp_sys_timer_fd(void);
int xp_sys_timer_set(int timer_fd, int64_t deadline_ns);

/* Let number refer to fd's file from now on; fd itself is closed.  0. */
int xp_sys_replace(int fd, int number);

#endif
