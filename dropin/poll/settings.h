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
	/*
	 * XPOLL_POLL_AFTER: this many calls of a call site are made by the C library.  The next
	 * call makes a set, which later calls use.  0: the first call makes the set, and a set is
	 * kept even if it costs more than it saves.
	 */
	uint32_t after;
	/*
	 * XPOLL_POLL_RECHECK (in ms): in each half of this time one call with a set is made by the
	 * C library.  Its results show events that epoll has not reported, and descriptors whose
	 * close this library has not noticed.  0: never
	 */
	int64_t recheck_ns;
};

extern struct settings settings;

/* Set `settings` from the environment; called once, at the start. */
void settings_read(void);

#endif
