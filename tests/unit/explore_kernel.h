/* The model of epoll, and the clock, that the library has in the explorer. */
#ifndef EXPLORE_KERNEL_H
#define EXPLORE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/backend.h"

/* The main entry of the file, and those of single filters. */
extern struct entry {
	bool there, ready, fired;
	uint32_t watch;
	uint64_t token;
} entries[3];
extern uint32_t holds; /* what poll(2) returns for the file */
extern bool woken;
extern int reports;    /* of the file by the last harvest */
extern int64_t clock_ns;

/* Nothing is in the set. */
void kernel_begin(void);

/* The file has changed: these bits are news to whoever waits for them. */
void kernel_notify(int file, uint32_t news);

/* Store the reports of files that are on the ready list and still ready. */
int kernel_harvest(struct xp_fired *fired);
bool kernel_has_reports(void);

/* Hashes of states: of a number, of the entries. */
uint64_t mixed(uint64_t hash, uint64_t value);
uint64_t mixed_entries(uint64_t hash);

/* A thread of the library waits (explore_model.c). */
int kernel_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                struct xp_fired *fired, int cap);

#endif
