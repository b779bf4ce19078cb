/* Comparing the program's bit sets with their image. */
#include "bits.h"

#include <errno.h>
#include <string.h>

#define WORD_BITS (8 * (int)sizeof(unsigned long))

/* The kernel's own translation: what makes a number ready in which set. */
static const uint32_t meaning[BITS_KINDS] = {
	[BITS_IN] = POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR,
	[BITS_OUT] = POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR,
	[BITS_EXCEPT] = POLLPRI,
};

void bits_free(struct bits *bits)
{
	memory_free(&bits->memory);
	*bits = (struct bits){0};
}

size_t bits_words(const struct bits_sets *sets)
{
	return ((size_t)sets->count + (size_t)WORD_BITS - 1) / (size_t)WORD_BITS;
}

/* One word of a set, without what is beyond the count. */
static unsigned long word_of(const struct bits_sets *sets, int kind, size_t at)
{
	int left = sets->count - (int)at * WORD_BITS;

	if (!sets->words[kind] || left <= 0)
		return 0;
	if (left >= WORD_BITS)
		return sets->words[kind][at];
	return sets->words[kind][at] & ((1UL << left) - 1);
}

static unsigned long any_of(const struct bits_sets *sets, size_t at)
{
	return word_of(sets, BITS_IN, at) | word_of(sets, BITS_OUT, at) |
	       word_of(sets, BITS_EXCEPT, at);
}

size_t bits_count(const struct bits_sets *sets)
{
	size_t words = bits_words(sets);
	size_t count = 0;

	for (size_t at = 0; at < words; at++) {
		unsigned long any = any_of(sets, at);

		if (any != 0)
			count += (size_t)__builtin_popcountl(any);
	}
	return count;
}

int bits_highest(const struct bits_sets *sets)
{
	for (size_t at = bits_words(sets); at-- > 0;) {
		unsigned long any = any_of(sets, at);

		if (any != 0)
			return (int)at * WORD_BITS + WORD_BITS - 1 -
			       __builtin_clzl(any);
	}
	return 0;
}

/* What the sets want of a number, given the words that it is in. */
static uint32_t wanted_of(const unsigned long words[BITS_KINDS], int bit)
{
	uint32_t wanted = 0;

	for (int kind = 0; kind < BITS_KINDS; kind++)
		if (words[kind] >> bit & 1)
			wanted |= meaning[kind];
	return wanted;
}

/* --- Comparing --------------------------------------------------------------------- */

static bool bits_reserve(struct bits *bits, size_t words)
{
	struct memory grown = {0};
	unsigned long *block;

	if (words <= bits->words)
		return true;
	if (!memory_reserve(&grown, BITS_KINDS * words * sizeof *block))
		return false;
	block = grown.base;
	for (int kind = 0; kind < BITS_KINDS; kind++, block += words) {
		if (bits->words > 0)
			memcpy(block, bits->image[kind], bits->words * sizeof *block);
		bits->image[kind] = block;
	}
	memory_free(&bits->memory);
	bits->memory = grown;
	bits->words = words;
	return true;
}

/* The numbers of one word of which something has changed; -1: no memory. */
static int64_t word_sync(struct bits *bits, struct watch *watch,
                         const struct bits_sets *sets, size_t at)
{
	unsigned long now[BITS_KINDS];
	unsigned long changed = 0;
	int64_t count = 0;

	for (int kind = 0; kind < BITS_KINDS; kind++) {
		now[kind] = word_of(sets, kind, at);
		changed |= now[kind] ^ bits->image[kind][at];
		bits->image[kind][at] = now[kind];
	}
	for (; changed != 0; changed &= changed - 1, count++) {
		int bit = __builtin_ctzl(changed);
		int fd = (int)at * WORD_BITS + bit;
		uint32_t wanted = wanted_of(now, bit);

		if (!watch_slot_of(watch, fd))
			return -1;
		if (wanted != 0)
			watch_want(watch, fd, (uint16_t)(wanted & ~WATCH_ALWAYS));
		else
			watch_unwant(watch, fd);
	}
	return count;
}

int64_t bits_sync(struct bits *bits, struct watch *watch,
                  const struct bits_sets *sets)
{
	int64_t changed = 0;

	if (!bits_reserve(bits, bits_words(sets)))
		return -1;
	for (size_t at = 0; at < bits->words; at++) {
		int64_t count = word_sync(bits, watch, sets, at);

		if (count < 0 || watch->failed)
			return -1;
		changed += count;
	}
	return changed;
}

/* --- Answers ------------------------------------------------------------------------- */

void bits_clear(const struct bits_sets *sets)
{
	size_t size = bits_words(sets) * sizeof(unsigned long);

	for (int kind = 0; kind < BITS_KINDS; kind++)
		if (sets->words[kind])
			memset(sets->words[kind], 0, size);
}

/* In which of the program's sets a number is ready, as bits 1 << kind. */
static unsigned answer_of(const struct bits *bits, const struct watch_ready *ready)
{
	size_t at = (size_t)(ready->fd / WORD_BITS);
	unsigned answer = 0;

	for (int kind = 0; kind < BITS_KINDS; kind++)
		if ((bits->image[kind][at] >> ready->fd % WORD_BITS & 1) &&
		    (ready->bits & meaning[kind]) != 0)
			answer |= 1u << kind;
	return answer;
}

int bits_report(const struct bits *bits, const struct watch *watch,
                const struct bits_sets *sets)
{
	int count = 0;

	for (size_t i = 0; i < watch->ready_len; i++) {
		if (watch->ready[i].bits & POLLNVAL)
			return -EBADF;
		count += __builtin_popcount(answer_of(bits, &watch->ready[i]));
	}
	if (count == 0)
		return 0;
	bits_clear(sets);
	for (size_t i = 0; i < watch->ready_len; i++) {
		const struct watch_ready *ready = &watch->ready[i];
		unsigned answer = answer_of(bits, ready);

		for (int kind = 0; kind < BITS_KINDS; kind++)
			if (answer >> kind & 1)
				sets->words[kind][ready->fd / WORD_BITS] |=
					1UL << ready->fd % WORD_BITS;
	}
	return count;
}

bool bits_resemble(const struct watch *watch, const struct bits_sets *sets)
{
	size_t words = bits_words(sets);
	int same = 0;
	int seen = 0;

	/* One number of each word. */
	for (size_t at = 0; at < words; at++) {
		unsigned long now[BITS_KINDS];
		unsigned long any = any_of(sets, at);
		int bit;

		if (any == 0)
			continue;
		bit = __builtin_ctzl(any);
		for (int kind = 0; kind < BITS_KINDS; kind++)
			now[kind] = word_of(sets, kind, at);
		seen++;
		same += watch_wants(watch, (int)at * WORD_BITS + bit,
		                    (uint16_t)(wanted_of(now, bit) & ~WATCH_ALWAYS));
	}
	return 4 * same >= 3 * seen;
}
