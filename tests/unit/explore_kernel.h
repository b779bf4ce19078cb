/*
 * The model of epoll, and the clock, which replace the kernel in the explorer.
 */
#ifndef EXPLORE_KERNEL_H
#define EXPLORE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/backend.h"

/* The main entry of the file, and the entries of single filters. */
extern struct entry {
	bool there, ready, fired;
	uint32_t watch;
	uint64_t token;
} entries[3];
extern uint32_t holds; /* the bits that poll(2) returns for the file now */
extern bool woken;
extern int reports;    /* number of reports of the file in the last harvest */
extern int64_t clock_ns;

/* Remove all entries. */
void kernel_begin(void);

/* The file has changed: report these bits to each entry that watches for them. */
void kernel_notify(int file, uint32_t news);

/*
 * Store reports of the entries that are on the ready list and still ready.  Returns their number.
 */
int kernel_harvest(struct xp_fired *fired);
bool kernel_has_reports(void);

/* Add a number, or the state of all entries, to a hash. */
uint64_t mixed(uint64_t hash, uint64_t value);
uint64_t mixed_entries(uint64_t hash);

/* The back end's `wait`, by which a thread of the library sleeps (in explore_model.c). */
int kernel_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                struct xp_fired *fired, int cap);

#endif
