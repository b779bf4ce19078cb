/*
 * Settings from the environment, read once at the start.  The dynamic linker does not load this
 * library into set-user-ID programs.
 */
#ifndef DROPIN_SETTINGS_H
#define DROPIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each member is set by the environment variable in its comment: see xpoll-poll(7). */
struct settings {
	bool on;            /* XPOLL_POLL; false: every call passes through to the C library */
	bool stats;         /* XPOLL_POLL_STATS: print the counters of stats.h at exit */
	size_t least;       /* XPOLL_POLL_MIN: calls with fewer descriptors pass through */
	uint32_t after;     /* XPOLL_POLL_AFTER: number of calls from one call site that pass
	                       through before it gets a set; 0: no set is given up for its cost */
	int64_t recheck_ns; /* XPOLL_POLL_RECHECK (in ms): a set is compared with a real call
	                       once in each half of this time; 0: never */
};

extern struct settings settings;

/* Set `settings` from the environment; called once, at the start. */
void settings_read(void);

#endif
