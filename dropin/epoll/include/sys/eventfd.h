/* eventfd(2) for systems that do not have it: see xpoll-epoll(7). */
#ifndef XPOLL_SYS_EVENTFD_H
#define XPOLL_SYS_EVENTFD_H

#include <sys/epoll.h> /* defines EPOLL_CLOEXEC and XPOLL_EPOLL_NAME */

#define EFD_SEMAPHORE 1
#define EFD_CLOEXEC   EPOLL_CLOEXEC
#define EFD_NONBLOCK  O_NONBLOCK

typedef uint64_t eventfd_t;

#ifdef __cplusplus
extern "C" {
#endif

int eventfd(unsigned int initval, int flags) XPOLL_EPOLL_NAME(eventfd);
int eventfd_read(int fd, eventfd_t *value) XPOLL_EPOLL_NAME(eventfd_read);
int eventfd_write(int fd, eventfd_t value) XPOLL_EPOLL_NAME(eventfd_write);

#ifdef __cplusplus
}
#endif

#endif
