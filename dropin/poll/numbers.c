/* The table with a word for each descriptor, and the log of closed descriptors: see numbers.h. */
#include "numbers.h"

#include <errno.h>
#include <sys/mman.h>

/* Length of the table: the default of fs.nr_open, the kernel's bound for RLIMIT_NOFILE. */
#define NUMBERS_MOST ((size_t)1 << 20)

/* entries of the log of closed descriptors; a new one overwrites the oldest */
#define LOG_LEN 4096u

_Atomic uint64_t *numbers_words;
size_t numbers_len;

static void *words; /* numbers_words as a plain pointer, for madvise(2) */
/*
 * An upper bound: greater than each descriptor that a set has registered with epoll, or that was a
 * set's epoll instance, since numbers_reset.
 */
static _Atomic unsigned top;
static _Atomic int in_ranges; /* number of threads between numbers_range_begin and _end */

/* An entry is position << 32 | (descriptor + 1); 0: not written yet. */
static _Atomic uint64_t log_entries[LOG_LEN];
/* position of the next entry; modulo LOG_LEN, the index of that entry */
static _Atomic uint64_t log_end;

bool numbers_init(void)
{
	/* The table has 8 MiB, of which the kernel provides only the pages that are written. */
	void *block = mmap(NULL, NUMBERS_MOST * sizeof *numbers_words,
	                   PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (block == MAP_FAILED)
		return false;
	words = block;
	numbers_words = words;
	numbers_len = NUMBERS_MOST;
	return true;
}

void numbers_reset(void)
{
	int saved = errno;

	/* After MADV_DONTNEED the private memory reads as zeros. */
	madvise(words, numbers_len * sizeof *numbers_words,
	        MADV_DONTNEED);
	errno = saved;
	top = 0;
	in_ranges = 0;
}

/* Make `top` exceed fd. */
static void raise_top(int fd)
{
	unsigned known = top;

	while (known <= (unsigned)fd &&
	       !atomic_compare_exchange_weak(&top, &known, (unsigned)fd + 1))
		;
}

bool numbers_rely(int fd, int set)
{
	uint64_t word = numbers_words[fd];

	raise_top(fd);
	do {
		if (word & (NUMBERS_CLOSING_BITS | NUMBERS_OWN))
			return false;
	} while (!atomic_compare_exchange_weak(&numbers_words[fd], &word,
	                                       word | UINT64_C(1) << set));
	/*
	 * If no range is being closed, a thread that calls numbers_range_begin from now on sees the
	 * bit of this set.  Otherwise the closing thread may have missed the bit: clear it.
	 */
	if (in_ranges == 0)
		return true;
	numbers_unrely(fd, set);
	return false;
}

void numbers_unrely(int fd, int set)
{
	atomic_fetch_and(&numbers_words[fd], ~(UINT64_C(1) << set));
}

uint64_t numbers_close_begin(int fd)
{
	return atomic_fetch_add(&numbers_words[fd], NUMBERS_CLOSING_ONE) &
	       NUMBERS_SET_BITS;
}

void numbers_clear_and_log(int fd)
{
	uint64_t position;

	atomic_fetch_and(&numbers_words[fd], ~NUMBERS_SET_BITS);
	position = atomic_fetch_add(&log_end, 1);
	log_entries[position % LOG_LEN] = position << 32 | ((uint64_t)fd + 1);
}

unsigned numbers_range_begin(unsigned end)
{
	unsigned known;

	atomic_fetch_add(&in_ranges, 1);
	known = top;
	return known < end ? known : end;
}

void numbers_range_end(void)
{
	/* in_ranges is 0 in a child that a signal handler forked after numbers_range_begin. */
	if (in_ranges > 0)
		atomic_fetch_sub(&in_ranges, 1);
}

uint64_t numbers_log_end(void)
{
	return log_end;
}

int numbers_log_at(uint64_t position)
{
	uint64_t entry = log_entries[position % LOG_LEN];

	if (entry >> 32 != (position & UINT32_MAX) || (entry & UINT32_MAX) == 0)
		return -1;
	return (int)((entry & UINT32_MAX) - 1);
}

void numbers_own(int fd)
{
	if (!numbers_has(fd))
		return;
	raise_top(fd);
	atomic_fetch_or(&numbers_words[fd], NUMBERS_OWN);
}

void numbers_disown(int fd)
{
	if (numbers_has(fd))
		atomic_fetch_and(&numbers_words[fd], ~NUMBERS_OWN);
}
