/*
 * A wake-up descriptor: a thread waits for it, and any thread can make it readable.  On Linux an
 * eventfd, elsewhere the read end of a pipe.
 */
#ifndef XP_SYS_WAKEFD_H
#define XP_SYS_WAKEFD_H

#include <stdbool.h>

struct xp_wakefd {
	int fd;       /* readable after xp_wakefd_signal, until xp_wakefd_clear; -1: not open */
	int write_fd; /* the descriptor to write to: of an eventfd the same as fd */
};

/*
 * Open a wake-up descriptor, which is not readable at first.  On failure both descriptors are -1.
 */
int xp_wakefd_open(struct xp_wakefd *wakefd);
void xp_wakefd_close(const struct xp_wakefd *wakefd);
/* Make the descriptor readable.  Async-signal-safe, and never blocks. */
void xp_wakefd_signal(const struct xp_wakefd *wakefd);
/* Make the descriptor unreadable. */
void xp_wakefd_clear(const struct xp_wakefd *wakefd);

/*
 * Returns true if fd is one of the two descriptors, which a program must not register with a queue.
 */
static inline bool xp_wakefd_has(const struct xp_wakefd *wakefd, int fd)
{
	return fd == wakefd->fd || fd == wakefd->write_fd;
}

#endif
