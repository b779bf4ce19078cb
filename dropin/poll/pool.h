/*
 * The sets: one for each array that the program polls repeatedly.
 *
 * There are few sets, and no lock.  A thread claims a set while it works on it, but not while it
 * sleeps.  So a signal handler may poll, leave by longjmp, or end the thread during a sleep.  A
 * thread that finds its set claimed makes the real call.
 *
 * [c] for the thread that has claimed the set; [a] atomic
 */
#ifndef DROPIN_POOL_H
#define DROPIN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "array.h"
#include "watch.h"

/* A number of bytes at each of these addresses of the program's memory; address 0: none. */
struct extent {
	uintptr_t at[3];
	size_t size;
};

struct set {
	_Atomic int state;      /* [a] */
	_Atomic uintptr_t site; /* [a] the call site: an address in the program */
	_Atomic uintptr_t key;  /* [a] address of the array; for select of one bit set */
	_Atomic int sleepers;   /* [a] threads that sleep and will claim the set afterwards */
	_Atomic uint32_t turn;  /* [a] number of calls that changed the requested bits */
	_Atomic int64_t used_ns; /* [a] last claim, or end of a sleep; coarse clock */

	struct watch watch;     /* [c] except epoll_fd */
	struct array array;     /* [c] */
	struct memory selected; /* [c] struct selected of select.c */
	struct extent memory;   /* [c] the memory that the last real call has checked */
	int64_t recheck_ns;     /* [c] when the next real call is due */
	int64_t worth;          /* [c] balance of saved checks and costs: see call.c */
	bool last_poll_empty;   /* [c] the last call that polled first found nothing */
	uint8_t sleeps_first;       /* [c] calls since then that slept first */
};

/*
 * Initialises the pool; called once, at the start.  Returns false if every call has to pass
 * through.
 */
bool pool_init(void);

/* Returns true if calls may use sets; false if every call passes through. */
bool pool_is_running(void);

/*
 * Returns true in the process that called pool_init, and in a forked child that has started again.
 * Returns false in a child of vfork(2), which shares our memory but has its own descriptors.
 */
bool pool_is_ours(void);

/*
 * The process has installed a seccomp filter: from now on every call passes through, in its
 * children too.
 */
void pool_sandboxed(void);

/* Claims a set with this site and key.  Returns NULL if there is none that is unclaimed. */
struct set *pool_find(uintptr_t site, uintptr_t key, int64_t now_ns);
/* Makes a set and claims it.  Returns NULL if there are enough, or no memory. */
struct set *pool_new(uintptr_t site, uintptr_t key, int64_t now_ns);

void pool_release(struct set *set);
/* Call before and after a sleep, in which the set is not claimed. */
void pool_sleep(struct set *set);
void pool_awake(struct set *set);
/* Claims the set after a sleep.  Returns false if it is claimed, or if its turn has changed. */
bool pool_reclaim(struct set *set, uint32_t turn);
/* Threads of this process have separate tables of descriptors now: every call passes through. */
void pool_part(void);
/* Gives up a claimed set. */
void pool_drop(struct set *set);

/* Removes fd, which is about to be closed, from the epoll instances of these sets. */
void pool_detach(int fd, uint64_t sets);
/*
 * Returns true if fd is one of our epoll instances, even if the program has used system calls of
 * its own.
 */
bool pool_keeps(int fd);
/* The program reuses this descriptor of ours: its set will be given up. */
void pool_lost(int number);

#endif
