/*
 * System calls without the C library, as a function: only what is linked with
 * tests has it, and there each of these calls can be made to fail.
 */
#ifndef XPOLL_RAWCALL_EXTERN
#define XPOLL_RAWCALL_EXTERN
#endif
#include "sys/rawcall.h"

long xp_rawcall(long call, long a, long b, long c, long d, long e, long f)
{
	return xp_rawcall_inline(call, a, b, c, d, e, f);
}
