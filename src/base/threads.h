/*
 * Whether this process has a single thread: a "yes" is always right, a "no" may be wrong.  This is
 * the only test for a feature of the C library outside the folders of systems: every call makes it,
 * so it has to be inline.
 */
#ifndef XP_BASE_THREADS_H
#define XP_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <features.h>
/* Headers of one version may be used to build for an older one. */
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
 * A cancellation point for the only thread of a process: it can only have cancelled itself before
 * this.
 */
static inline void xp_cancel_alone(void)
{
#ifdef XP_HAVE_SINGLE_THREADED
	pthread_testcancel();
#endif
}

#endif
