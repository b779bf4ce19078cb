/*
 * A world of descriptors of all kinds, and what can happen to them.
 *
 * Numbers are reused as the kernel does it, duplicates are kept aside so that
 * closed files live on, and nothing asks the drop-in for its opinion.
 */
#ifndef DROPIN_WORLD_H
#define DROPIN_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define WORLD_MOST 192

struct world {
	uint64_t seed;
	int fds[WORLD_MOST]; /* open, or were once: some are closed by now */
	int len;
	int aside[32]; /* duplicates that keep files alive */
	int aside_len;
	int ended[32]; /* numbers that were closed not long ago */
	unsigned ended_at;
};

uint32_t world_pick(struct world *world, uint32_t below);
bool world_chance(struct world *world, uint32_t percent);

void world_open(struct world *world); /* descriptors of a random kind */
void world_act(struct world *world);  /* anything, to anybody */
void world_close_all(struct world *world);

/* A number for an array: mostly one that is open. */
int world_number(struct world *world);

#endif
