/* One call of poll, ppoll, select or pselect, and the code that all four share. */
#ifndef DROPIN_CALL_H
#define DROPIN_CALL_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "pool.h"

struct call;

struct call_ops {
	/*
	 * For select: makes an array of struct pollfd in the set's memory; does nothing for poll.
	 * Returns false if the call has too few descriptors for a set, or if there is no memory.
	 */
	bool (*expand)(struct call *call, struct set *set);
	/*
	 * Stores the results of the set for the program.  Returns their number, or a negative errno
	 * value.
	 */
	int (*report)(struct call *call, struct set *set);
	/* Stores for the program that nothing is ready. */
	void (*clear)(struct call *call);
	/* Makes the real call with the remaining time.  Returns its result, or -1 and errno. */
	int (*pass)(struct call *call);
	/*
	 * Returns the array with the revents of the real call; for select they are only zero or
	 * nonzero.
	 */
	const struct pollfd *(*results)(struct call *call, struct set *set);
};

/* The bit sets of a select; NULL: an empty one. */
enum { BITS_IN, BITS_OUT, BITS_EXCEPT, BITS_KINDS };

struct bits {
	int count; /* descriptors from this one on are ignored */
	unsigned long *words[BITS_KINDS];
};

struct call {
	const struct call_ops *ops;
	uintptr_t site;
	uintptr_t key;        /* address of the array, or of one of the bit sets; finds the set */
	struct extent memory; /* the memory that the real call would read and write */
	size_t count;         /* entries of fds */
	size_t checks;        /* descriptors that the real call would check */
	const sigset_t *mask; /* the program's signal mask, or NULL */
	int64_t deadline_ns;  /* monotonic clock; XP_NOW, XP_NEVER */
	int64_t awake_ns;     /* when the call began, or last woke up; coarse clock */
	bool is_poll;         /* the function is poll(2): the timeout is in milliseconds */
	bool was_asleep;      /* the call has slept, so less than the given timeout is left */
	bool holds_signals;   /* signals are blocked; sleeps apply `mask` */
	sigset_t *restore_mask;/* the mask to restore */

	struct pollfd *fds;             /* the program's array; for select made by `expand` */
	struct bits bits;               /* select, pselect */
	const struct timespec *timeout; /* the program's timeout; NULL: none, or is_poll */
	int timeout_ms;                 /* the program's timeout, if is_poll */
};

/* Returns the deadline of a wait that begins now with this timeout. */
int64_t call_deadline(int64_t timeout_ns);

/*
 * Returns the timeout for the real call: the caller's; or, if some of it has passed, the rest,
 * stored in `left`.
 */
const struct timespec *call_timeout(const struct call *call,
                                    struct timespec *left);

/* Returns the time that is left; XP_NEVER: for ever. */
int64_t call_left_ns(const struct call *call);

/* Makes the whole call.  Returns its result, or -1 and errno like the real function. */
int call_run(struct call *call);

#endif
