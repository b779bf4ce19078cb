/* Counting calls by place. */
#include "sites.h"

#include <stdatomic.h>

#include "settings.h"

#define SITES_LEN    256
/*
 * To take up an array in vain is as dear as some 140 real calls.  So the second time comes
 * after 128 times as many calls as the first, and the others after 2048 times as many.
 */
#define REGRETS_MOST 11
#define REGRETS_EACH 7

/* A call in which half as many are ready as when a set was not worth it counts for more. */
#define RELIEF 31

struct site {
	_Atomic uintptr_t address;
	_Atomic uint32_t calls;
	_Atomic uint32_t regrets;
	_Atomic uint32_t lost_at; /* so many of 64 descriptors were ready */
};

static struct site sites[SITES_LEN];

static struct site *site_of(uintptr_t address)
{
	struct site *site = &sites[(address ^ address >> 8) % SITES_LEN];

	if (site->address != address) {
		site->address = address;
		site->calls = 0;
		site->regrets = 0;
		site->lost_at = 0;
	}
	return site;
}

bool sites_ripe(uintptr_t address)
{
	struct site *site = site_of(address);

	/* Two threads may count one call: it is a guess. */
	uint32_t calls = atomic_load_explicit(&site->calls, memory_order_relaxed);

	atomic_store_explicit(&site->calls, calls + 1, memory_order_relaxed);
	if (calls < settings.after << site->regrets)
		return false;
	site->calls = 0;
	return true;
}

void sites_regret(uintptr_t address, unsigned ready)
{
	struct site *site = site_of(address);
	uint32_t regrets = site->regrets + REGRETS_EACH;

	site->regrets = regrets < REGRETS_MOST ? regrets : REGRETS_MOST;
	site->lost_at = ready;
}

void sites_trust(uintptr_t address)
{
	struct site *site = site_of(address);

	if (site->regrets > 0)
		site->regrets = 0;
}

void sites_passed(uintptr_t address, unsigned ready)
{
	struct site *site = site_of(address);

	/* What was too many is no more, perhaps. */
	if (2 * ready < site->lost_at)
		atomic_fetch_add(&site->calls, RELIEF);
}
