/*
 * The same as array.h, for the three bit sets of select(2).
 */
#ifndef DROPIN_BITS_H
#define DROPIN_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>

#include "kernel.h"
#include "watch.h"

enum { BITS_IN, BITS_OUT, BITS_EXCEPT, BITS_KINDS };

/* The program's sets; NULL stands for an empty one. */
struct bits_sets {
	int count; /* numbers below it are meant */
	unsigned long *words[BITS_KINDS];
};

struct bits {
	struct memory memory;
	unsigned long *image[BITS_KINDS];
	size_t words; /* of each; the rest counts as 0 */
};

void bits_free(struct bits *bits);

size_t bits_count(const struct bits_sets *sets); /* numbers in any of them */
size_t bits_words(const struct bits_sets *sets);
int bits_highest(const struct bits_sets *sets); /* or 0 */

/* As array_sync: how many numbers differed, or -1. */
int64_t bits_sync(struct bits *bits, struct watch *watch,
                  const struct bits_sets *sets);

/*
 * Write what the watch found to the program's sets; how many bits that is.  If
 * it is none they are left alone.  -EBADF: one of the numbers is not open.
 */
int bits_report(const struct bits *bits, const struct watch *watch,
                const struct bits_sets *sets);
void bits_clear(const struct bits_sets *sets);

bool bits_resemble(const struct watch *watch, const struct bits_sets *sets);

#endif
