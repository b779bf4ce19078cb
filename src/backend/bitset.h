/* The bit sets of select(2), by the kernel's rules: words of long. */
#ifndef XP_BACKEND_BITSET_H
#define XP_BACKEND_BITSET_H

#include <limits.h>
#include <stdbool.h>

enum { SET_IN, SET_OUT, SET_EXCEPT, SETS };

#define WORD_BITS ((int)(sizeof(long) * CHAR_BIT))

static inline void bit_set(long *set, int fd, bool on)
{
	unsigned long bit = 1ul << (fd % WORD_BITS);
	unsigned long word = (unsigned long)set[fd / WORD_BITS];

	set[fd / WORD_BITS] = (long)(on ? word | bit : word & ~bit);
}

static inline bool bit_get(const long *set, int fd)
{
	unsigned long word = (unsigned long)set[fd / WORD_BITS];

	return word >> (fd % WORD_BITS) & 1;
}

/* A word of the three sets together. */
static inline unsigned long bits_any(long *const sets[SETS], int word)
{
	return (unsigned long)(sets[SET_IN][word] | sets[SET_OUT][word] |
	                       sets[SET_EXCEPT][word]);
}

#endif
