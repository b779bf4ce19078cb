/*
 * One call of poll, ppoll, select or pselect, from here on alike.
 */
#ifndef DROPIN_CALL_H
#define DROPIN_CALL_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "bits.h"
#include "pool.h"

struct call;

struct call_ops {
	/*
	 * Is its memory there (for an error the kernel says EFAULT, and we would
	 * crash), and does it have enough descriptors?  A set remembers what it
	 * has seen; it may be NULL.
	 */
	bool (*mapped)(struct call *call, struct set *set);
	bool (*resembles)(const struct call *call, const struct set *set);
	/* No descriptor in it has a higher number. */
	int (*highest)(const struct call *call);
	/* As array_sync. */
	int64_t (*sync)(struct call *call, struct set *set);
	/* Hand out what was found: how many, or a negative errno. */
	int (*report)(struct call *call, struct set *set);
	/* Hand out nothing. */
	void (*clear)(struct call *call);
	/* The real call, with the time that is left; -1 and errno as it does. */
	int (*pass)(struct call *call);
};

struct call {
	const struct call_ops *ops;
	uintptr_t site;
	uintptr_t key;
	size_t count;         /* descriptors */
	const sigset_t *mask; /* or NULL */
	int64_t deadline_ns;  /* XP_NOW, XP_NEVER, or a moment */
	int64_t awake_ns;     /* when it began, or woke up; on the coarse clock */
	bool is_poll;         /* poll itself: waits in milliseconds */
	bool was_asleep;      /* so its timeout is not what the caller gave */
	bool holds;           /* signals are held back; `mask` is for the sleeps */
	size_t rechecked;     /* slices of the full look that it has taken */
	sigset_t *held;       /* what was blocked before */

	struct pollfd *fds;             /* poll, ppoll */
	struct bits_sets sets;          /* select, pselect */
	const struct timespec *timeout; /* of the caller; NULL: none, or is_poll */
	int timeout_ms;                 /* of the caller, if is_poll */
};

/* When a wait that begins now and may take this long has to end. */
int64_t call_deadline(int64_t timeout_ns);

/*
 * The timeout for the real call: the caller's, unless some of it has passed,
 * which is then written to `left`.
 */
const struct timespec *call_timeout(const struct call *call,
                                    struct timespec *left);

/* The time that is left; XP_NEVER: for ever. */
int64_t call_left_ns(const struct call *call);

/*
 * Returns true if a set has answered the call: *rcp is the result, and errno is set as by
 * the real function.  False: the caller counts the call as passed and calls the real
 * function itself, because each return after a system call costs a misprediction.
 */
bool call_try(struct call *call, int *rcp);

#endif
