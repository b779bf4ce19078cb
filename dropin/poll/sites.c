/* Counts calls of poll and select by call site: see sites.h. */
#include "sites.h"

#include <stdatomic.h>

#include "settings.h"

#define SITES_LEN 256 /* entries of the table */

/*
 * A set that is given up has cost as much as about 140 calls by the C library.  So the number of
 * calls before the site gets its next set, settings.after at first, is multiplied: by
 * 2^BACKOFF_SHIFT after the first set that was given up, and by 2^LONG_BACKOFF_SHIFT after further
 * ones.  If a set was used for WORTHWHILE_CALLS calls before it was given up, the factor is
 * 2^BACKOFF_SHIFT again.
 */
#define BACKOFF_SHIFT 7
#define LONG_BACKOFF_SHIFT 11
#define WORTHWHILE_CALLS      1000

struct site {
	/* calls of this site without a set, since sites_set_is_due last returned true */
	_Atomic uint32_t calls;
	/* sites_set_is_due returns true after settings.after << shift calls */
	_Atomic uint32_t shift;
};

static struct site sites[SITES_LEN];

static struct site *site_of(uintptr_t address)
{
	return &sites[(address ^ address >> 8) % SITES_LEN];
}

bool sites_set_is_due(uintptr_t address)
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

void sites_back_off(uintptr_t address, uint32_t calls)
{
	struct site *site = site_of(address);

	site->shift = site->shift == 0 ||
	              calls >= WORTHWHILE_CALLS ? BACKOFF_SHIFT : LONG_BACKOFF_SHIFT;
}
