/*
 * The pool of sets.  A set is what this library keeps for one array that the program polls
 * repeatedly (or for the bit sets of a select(2)): a copy of the array, and an epoll instance.
 *
 * There are at most NUMBERS_SETS sets, and no lock.  A thread claims a set while it works on it,
 * but not while it sleeps.  So a signal handler may poll, leave by longjmp, or end the thread
 * during a sleep.  A thread that finds its set claimed calls the C library's function instead.
 *
 * Tags of members: [c] for the thread that has claimed the set; [a] atomic.
 */
#ifndef DROPIN_POOL_H
#define DROPIN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "array.h"
#include "watch.h"

/* Memory of the program: an array, or up to three bit sets of equal size. */
struct extent {
	uintptr_t at[3]; /* addresses; 0: none */
	size_t size;     /* bytes at each address */
};

/* One set: an array that the program polls repeatedly, and its epoll instance. */
struct set {
	_Atomic int state;      /* [a] FREE, IDLE, CLAIMED or RETIRED: see pool.c */
	/*
	 * [a] `site` and `key` identify the calls that this set is for.  site: the address in the
	 * program to which these calls of poll(2) return, or, with all bits inverted, these calls
	 * of select(2); 0: the set is for no call.  key: the address of the array that the calls
	 * pass, or of the first bit set.
	 */
	_Atomic uintptr_t site;
	_Atomic uintptr_t key;
	/* [a] number of threads that sleep on the set; too high if one has left by longjmp */
	_Atomic int sleepers;
	/* [a] incremented when requested bits change, or the set is made or dropped */
	_Atomic uint32_t array_version;
	/* [a] time of the last claim or of the end of a sleep; coarse clock */
	_Atomic int64_t used_ns;

	/*
	 * [c] the array's descriptors and their epoll instance; threads that close descriptors read
	 * and replace epoll_fd, too
	 */
	struct watch watch;
	struct array array;     /* [c] the copy of the program's array */
	/* [c] for select(2): one struct selected, the bit sets as entries of poll(2) */
	struct memory selected;
	/*
	 * [c] the program's memory that is known to be mapped, because the C library's function has
	 * used it in the last real call, which is a call that was passed to that function
	 */
	struct extent checked_memory;
	/* [c] when the C library has to make the next call, to check the set; coarse clock */
	int64_t recheck_due_ns;
	int64_t balance;        /* [c] saved checks minus costs, in units of a check: see call.c */
	bool last_poll_empty;   /* [c] the last call that polled before sleeping found nothing */
	/*
	 * [c] number of calls that have slept without polling before; starts at 0 again when it
	 * reaches SLEEPS_FIRST_MOST, and this call polls first (sleep_is_first)
	 */
	uint8_t sleep_first_count;
};

/*
 * Initialise the pool; called once, at the start.  Returns false if there is no memory, or none
 * that the kernel clears in a forked child: then no set is ever made, and every call passes through
 * to the C library.
 */
bool pool_init(void);

/*
 * Returns true if calls may use sets; false if every call passes through.  In a forked child the
 * first call of this function drops the parent's sets.
 */
bool pool_is_running(void);

/*
 * Like pool_is_running, but returns false in a child of vfork(2), which shares our memory but has
 * its own descriptors.
 */
bool pool_is_ours(void);

/*
 * The process has installed a seccomp filter: from now on every call passes through, in its
 * children too, because the filter might refuse the system calls of this library.
 */
void pool_stop_for_seccomp(void);

/*
 * Claim the set of this call site and array.  Returns NULL if there is none, if another call has
 * claimed it, or if every call is passed to the C library.
 */
struct set *pool_claim(uintptr_t site, uintptr_t key, int64_t now_ns);
/* Make a set and claim it.  Returns NULL if all are in use, or if no epoll instance can be made. */
struct set *pool_new(uintptr_t site, uintptr_t key, int64_t now_ns);

/* End the claim of a set. */
void pool_release(struct set *set);
/* Before a sleep on the set: count this thread in set->sleepers.  After the sleep: no longer. */
void pool_add_sleeper(struct set *set);
void pool_remove_sleeper(struct set *set);
/*
 * Claim the set again after a sleep, or after a call of the C library's function.  `version` is
 * set->array_version before that.  Returns false if another thread has claimed the set, has changed
 * the set's requested bits or has dropped the set, or if every call is now passed to the C library.
 */
bool pool_reclaim(struct set *set, uint32_t version);
/* Call before a thread gets its own table of descriptors: every call passes through from now on. */
void pool_stop_for_unshare(void);
/* Free a claimed set, and close its epoll instance as soon as no closing thread uses it. */
void pool_drop(struct set *set);

/* Remove fd, which is about to be closed, from the epoll instances of these sets (a bit each). */
void pool_detach(int fd, uint64_t sets);
/*
 * Returns true if fd is one of our epoll instances.  Queries the kernel, because the program may
 * have closed the instance by a system call of its own and opened another file.
 */
bool pool_keeps(int fd);
/*
 * The program reuses the number of one of our epoll instances by dup2(2).  The set with that
 * instance finds none in its next call, and is given up.
 */
void pool_number_reused(int number);

#endif
