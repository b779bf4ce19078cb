/*
 * Settings from the environment, read once at the start.  The dynamic linker does not load this
 * library into set-user-ID programs.
 */
#ifndef DROPIN_SETTINGS_H
#define DROPIN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
	bool on;            /* XPOLL_POLL: 0 passes every call through */
	bool stats;         /* XPOLL_POLL_STATS: print the counters at exit */
	size_t least;       /* XPOLL_POLL_MIN: fewer descriptors pass through */
	uint32_t after;     /* XPOLL_POLL_AFTER: so many calls of a place do, too;
	                       0: none, and arrays are never given up */
	int64_t recheck_ns; /* XPOLL_POLL_RECHECK, in ms; one real call in each half; 0: none */
};

extern struct settings settings;

void settings_read(void);

#endif
