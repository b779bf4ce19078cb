/*
 * A beacon: a descriptor that somebody waits for, and that anybody can make
 * readable.  An eventfd where there is one, else a pipe with its other end.
 */
#ifndef XP_OS_BEACON_H
#define XP_OS_BEACON_H

#include <stdbool.h>

struct xp_beacon {
	int fd;   /* readable while it is lit; -1: there is none */
	int lamp; /* what is written to; may be the same number */
};

/* It is dark at first.  On failure both numbers are -1. */
int xp_beacon_open(struct xp_beacon *beacon);
void xp_beacon_close(const struct xp_beacon *beacon);
/* Async-signal-safe, and never waits. */
void xp_beacon_light(const struct xp_beacon *beacon);
void xp_beacon_dim(const struct xp_beacon *beacon);

static inline bool xp_beacon_has(const struct xp_beacon *beacon, int fd)
{
	return fd == beacon->fd || fd == beacon->lamp;
}

#endif
