/*
 * Is an array worth being taken up?  That costs about as much as ten looks at
 * it, so a place in the program has to call so often first; and where sets were
 * given up, more often.  A table of guesses: places may share an entry.
 */
#ifndef DROPIN_SITES_H
#define DROPIN_SITES_H

#include <stdbool.h>
#include <stdint.h>

/* A call from here was passed through; true: it is time for a set. */
bool sites_ripe(uintptr_t site);
/* The set that was made was not worth it, with so many of 64 descriptors ready. */
void sites_regret(uintptr_t site, unsigned ready);
/* It is. */
void sites_trust(uintptr_t site);
/* What the real function found, in a call that was passed through. */
void sites_passed(uintptr_t site, unsigned ready);

#endif
