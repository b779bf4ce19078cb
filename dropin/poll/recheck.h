/*
 * The full look: a real poll(2) of what the kernel watches for us, in slices.
 *
 * A close that nobody saw leaves a number that stands for another file, which
 * the epoll instance does not know.  So every cold descriptor is looked at once
 * in a period; but no call looks at all of them, and before each slice and
 * after it what the epoll instance has to report is taken.
 */
#ifndef DROPIN_RECHECK_H
#define DROPIN_RECHECK_H

#include <stddef.h>
#include <stdint.h>

#include "watch.h"

#define RECHECK_SLICE 256 /* numbers, cold or not */

struct recheck {
	int64_t due_ns; /* when another slice is due */
	size_t owed;    /* slices that are due */
	size_t at;      /* the number at which the next one begins */
	size_t looked;  /* numbers in all */
};

/* Slices to look at everything once. */
static inline size_t recheck_slices(const struct watch *watch)
{
	return (watch->slots_len + RECHECK_SLICE - 1) / RECHECK_SLICE;
}

/* It is now_ns: how much is due by now, if each period has one full look? */
void recheck_reckon(struct recheck *recheck, const struct watch *watch,
                    int64_t now_ns, int64_t period_ns);

/*
 * Look at a slice, which counts as one that was owed.  What is ready there and is
 * not among what the watch has just found, or is among it and not ready, and is
 * another file than the one that was registered, is trusted no longer: how many
 * those were.
 */
int recheck_slice(struct recheck *recheck, struct watch *watch);

#endif
