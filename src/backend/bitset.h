/*
 * The bit sets of select(2), by the kernel's rules: words of long, as many as
 * the largest descriptor needs.
 */
#ifndef XP_BACKEND_BITSET_H
#define XP_BACKEND_BITSET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum { SET_IN, SET_OUT, SET_EXCEPT, SETS };

#define WORD_BITS ((int)(sizeof(long) * CHAR_BIT))

struct xp_bitsets {
	long *wanted[SETS]; /* what is asked for */
	long *fired[SETS];  /* the kernel's answer, while `wait` runs */
	long *memory;       /* all six, one after the other */
	int words;          /* length of each */
	int top;            /* no descriptor >= top is in a wanted set */
};

/* Make room for fd; -ENOMEM. */
int xp_bitsets_reserve(struct xp_bitsets *sets, int fd);
void xp_bitsets_fini(struct xp_bitsets *sets);

/* Want exactly these poll(2) bits of fd. */
void xp_bitsets_want(struct xp_bitsets *sets, int fd, uint32_t watch);

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
