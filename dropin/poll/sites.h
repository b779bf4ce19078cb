/*
 * How often each place in the program has called.  To make a set costs as much as some ten
 * calls, so a place calls settings.after times first, and far more often after a set of it
 * was given up.  Places that share an entry of the table are counted together.
 */
#ifndef DROPIN_SITES_H
#define DROPIN_SITES_H

#include <stdbool.h>
#include <stdint.h>

/* Count a call that has no set; returns true if it is time to make one. */
bool sites_ripe(uintptr_t site);
/* A set of this place was given up after so many calls. */
void sites_regret(uintptr_t site, uint32_t calls);

#endif
