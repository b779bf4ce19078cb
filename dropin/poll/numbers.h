/*
 * The state of each descriptor number, for all threads and without a lock.
 *
 * A closed number may be another file a moment later, with nothing changed in
 * the program's array.  So whoever relies on a number being the file that it
 * was says so here, and whoever closes one looks here, before and after.  One
 * word per number says it all, so that each of them sees the other:
 *
 *   set bits    sets whose epoll instance is relied on for this number
 *   closing     how many threads are inside a close of this number
 *   own         it is ours: the program has never opened it
 *
 * A close takes the set bits away and writes the number into a log, which each
 * set reads before it believes its epoll instance.  The bits are the truth; the
 * log only saves looking at all of them.
 */
#ifndef DROPIN_NUMBERS_H
#define DROPIN_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERS_SETS     48
#define NUMBERS_SET_BITS ((UINT64_C(1) << NUMBERS_SETS) - 1)

#define NUMBERS_CLOSING_ONE  (UINT64_C(1) << NUMBERS_SETS)
#define NUMBERS_CLOSING_BITS (UINT64_C(0x7fff) << NUMBERS_SETS)

#define NUMBERS_OWN (UINT64_C(1) << 63)

extern _Atomic uint64_t *numbers_words;
extern size_t numbers_len; /* 0: not initialised, and nothing is relied on */

/* Called once, at the start. */
bool numbers_init(void);
/* Forget everything, in a forked child. */
void numbers_reset(void);

static inline bool numbers_has(int fd)
{
	return fd >= 0 && (size_t)fd < numbers_len;
}

/*
 * Sets the bit of a set that is about to rely on fd.  Returns false if a thread is closing
 * the number, or if it is our own.
 */
bool numbers_rely(int fd, int set);
void numbers_unrely(int fd, int set);

static inline bool numbers_relied(int fd, int set)
{
	return numbers_words[fd] >> set & 1;
}

/* The sets that rely on fd. */
static inline uint64_t numbers_relying(int fd)
{
	return numbers_words[fd] & NUMBERS_SET_BITS;
}

/* Before fd is closed; numbers_close_end follows.  Returns the sets that relied on fd. */
uint64_t numbers_close_begin(int fd);
/* Clears the bits of all sets of fd, and appends fd to the log of closes. */
void numbers_close_clear(int fd);

/* Inline, since after a system call each return is mispredicted. */
static inline void numbers_close_end(int fd)
{
	uint64_t word = numbers_words[fd];

	/* A fork in between, by a signal handler, has forgotten that we began. */
	while ((word & NUMBERS_CLOSING_BITS) != 0 &&
	       !atomic_compare_exchange_weak(&numbers_words[fd], &word,
	                                     word - NUMBERS_CLOSING_ONE))
		;
}

/*
 * Before descriptors below `end` are closed; numbers_range_end follows, and until then no set
 * begins to rely on a descriptor.  Returns a bound, at most `end`: no set relies on a descriptor
 * between the two, and none of these is the epoll descriptor of a set.
 * For each closed descriptor below the bound the caller calls numbers_close_clear, if a set relies
 * on it.
 */
unsigned numbers_range_begin(unsigned end);
void numbers_range_end(void);

/* The position at which the next close is logged; a set has read the log up to one. */
uint64_t numbers_log_end(void);
/* Returns the number at a position of the log; -1: overwritten, or not written yet. */
int numbers_log_at(uint64_t position);

/* Mark fd as the epoll descriptor of a set; remove the mark. */
void numbers_own(int fd);
void numbers_disown(int fd);

static inline bool numbers_is_own(int fd)
{
	return numbers_has(fd) && (numbers_words[fd] & NUMBERS_OWN) != 0;
}

#endif
