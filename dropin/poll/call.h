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
#include "pool.h"

struct call;

struct call_ops {
	/*
	 * Makes the array of a select in the set's memory; nothing for poll.  Returns false if
	 * the call names too few descriptors, or if there is no memory.
	 */
	bool (*expand)(struct call *call, struct set *set);
	/* Hands out what the set has found.  Returns how many, or a negative errno. */
	int (*report)(struct call *call, struct set *set);
	/* Hands out that nothing is ready. */
	void (*clear)(struct call *call);
	/* The real call, with the time that is left; -1 and errno as it does. */
	int (*pass)(struct call *call);
	/* The array with the revents of the real call; of a select only zero or nonzero. */
	const struct pollfd *(*results)(struct call *call, struct set *set);
};

/* The bit sets of a select; NULL stands for an empty one. */
enum { BITS_IN, BITS_OUT, BITS_EXCEPT, BITS_KINDS };

struct bits {
	int count; /* Only numbers below it are meant. */
	unsigned long *words[BITS_KINDS];
};

struct call {
	const struct call_ops *ops;
	uintptr_t site;
	uintptr_t key;        /* the array; for select one of its sets */
	struct extent memory; /* what the real call would read and write */
	size_t count;         /* entries of fds */
	size_t checks;        /* descriptors that the real call would check */
	const sigset_t *mask; /* or NULL */
	int64_t deadline_ns;  /* XP_NOW, XP_NEVER, or a moment */
	int64_t awake_ns;     /* when it began, or woke up; on the coarse clock */
	bool is_poll;         /* poll itself: waits in milliseconds */
	bool was_asleep;      /* so its timeout is not what the caller gave */
	bool holds_signals;   /* signals are blocked; `mask` is for the sleeps */
	sigset_t *restore_mask;/* the mask to restore */

	struct pollfd *fds;             /* of the program; of a select in the set's memory */
	struct bits bits;               /* select, pselect */
	const struct timespec *timeout; /* of the caller; NULL: none, or is_poll */
	int timeout_ms;                 /* of the caller, if is_poll */
};

/* Returns the end of a wait that begins now and may take this long. */
int64_t call_deadline(int64_t timeout_ns);

/*
 * The timeout for the real call: the caller's, unless some of it has passed,
 * which is then written to `left`.
 */
const struct timespec *call_timeout(const struct call *call,
                                    struct timespec *left);

/* Returns the time that is left; XP_NEVER: for ever. */
int64_t call_left_ns(const struct call *call);

/* The call as a whole: the result, or -1 and errno as the real function sets it. */
int call_run(struct call *call);

#endif
