/*
 * The state of each descriptor, shared by all threads without a lock.
 *
 * A closed descriptor may refer to another file at once, while the program's array stays the same.
 * So a set that relies on a registration of a descriptor says so in the descriptor's word, and a
 * thread that closes the descriptor reads the word before and after the close.  One word has all of
 * it, so neither misses the other:
 *
 *   set bits    the sets that rely on their epoll instance for this descriptor
 *   closing     number of threads that are closing this descriptor
 *   own         the descriptor is our own: the program has not opened it
 *
 * A close clears the set bits and appends the descriptor to a log, which each set reads before it
 * uses the reports of its epoll instance.  The log only saves reading the words of all descriptors.
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
extern size_t numbers_len; /* 0: not initialised, so no set relies on a descriptor */

/* Initialise the table; called once, at the start. */
bool numbers_init(void);
/* Clear the table in a forked child. */
void numbers_reset(void);

static inline bool numbers_has(int fd)
{
	return fd >= 0 && (size_t)fd < numbers_len;
}

/*
 * Sets the bit of a set that is about to rely on fd.  Returns false if a thread is closing fd, or
 * if fd is our own.
 */
bool numbers_rely(int fd, int set);
void numbers_unrely(int fd, int set);

static inline bool numbers_relied(int fd, int set)
{
	return numbers_words[fd] >> set & 1;
}

/* Returns the bits of the sets that rely on fd. */
static inline uint64_t numbers_relying(int fd)
{
	return numbers_words[fd] & NUMBERS_SET_BITS;
}

/*
 * Call before fd is closed, and numbers_close_end afterwards.  Returns the bits of the sets that
 * rely on fd.
 */
uint64_t numbers_close_begin(int fd);
/* Clears the bits of all sets of fd, and appends fd to the log of closes. */
void numbers_close_clear(int fd);

/* Inline, because after a system call the processor mispredicts each return. */
static inline void numbers_close_end(int fd)
{
	uint64_t word = numbers_words[fd];

	/* A fork by a signal handler since then has reset the count. */
	while ((word & NUMBERS_CLOSING_BITS) != 0 &&
	       !atomic_compare_exchange_weak(&numbers_words[fd], &word,
	                                     word - NUMBERS_CLOSING_ONE))
		;
}

/*
 * Call before descriptors below `end` are closed, and numbers_range_end afterwards; in between no
 * set begins to rely on a descriptor.  Returns a bound, at most `end`: from it on no set relies on
 * a descriptor, and none is the epoll descriptor of a set.  For each closed descriptor below the
 * bound the caller calls numbers_close_clear, if a set relies on it.
 */
unsigned numbers_range_begin(unsigned end);
void numbers_range_end(void);

/* Returns the position at which the next close will be logged. */
uint64_t numbers_log_end(void);
/* Returns the descriptor at a position of the log; -1: overwritten, or not written yet. */
int numbers_log_at(uint64_t position);

/* Mark fd as the epoll descriptor of a set, or remove the mark. */
void numbers_own(int fd);
void numbers_disown(int fd);

static inline bool numbers_is_own(int fd)
{
	return numbers_has(fd) && (numbers_words[fd] & NUMBERS_OWN) != 0;
}

#endif
