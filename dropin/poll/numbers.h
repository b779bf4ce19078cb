/*
 * One word of state for each descriptor, shared by all threads without a lock.
 *
 * After a close the same number may refer to another file at once, while the program's array stays
 * the same.  So a set (pool.h), before it registers a descriptor with epoll, sets its bit in the
 * descriptor's word, and a thread that closes the descriptor reads the word.  Both use atomic
 * operations on one word: the set sees that a thread is closing the descriptor, or that thread sees
 * the bit.
 *
 *   set bits    one for each set whose epoll instance watches this descriptor
 *   closing     number of threads that are closing this descriptor
 *   own         the descriptor is an epoll instance of this library: the program has not opened it
 *
 * A thread that closes a descriptor with set bits clears them and appends the descriptor to a log,
 * which a set reads when a call begins, and after each sleep of a poll(2).  Without the log a set
 * would have to read the words of all its descriptors.
 */
#ifndef DROPIN_NUMBERS_H
#define DROPIN_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERS_SETS     48 /* largest number of sets: a word has a bit for each */
#define NUMBERS_SET_BITS ((UINT64_C(1) << NUMBERS_SETS) - 1)

#define NUMBERS_CLOSING_ONE  (UINT64_C(1) << NUMBERS_SETS)
#define NUMBERS_CLOSING_BITS (UINT64_C(0x7fff) << NUMBERS_SETS)

#define NUMBERS_OWN (UINT64_C(1) << 63)

extern _Atomic uint64_t *numbers_words; /* the words, indexed by descriptor */
extern size_t numbers_len; /* number of words; 0: not initialised, so there is no set */

/* Initialise the table; called once, at the start.  Returns false if there is no memory. */
bool numbers_init(void);
/* Clear all words, in a forked child. */
void numbers_reset(void);

/* Returns true if fd has a word. */
static inline bool numbers_has(int fd)
{
	return fd >= 0 && (size_t)fd < numbers_len;
}

/*
 * Record in the word of fd that the set with this index relies on fd; call before fd is registered
 * with epoll.  Returns false, and records nothing, if a thread is closing fd or a range of
 * descriptors, or if fd is an epoll instance of this library.
 */
bool numbers_rely(int fd, int set);
/* Clear the set's bit in the word of fd. */
void numbers_unrely(int fd, int set);

/* Returns true if the set's bit of fd is set, so no thread has closed fd since numbers_rely. */
static inline bool numbers_set_relies(int fd, int set)
{
	return numbers_words[fd] >> set & 1;
}

/* Returns the set bits of fd: a bit for each set that has registered fd. */
static inline uint64_t numbers_relying_sets(int fd)
{
	return numbers_words[fd] & NUMBERS_SET_BITS;
}

/*
 * Called before fd is closed: count this thread as closing fd, until numbers_close_end.  Returns
 * the set bits of fd; if there are any, the caller calls numbers_clear_and_log before the close.
 */
uint64_t numbers_close_begin(int fd);
/*
 * Clear the bits of all sets in the word of fd, and append fd to the log of closes, which the sets
 * read.
 */
void numbers_clear_and_log(int fd);

/*
 * Called after the close: no longer count this thread as closing fd.  Inline, because after a
 * system call the processor mispredicts each return: the kernel has overwritten its predictions.
 */
static inline void numbers_close_end(int fd)
{
	uint64_t word = numbers_words[fd];

	/*
	 * The count of closing threads is 0 in a child that a signal handler forked after
	 * numbers_close_begin.
	 */
	while ((word & NUMBERS_CLOSING_BITS) != 0 &&
	       !atomic_compare_exchange_weak(&numbers_words[fd], &word,
	                                     word - NUMBERS_CLOSING_ONE))
		;
}

/*
 * Call before a range of descriptors below `end` is closed, and numbers_range_end afterwards; in
 * between numbers_rely returns false for all descriptors.
 *
 * Returns a bound, at most `end`: at or above it no descriptor is registered by a set or is an
 * epoll instance of this library.  For each descriptor below it that is closed and that a set has
 * registered (numbers_relying_sets is not 0), the caller calls numbers_clear_and_log.
 */
unsigned numbers_range_begin(unsigned end);
void numbers_range_end(void);

/* Returns the position in the log at which the next closed descriptor will be stored. */
uint64_t numbers_log_end(void);
/* Returns the descriptor at a position of the log; -1: overwritten, or not written yet. */
int numbers_log_at(uint64_t position);

/* Record that fd is the epoll descriptor of a set, or that it is not any more. */
void numbers_own(int fd);
void numbers_disown(int fd);

/* Returns true if fd was recorded by numbers_own; the program may have replaced fd since. */
static inline bool numbers_is_own(int fd)
{
	return numbers_has(fd) && (numbers_words[fd] & NUMBERS_OWN) != 0;
}

#endif
