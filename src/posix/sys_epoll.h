/*
 * epoll(7), timerfds and replacing a descriptor, as Linux and illumos have them: see sys.h for the
 * conventions.  Sleeps in an epoll set are in sys_linux.h.  Solaris has no epoll: there these
 * functions do nothing, and those with a result return -ENOTSUP.
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

/* Returns a new epoll set, close-on-exec, or a negative errno value. */
int xp_sys_epoll_create(void);
/*
 * Make waits of this set poll network devices for so many microseconds before they sleep
 * (EPIOCSPARAMS).  -ENOTSUP: the kernel lacks the call.
 */
int xp_sys_busy_poll_set(int epoll_fd, uint32_t microseconds);
/* Copy the busy-poll settings of other_fd to this set. */
void xp_sys_busy_poll_copy(int epoll_fd, int other_fd);
/* epoll_ctl(2); events: EPOLL bits. */
int xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events,
                     uint64_t token);
/* epoll_wait(2) with timeout 0; restarted after a signal. */
int xp_sys_epoll_now(int epoll_fd, struct epoll_event *events, int cap);

/*
 * Open a timerfd of the monotonic clock.  xp_sys_timer_set makes it readable from this time on and
 * not readable before; XP_NEVER: never readable.
 */
int xp_sys_timer_fd(void);
int xp_sys_timer_set(int timer_fd, int64_t deadline_ns);

/*
 * Make the descriptor `number` refer to fd's file, and close fd, also on an error.  Returns 0 or an
 * error.
 */
int xp_sys_move_fd(int fd, int number);

#endif
