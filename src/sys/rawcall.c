/*
 * xp_rawcall as a function, for the build of the library that tests link: there a test replaces the
 * function, to make any of these system calls fail.
 */
#ifndef XPOLL_RAWCALL_EXTERN
#define XPOLL_RAWCALL_EXTERN
#endif
#include "sys/rawcall.h"

long xp_rawcall(long call, long a, long b, long c, long d, long e, long f)
{
	return xp_rawcall_inline(call, a, b, c, d, e, f);
}
