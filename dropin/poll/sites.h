/*
 * Counts how often each call site has called poll or select without a set.  A call site is a place
 * in the program's code, identified by the return address.  Making a set (pool.h) costs as much as
 * about ten calls, so a site has to call settings.after times first, and far more often after one
 * of its sets was given up.  Sites that share an entry of the table are counted together.
 */
#ifndef DROPIN_SITES_H
#define DROPIN_SITES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Count a call from this site that was made without a set (pool.h), by the C library's function.
 * Returns true if the site has made enough of these calls that a set is worth making, and then sets
 * its count to 0.
 */
bool sites_set_is_due(uintptr_t site);
/* Record that a set of this site was given up after `calls` calls: the next comes far later. */
void sites_back_off(uintptr_t site, uint32_t calls);

#endif
