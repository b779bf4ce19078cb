/*
 * The bit sets of select(2), by the kernel's rules: words of long, as many as
 * the largest descriptor needs.
 */
#ifndef XP_BACKEND_BITSET_H
#define XP_BACKEND_BITSET_H

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/fdmap.h"

enum { SET_IN, SET_OUT, SET_EXCEPT, SETS };

#define WORD_BITS ((int)(sizeof(long) * CHAR_BIT))

struct xp_bitsets {
	long *wanted[SETS]; /* what is asked for */
	long *fired[SETS];  /* the kernel's answer, less what was reported */
	long *memory;       /* all six, one after the other */
	int words;          /* length of each */
	int top;            /* no descriptor >= top is in a wanted set */
};

/* Make room for fd; -ENOMEM. */
int xp_bitsets_reserve(struct xp_bitsets *sets, int fd);
void xp_bitsets_fini(struct xp_bitsets *sets);

/* Want exactly these poll(2) bits of fd. */
void xp_bitsets_want(struct xp_bitsets *sets, int fd, uint32_t watch);

/* What the kernel said of fd, in poll(2)'s terms. */
uint32_t xp_bitsets_fired(const struct xp_bitsets *sets, int fd);
/* It was reported. */
void xp_bitsets_unfire(struct xp_bitsets *sets, int fd);

/*
 * Gather what fired and is wanted still, from *start on and round: entries for
 * poll(2), at most cap.  *start moves behind the last one.
 */
int xp_bitsets_gather(const struct xp_bitsets *sets, struct xp_fdmap *map,
                      int *start, struct pollfd *fds, int cap);

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
