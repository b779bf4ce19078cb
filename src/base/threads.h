/*
 * Does this process have a single thread?  A "no" may be wrong, a "yes" never
 * is.  The one test of a C library's feature outside the families: it sits on the path
 * of every call and has to be inlined.
 */
#ifndef XP_BASE_THREADS_H
#define XP_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <features.h>
/* Headers of one version may serve to build for an older one. */
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define XP_HAVE_SINGLE_THREADED 1
#endif
#endif
#endif

static inline bool xp_single_threaded(void)
{
#ifdef XP_HAVE_SINGLE_THREADED
	return __libc_single_threaded;
#else
	return false;
#endif
}

/*
 * A cancellation point of a process's only thread: it can be cancelled by itself
 * alone, and that before it sleeps.
 */
static inline void xp_cancel_alone(void)
{
#ifdef XP_HAVE_SINGLE_THREADED
	pthread_testcancel();
#endif
}

#endif
