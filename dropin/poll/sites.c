/* Counts calls by call site. */
#include "sites.h"

#include <stdatomic.h>

#include "settings.h"

#define SITES_LEN 256

/*
 * A set that is given up has cost as much as about 140 real calls.  So after one such set a site
 * has to call 128 times as often before the next is made, and after two 2048 times as often.  A set
 * that was used for TRUSTED calls does not count.
 */
#define SHIFT_SECOND 7
#define SHIFT_OTHERS 11
#define TRUSTED      1000

struct site {
	_Atomic uint32_t calls;
	_Atomic uint32_t shift;
};

static struct site sites[SITES_LEN];

static struct site *site_of(uintptr_t address)
{
	return &sites[(address ^ address >> 8) % SITES_LEN];
}

bool sites_ripe(uintptr_t address)
{
	struct site *site = site_of(address);

	/* Two threads may count as one; the count need not be exact. */
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
