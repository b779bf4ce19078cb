/*
 * A wake-up descriptor: one thread waits for it, and any thread can make it
 * readable.  An eventfd where there is one, else a pipe with its other end.
 */
#ifndef XP_SYS_WAKEFD_H
#define XP_SYS_WAKEFD_H

#include <stdbool.h>

struct xp_wakefd {
	int fd;       /* readable while it is signalled; -1: there is none */
	int write_fd; /* the end that is written; may equal fd */
};

/* Make a descriptor, which is not readable at first.  On failure both numbers are -1. */
int xp_wakefd_open(struct xp_wakefd *wakefd);
void xp_wakefd_close(const struct xp_wakefd *wakefd);
/* Async-signal-safe, and never waits. */
void xp_wakefd_signal(const struct xp_wakefd *wakefd);
void xp_wakefd_clear(const struct xp_wakefd *wakefd);

static inline bool xp_wakefd_has(const struct xp_wakefd *wakefd, int fd)
{
	return fd == wakefd->fd || fd == wakefd->write_fd;
}

#endif
