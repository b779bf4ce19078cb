/*
 * How often each call site in the program has called.  Making a set costs as much as about ten
 * calls, so a site has to call settings.after times first, and far more often after a set of it was
 * given up.  Sites that share an entry of the table are counted together.
 */
#ifndef DROPIN_SITES_H
#define DROPIN_SITES_H

#include <stdbool.h>
#include <stdint.h>

/* Count a call that has no set.  Returns true if it is time to make one. */
bool sites_ripe(uintptr_t site);
/* A set of this call site was given up after this number of calls. */
void sites_regret(uintptr_t site, uint32_t calls);

#endif
