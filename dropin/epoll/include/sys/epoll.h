/*
 * epoll(7) for systems that do not have it: see xpoll-epoll(7).
 *
 * The names and numbers are those of Linux.  Where the C library has functions of these names
 * (Linux, illumos), the linker sees the functions declared here as xpoll_epoll_create and so on.
 * So other libraries in the program, compiled with the system's header, still call the system's
 * functions.
 */
#ifndef XPOLL_SYS_EPOLL_H
#define XPOLL_SYS_EPOLL_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#ifdef __GLIBC__
/* The headers above do not define sigset_t with -std=c11, nor struct timespec with -std=c99. */
#include <bits/types/sigset_t.h>
#include <bits/types/struct_timespec.h>
#endif

#if defined(__linux__) || defined(__illumos__)
#define XPOLL_EPOLL_NAME(name) __asm__("xpoll_" #name)
#else
#define XPOLL_EPOLL_NAME(name)
#endif

#ifdef O_CLOEXEC
#define EPOLL_CLOEXEC O_CLOEXEC
#else
#define EPOLL_CLOEXEC __O_CLOEXEC /* with -std=c11, for example, glibc hides the other name */
#endif

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

enum EPOLL_EVENTS {
	EPOLLIN = 0x001,
	EPOLLPRI = 0x002,
	EPOLLOUT = 0x004,
	EPOLLERR = 0x008,
	EPOLLHUP = 0x010,
	EPOLLRDNORM = 0x040,
	EPOLLRDBAND = 0x080,
	EPOLLWRNORM = 0x100,
	EPOLLWRBAND = 0x200,
	EPOLLMSG = 0x400,
	EPOLLRDHUP = 0x2000
};
/* The next three are macros as well, because programs check by #ifdef whether they exist. */
#define EPOLLIN EPOLLIN
#define EPOLLRDHUP EPOLLRDHUP
#define EPOLLPRI EPOLLPRI
#define EPOLLEXCLUSIVE (UINT32_C(1) << 28)
#define EPOLLWAKEUP    (UINT32_C(1) << 29)
#define EPOLLONESHOT   (UINT32_C(1) << 30)
#define EPOLLET        (UINT32_C(1) << 31)

typedef union epoll_data {
	void *ptr;
	int fd;
	uint32_t u32;
	uint64_t u64;
} epoll_data_t;

struct epoll_event {
	uint32_t events;
	epoll_data_t data;
};

#ifdef __cplusplus
extern "C" {
#endif

int epoll_create(int size) XPOLL_EPOLL_NAME(epoll_create);
int epoll_create1(int flags) XPOLL_EPOLL_NAME(epoll_create1);
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
	XPOLL_EPOLL_NAME(epoll_ctl);
int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
	XPOLL_EPOLL_NAME(epoll_wait);
int epoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout,
                const sigset_t *sigmask) XPOLL_EPOLL_NAME(epoll_pwait);
int epoll_pwait2(int epfd, struct epoll_event *events, int maxevents,
                 const struct timespec *timeout, const sigset_t *sigmask)
	XPOLL_EPOLL_NAME(epoll_pwait2);

#ifdef __cplusplus
}
#endif

#endif
