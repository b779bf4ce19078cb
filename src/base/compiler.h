/* The extensions of the compiler that the library uses, in one place. */
#ifndef XP_BASE_COMPILER_H
#define XP_BASE_COMPILER_H

#include <stddef.h>

#define XP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define XP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define XP_COLD        __attribute__((cold, noinline))
#define XP_INLINE      inline __attribute__((always_inline))
#define XP_NOINLINE       __attribute__((noinline))
#define XP_TRAP()      __builtin_trap()
/* Index of the lowest, or highest, bit of x, which must not be 0. */
#define XP_LOWEST_BIT(x)  ((unsigned)__builtin_ctzll(x))
#define XP_HIGHEST_BIT(x) (63u - (unsigned)__builtin_clzll(x))

/*
 * Prefetch a cache line.  The empty statement keeps gcc from removing a function that does nothing
 * else.
 */
static XP_INLINE void xp_prefetch(const void *line)
{
	__builtin_prefetch(line);
	__asm__ volatile ("");
}

/* Whether this is compiled for ThreadSanitizer. */
#ifdef __SANITIZE_THREAD__
#define XP_TSAN 1
#else
#define XP_TSAN 0
#endif

/* Pause the processor, in a loop that waits for another one. */
static XP_INLINE void xp_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__GNUC__) && (defined(__aarch64__) || defined(__arm__))
	__asm__ volatile ("yield");
#endif
}

/* The usual size; a wrong one only costs time. */
#define XP_CACHE_LINE 64

/* F(0), F(1) ... F(63): the entries of a table. */
#define XP_4_OF(F, i) F(i), F((i) + 1), F((i) + 2), F((i) + 3)
#define XP_16_OF(F, i) \
	XP_4_OF(F, i), XP_4_OF(F, (i) + 4), XP_4_OF(F, (i) + 8), XP_4_OF(F, (i) + 12)
#define XP_64_OF(F) \
	XP_16_OF(F, 0), XP_16_OF(F, 16), XP_16_OF(F, 32), XP_16_OF(F, 48)

#define XP_CONTAINER_OF(pointer, type, member) \
	((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
