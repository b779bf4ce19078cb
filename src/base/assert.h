/*
 * Assertions check the library's own invariants; a mistake of the program is returned as an error
 * instead.  Only debug and sanitizer builds compile them in, so a release never ends its host
 * program.
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
/* The condition is compiled, so that it stays correct, but not evaluated. */
#define XP_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
