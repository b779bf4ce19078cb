/*
 * Polls in a ring of io_uring(7).
 *
 * A poll is multishot: it goes on reporting until it is cancelled or ends by
 * itself.  Each arming of a descriptor has a number of its own, so that what an
 * ended one had to say is told from what the present one says.
 *
 * Whoever uses it guards it by a lock.
 */
#ifndef XP_BACKEND_POLLRING_H
#define XP_BACKEND_POLLRING_H

#include "os/uring.h"

#if defined(XP_HAVE_URING) && defined(IORING_ASYNC_CANCEL_ANY)
#define XP_HAVE_POLLRING 1

#include "base/counters.h"

struct xp_pollring {
	struct xp_uring ring;
	uint32_t armings; /* how many there were; 0 is none */
	uint32_t process; /* that opened it */
	struct xp_counters *counters;
};

struct xp_pollring_report {
	int fd;
	uint32_t arming;
	int32_t events; /* poll(2)'s bits, or a negative errno value */
	bool ended;     /* it does not report any more */
};

int xp_pollring_open(struct xp_pollring *polls, struct xp_counters *counters);
/* Not in a forked child all polls are cancelled; true: this is no child. */
bool xp_pollring_close(struct xp_pollring *polls);

/*
 * Entries are filled, room for them being reserved first, and then submitted.
 * What the kernel does not take for lack of memory stays filled.
 */
int xp_pollring_reserve(struct xp_pollring *polls);
int xp_pollring_submit(struct xp_pollring *polls);
/* The same; if the last entry was not taken it is none any more. */
int xp_pollring_submit_last(struct xp_pollring *polls);

/* Poll for these bits; returns the arming. */
uint32_t xp_pollring_arm(struct xp_pollring *polls, int fd, uint32_t bits);
void xp_pollring_cancel(struct xp_pollring *polls, int fd, uint32_t arming);

/* Its descriptor is readable while there are reports. */
static inline int xp_pollring_fd(const struct xp_pollring *polls)
{
	return polls->ring.fd;
}

/* Fetch those that the kernel had no room for. */
void xp_pollring_flush(struct xp_pollring *polls);

/* The next report, which stays until it is taken; false: there is none. */
bool xp_pollring_peek(const struct xp_pollring *polls,
                      struct xp_pollring_report *report);
static inline void xp_pollring_taken(struct xp_pollring *polls)
{
	xp_uring_taken(&polls->ring);
}

#endif
#endif
