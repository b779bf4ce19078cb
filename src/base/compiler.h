/*
 * Most of the extensions of gcc and clang that the library uses; the others are for system calls.
 */
#ifndef XP_BASE_COMPILER_H
#define XP_BASE_COMPILER_H

#include <stddef.h>

#define XP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define XP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define XP_COLD        __attribute__((cold, noinline))
#define XP_INLINE      inline __attribute__((always_inline))
#define XP_NOINLINE       __attribute__((noinline))
#define XP_TRAP()      __builtin_trap()
/* Returns the index of the lowest, or highest, bit that is set in x; x must not be 0. */
#define XP_LOWEST_BIT(x)  ((unsigned)__builtin_ctzll(x))
#define XP_HIGHEST_BIT(x) (63u - (unsigned)__builtin_clzll(x))

/*
 * Load the cache line at this address into the cache.  The empty assembly keeps gcc from removing
 * calls of functions that only prefetch, because gcc must assume that the assembly has an effect.
 */
static XP_INLINE void xp_prefetch(const void *line)
{
	__builtin_prefetch(line);
	__asm__ volatile ("");
}

/* 1 in a build with ThreadSanitizer, if the compiler announces it by __SANITIZE_THREAD__. */
#ifdef __SANITIZE_THREAD__
#define XP_TSAN 1
#else
#define XP_TSAN 0
#endif

/* Let the processor pause for a few cycles: for a loop that waits for another processor. */
static XP_INLINE void xp_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__GNUC__) && (defined(__aarch64__) || defined(__arm__))
	__asm__ volatile ("yield");
#endif
}

/* Bytes of a cache line, on most processors; where lines are longer, the library is only slower. */
#define XP_CACHE_LINE 64

/* XP_64_OF(F) expands to F(0), F(1) ... F(63): the initialisers of an array. */
#define XP_4_OF(F, i) F(i), F((i) + 1), F((i) + 2), F((i) + 3)
#define XP_16_OF(F, i) \
	XP_4_OF(F, i), XP_4_OF(F, (i) + 4), XP_4_OF(F, (i) + 8), XP_4_OF(F, (i) + 12)
#define XP_64_OF(F) \
	XP_16_OF(F, 0), XP_16_OF(F, 16), XP_16_OF(F, 32), XP_16_OF(F, 48)

/* Returns the struct of this type whose `member` the pointer points to. */
#define XP_CONTAINER_OF(pointer, type, member) \
	((type *)(void *)((char *)(pointer) - offsetof(type, member)))

#endif
