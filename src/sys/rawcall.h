/*
 * System calls without the C library.  They are no cancellation points, leave errno alone, and are
 * not seen by a library that replaces functions of the C library.  The result is >= 0 or a negative
 * errno value.
 */
#ifndef XP_SYS_RAWCALL_H
#define XP_SYS_RAWCALL_H

#include <sys/syscall.h>
#include <unistd.h>

#include "sys/libcall.h"

/*
 * clang's analyzer does not know which memory the assembly writes, so under the analyzer the call
 * goes through syscall(2).
 */
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(__clang_analyzer__)

static inline long xp_rawcall_inline(long call, long a, long b, long c,
                                     long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(call), "D"(a), "S"(b), "d"(c), "r"(r10),
	                   "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline long xp_rawcall_inline(long call, long a, long b, long c,
                                     long d, long e, long f)
{
	register long x8 __asm__("x8") = call;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	return x0;
}

#else

static inline long xp_rawcall_inline(long call, long a, long b, long c,
                                     long d, long e, long f)
{
	return XP_LIBCALL(syscall(call, a, b, c, d, e, f));
}

#endif

#ifdef XPOLL_RAWCALL_EXTERN
/* In the build that tests link: a function, so that tests can replace it. */
long xp_rawcall(long call, long a, long b, long c, long d, long e, long f);
#else
static inline long xp_rawcall(long call, long a, long b, long c, long d,
                              long e, long f)
{
	return xp_rawcall_inline(call, a, b, c, d, e, f);
}
#endif

/*
 * Calls of three and of four arguments, for frequent system calls: the callers need not save the
 * registers of the arguments that are not passed.
 */
#if defined(__x86_64__) && !defined(__ILP32__) && !defined(__clang_analyzer__) && \
	!defined(XPOLL_RAWCALL_EXTERN)

static inline long xp_rawcall_3(long call, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(call), "D"(a), "S"(b), "d"(c)
	                 : "rcx", "r11", "memory");
	return result;
}

static inline long xp_rawcall_4(long call, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(call), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return result;
}

#else
#define xp_rawcall_3(call, a, b, c) xp_rawcall(call, a, b, c, 0, 0, 0)
#define xp_rawcall_4(call, a, b, c, d) xp_rawcall(call, a, b, c, d, 0, 0)
#endif

#endif
