/*
 * Finds out, without a system call, whether the process has only one thread.  The result true is
 * always right, false may be wrong.  This is the only test for a feature of the C library outside
 * the folders of systems: every call of the library makes the test, so it has to be inline.
 */
#ifndef XP_BASE_THREADS_H
#define XP_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <features.h>
/*
 * The header may belong to a newer C library than the one to build for (a cross compiler may have
 * one set of headers for all versions), so check the version, too.
 */
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define XP_HAVE_SINGLE_THREADED 1
#endif
#endif
#endif

/* Returns true if the process has one thread; false: it has several, or that is unknown. */
static inline bool xp_single_threaded(void)
{
#ifdef XP_HAVE_SINGLE_THREADED
	return __libc_single_threaded;
#else
	return false;
#endif
}

/*
 * Act on a pending cancellation of the calling thread, the only one of the process.  No other
 * thread can request a cancellation later, so a check before a sleep is enough.  Does nothing where
 * xp_single_threaded always returns false.
 */
static inline void xp_testcancel_alone(void)
{
#ifdef XP_HAVE_SINGLE_THREADED
	pthread_testcancel();
#endif
}

#endif
