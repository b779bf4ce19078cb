/*
 * Which bits the system reports by edges: epoll(7) all bits of poll(2), kqueue(2) POLLPRI only if
 * it has a filter for it.
 */
#ifndef XP_POSIX_EDGES_H
#define XP_POSIX_EDGES_H

#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/event.h>)
#include <sys/types.h>
#include <sys/event.h>
#if defined(EVFILT_EXCEPT) && defined(NOTE_OOB)
#define XP_OS_EDGES_EXCEPT true
#else
#define XP_OS_EDGES_EXCEPT false
#endif
#endif
#endif

/*
 * True if every file that poll(2) can wait for can be watched by edges.  kqueue(2) refuses some
 * devices.
 */
#ifndef XP_OS_EDGES_EXCEPT
#define XP_OS_EDGES_EXCEPT true
#define XP_OS_EDGES_ALL true
#else
#define XP_OS_EDGES_ALL false
#endif

#endif
