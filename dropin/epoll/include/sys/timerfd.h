/* timerfd_create(2) for systems that do not have it: see xpoll-epoll(7). */
#ifndef XPOLL_SYS_TIMERFD_H
#define XPOLL_SYS_TIMERFD_H

#include <sys/epoll.h> /* defines EPOLL_CLOEXEC and XPOLL_EPOLL_NAME */
#include <sys/time.h>
#ifdef __GLIBC__
#include <bits/types/struct_itimerspec.h>
#endif

#define TFD_CLOEXEC             EPOLL_CLOEXEC
#define TFD_NONBLOCK            O_NONBLOCK
#define TFD_TIMER_ABSTIME       1
#define TFD_TIMER_CANCEL_ON_SET 2

#ifdef __APPLE__
struct itimerspec {
	struct timespec it_interval;
	struct timespec it_value;
};
#endif

#ifdef __cplusplus
extern "C" {
#endif

int timerfd_create(int clockid, int flags) XPOLL_EPOLL_NAME(timerfd_create);
int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                    struct itimerspec *old_value) XPOLL_EPOLL_NAME(timerfd_settime);
int timerfd_gettime(int fd, struct itimerspec *curr_value) XPOLL_EPOLL_NAME(timerfd_gettime);

#ifdef __cplusplus
}
#endif

#endif
