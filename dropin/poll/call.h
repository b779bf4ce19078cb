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

/* The steps of a call that differ between poll and select. */
struct call_ops {
	/*
	 * select: makes an array of struct pollfd from the program's bit sets, in set->selected,
	 * and sets call->fds and call->polled_count.  Returns false if the call has fewer than
	 * settings.least descriptors, or if there is no memory: then the caller makes the real
	 * call.  poll: does nothing, and returns true.
	 */
	bool (*expand)(struct call *call, struct set *set);
	/*
	 * Stores the results of the last poll of the set in the program's array or bit sets.
	 * Returns the result of the call (ready entries, or ready bits of all bit sets);
	 * -EBADF: a select has a descriptor that is not open, so make the real call.
	 */
	int (*report)(struct call *call, struct set *set);
	/* Stores in the program's array or bit sets that nothing is ready. */
	void (*clear)(struct call *call);
	/*
	 * Calls the C library's function with the time that is left; returns that function's
	 * result.
	 */
	int (*pass)(struct call *call);
	/*
	 * After a real call, returns an array with its results.  For select `events` is 0, and
	 * revents is 1 if the descriptor is ready for anything; NULL: `expand` was never called for
	 * this set, so the set has no array yet.
	 */
	const struct pollfd *(*results)(struct call *call, struct set *set);
};

/* The three bit sets of a select(2): readfds, writefds and exceptfds. */
enum { BITS_IN, BITS_OUT, BITS_EXCEPT, BITS_KINDS };

/* The arguments of a select(2) or pselect(2), except the timeout. */
struct bits {
	int nfds;  /* the nfds of select(2): all descriptors are below it; 0 in a poll(2) */
	unsigned long *words[BITS_KINDS]; /* the program's fd_sets; NULL: the program passed none */
};

/* One call of the program: its arguments and its progress. */
struct call {
	const struct call_ops *ops; /* poll_ops (poll, ppoll) or select_ops (select, pselect) */
	/*
	 * return address in the program, which identifies the call site (sites.h).  For select all
	 * its bits are inverted, because a poll(2) may return to the same address.
	 */
	uintptr_t site;
	uintptr_t key;        /* address of the array, or of the first fd_set that is not NULL */
	struct extent memory; /* the array or bit sets: memory that the call reads and writes */
	size_t count;         /* number of entries of fds; for select equal to bit_sets.nfds */
	/*
	 * number of descriptors that the kernel polls in a real call; in a poll(2) also counts
	 * entries with a negative fd
	 */
	size_t polled_count;
	const sigset_t *mask; /* the signal mask during sleeps; NULL: the thread's own */
	int64_t deadline_ns;  /* end of the timeout, monotonic; XP_NOW: timeout 0; XP_NEVER: none */
	int64_t awake_ns;     /* when the call began, or last woke up; coarse clock */
	bool has_timeout_ms;  /* the function is poll(2): the timeout is timeout_ms */
	bool was_asleep;      /* the call has slept, so less than the given timeout is left */
	bool holds_signals;   /* this call has blocked the thread's signals */
	sigset_t *restore_mask;/* if holds_signals: the mask to restore before returning */

	struct pollfd *fds;             /* the program's array; for select made by `expand` */
	struct bits bit_sets;           /* the arguments of select or pselect */
	const struct timespec *timeout; /* the program's timeout; NULL: none, or it is timeout_ms */
	int timeout_ms;                 /* the program's timeout, if has_timeout_ms */
};

/* Returns the deadline of a call that begins now with this timeout; XP_NOW for 0. */
int64_t call_deadline(int64_t timeout_ns);

/*
 * Returns the timeout to pass to the real call; NULL: none.  Before the first sleep it is the
 * program's timeout; after that the time that is left, which is stored in *left.
 */
const struct timespec *call_timeout(const struct call *call,
                                    struct timespec *left);

/* Returns the nanoseconds until the deadline, at least 0; XP_NEVER: there is no deadline. */
int64_t call_left_ns(const struct call *call);

/*
 * Does the whole call, with the set of this array if there is one that can be used, otherwise by
 * the real function.  Returns the result, or -1 with errno, like the real function.
 */
int call_run(struct call *call);

#endif
