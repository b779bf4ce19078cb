/* Growing and filling the bit sets of select(2). */
#include "backend/bitset.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

static void bit_set(long *set, int fd, bool on)
{
	unsigned long bit = 1ul << (fd % WORD_BITS);
	unsigned long word = (unsigned long)set[fd / WORD_BITS];

	set[fd / WORD_BITS] = (long)(on ? word | bit : word & ~bit);
}

int xp_bitsets_reserve(struct xp_bitsets *sets, int fd)
{
	int words = sets->words ? sets->words : 16;
	long *memory;

	XP_ASSERT(fd >= 0);
	if (fd < sets->words * WORD_BITS)
		return 0;
	while (words <= fd / WORD_BITS)
		words *= 2;
	memory = xp_alloc((size_t)words * 2 * SETS * sizeof *memory);
	if (!memory)
		return -ENOMEM;
	for (int i = 0; i < SETS; i++) {
		long *set = memory + (size_t)words * (size_t)i;

		if (sets->words)
			memcpy(set, sets->wanted[i],
			       (size_t)sets->words * sizeof *set);
		sets->wanted[i] = set;
		sets->fired[i] = set + (size_t)words * SETS;
	}
	xp_free(sets->memory);
	sets->memory = memory;
	sets->words = words;
	return 0;
}

void xp_bitsets_fini(struct xp_bitsets *sets)
{
	xp_free(sets->memory);
}

void xp_bitsets_want(struct xp_bitsets *sets, int fd, uint32_t watch)
{
	XP_ASSERT(fd / WORD_BITS < sets->words);
	bit_set(sets->wanted[SET_IN], fd, watch & POLLIN);
	bit_set(sets->wanted[SET_OUT], fd, watch & POLLOUT);
	bit_set(sets->wanted[SET_EXCEPT], fd, watch & POLLPRI);
	if (watch & (POLLIN | POLLOUT | POLLPRI)) {
		if (fd >= sets->top)
			sets->top = fd + 1;
		return;
	}
	while (sets->top > 0 &&
	       !bits_any(sets->wanted, (sets->top - 1) / WORD_BITS))
		sets->top = (sets->top - 1) / WORD_BITS * WORD_BITS;
}

void xp_bitsets_unfire(struct xp_bitsets *sets, int fd)
{
	for (int i = 0; i < SETS; i++)
		bit_set(sets->fired[i], fd, false);
}

uint32_t xp_bitsets_fired(const struct xp_bitsets *sets, int fd)
{
	return (bit_get(sets->fired[SET_IN], fd) ? POLLIN : 0u) |
		(bit_get(sets->fired[SET_OUT], fd) ? POLLOUT : 0u) |
		(bit_get(sets->fired[SET_EXCEPT], fd) ? POLLPRI : 0u);
}

int xp_bitsets_gather(const struct xp_bitsets *sets, struct xp_fdmap *map,
                      int *start, struct pollfd *fds, int cap)
{
	int words = (sets->top + WORD_BITS - 1) / WORD_BITS;
	int word = *start / WORD_BITS < words ? *start / WORD_BITS : 0;
	unsigned long low = ~0ul << (*start % WORD_BITS);
	int len = 0;

	/* The first word is visited twice: its high bits first, its low last. */
	for (int i = 0; i <= words; i++) {
		unsigned long bits = bits_any(sets->fired, word) &
			(i == 0 ? low : i == words ? ~low : ~0ul);

		while (bits) {
			int fd = word * WORD_BITS + __builtin_ctzl(bits);
			const struct xp_fdmap_entry *entry = xp_fdmap_find(map, fd);

			bits &= bits - 1;
			/* The back end's own, or taken out since. */
			if (!entry || entry->place != XP_PLACE_ARRAY)
				continue;
			fds[len].fd = fd;
			fds[len].events = (short)entry->watch;
			*start = fd + 1;
			if (++len == cap)
				return len;
		}
		word = word + 1 < words ? word + 1 : 0;
	}
	return len;
}
