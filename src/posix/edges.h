/*
 * XP_OS_EDGES_EXCEPT: true if the set of edges (edge.h) can watch POLLPRI.  epoll(7) can watch all
 * bits of poll(2), kqueue(2) POLLPRI only if it has EVFILT_EXCEPT.
 */
#ifndef XP_POSIX_EDGES_H
#define XP_POSIX_EDGES_H

#include <stdbool.h>

/*
 * The set of edges is a kqueue on systems that have <sys/event.h>.  On Linux it is an epoll set,
 * even if some library has installed a <sys/event.h>; only tests that build the sources of the BSDs
 * on Linux (XPOLL_OVER_KQUEUE) use a kqueue there.
 */
#if defined(__has_include) && (!defined(__linux__) || defined(XPOLL_OVER_KQUEUE))
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
 * XP_OS_EDGES_ALL: true if the set of edges can watch every file that poll(2) can.  kqueue(2)
 * refuses some devices.
 */
#ifndef XP_OS_EDGES_EXCEPT
#define XP_OS_EDGES_EXCEPT true
#define XP_OS_EDGES_ALL true
#else
#define XP_OS_EDGES_ALL false
#endif

#endif
