/*
 * A world of descriptors of all kinds, and the random activity on them.
 *
 * Descriptors are reused as the kernel chooses, duplicates are kept so that
 * closed files stay open, and no function here uses the drop-in's results.
 */
#ifndef DROPIN_WORLD_H
#define DROPIN_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define WORLD_MOST 192

struct world {
	uint64_t seed;
	int fds[WORLD_MOST]; /* descriptors that are open or were once */
	int len;
	int aside[32]; /* duplicates that keep files alive */
	int aside_len;
	int ended[32]; /* descriptors that were closed recently */
	unsigned ended_at;
};

uint32_t world_pick(struct world *world, uint32_t below);
bool world_chance(struct world *world, uint32_t percent);

void world_open(struct world *world); /* open descriptors of a random kind */
void world_act(struct world *world);  /* make a random operation on a random descriptor */
void world_close_all(struct world *world);

/* Returns a descriptor for an array, which is usually open. */
int world_number(struct world *world);

#endif
