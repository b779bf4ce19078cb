/*
 * Assertions of the library's own invariants.  A user's mistake is an error
 * return, never an assertion.  They are compiled in by debug and sanitizer
 * builds only: a release never ends its host program.
 */
#ifndef XP_BASE_ASSERT_H
#define XP_BASE_ASSERT_H

#include "base/compiler.h"

#ifdef XPOLL_ASSERTS
#define XP_ASSERT(condition) \
	do { \
		if (XP_UNLIKELY(!(condition))) \
			XP_TRAP(); \
	} while (0)
#else
#define XP_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
