/* Counting calls by place. */
#include "sites.h"

#include <stdatomic.h>

#include "settings.h"

#define SITES_LEN    256
#define REGRETS_MOST 6 /* at most 64 times as many calls */

struct site {
	_Atomic uintptr_t address;
	_Atomic uint32_t calls;
	_Atomic uint32_t regrets;
};

static struct site sites[SITES_LEN];

static struct site *site_of(uintptr_t address)
{
	struct site *site = &sites[(address ^ address >> 8) % SITES_LEN];

	if (site->address != address) {
		site->address = address;
		site->calls = 0;
		site->regrets = 0;
	}
	return site;
}

bool sites_ripe(uintptr_t address)
{
	struct site *site = site_of(address);

	if (atomic_fetch_add(&site->calls, 1) < settings.after << site->regrets)
		return false;
	site->calls = 0;
	return true;
}

void sites_regret(uintptr_t address)
{
	struct site *site = site_of(address);

	if (site->regrets < REGRETS_MOST)
		site->regrets++;
}
