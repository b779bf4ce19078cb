/* Counts calls of poll and select by call site: see sites.h. */
#include "sites.h"

#include <stdatomic.h>

#include "settings.h"

#define SITES_LEN 256 /* entries of the table */

/*
 * A set that is given up has cost as much as about 140 real calls.  So after the first one a site
 * has to call 2^SHIFT_SECOND times as often before the next set is made, and after further ones
 * 2^SHIFT_OTHERS times.  If a set was used for TRUSTED calls before it was given up, the factor is
 * 2^SHIFT_SECOND again.
 */
#define SHIFT_SECOND 7
#define SHIFT_OTHERS 11
#define TRUSTED      1000

struct site {
	/* calls of this site without a set, since sites_ripe last returned true */
	_Atomic uint32_t calls;
	_Atomic uint32_t shift; /* sites_ripe returns true after settings.after << shift calls */
};

static struct site sites[SITES_LEN];

static struct site *site_of(uintptr_t address)
{
	return &sites[(address ^ address >> 8) % SITES_LEN];
}

bool sites_ripe(uintptr_t address)
{
	struct site *site = site_of(address);

	/* Not one atomic operation: two threads' calls may count as one, which is harmless. */
	uint32_t calls = atomic_load_explicit(&site->calls, memory_order_relaxed);

	atomic_store_explicit(&site->calls, calls + 1, memory_order_relaxed);
	if (calls < settings.after << site->shift)
		return false;
	site->calls = 0;
	return true;
}

void sites_regret(uintptr_t address, uint32_t calls)
{
	struct site *site = site_of(address);

	site->shift = site->shift == 0 || calls >= TRUSTED ? SHIFT_SECOND : SHIFT_OTHERS;
}
