/*
 * The sets: one for each array that the program polls again and again.
 *
 * There are few of them, and no lock.  A thread claims a set for the moments in
 * which it works on it, and never while it sleeps: a sleeper holds nothing.  So
 * a signal handler may poll, leave by longjmp, or end the thread.  Whoever
 * finds the set it wants claimed does without.
 *
 * [c] belongs to whoever has claimed the set
 * [a] atomic
 */
#ifndef DROPIN_POOL_H
#define DROPIN_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "array.h"
#include "watch.h"

/* Memory of the program: as much of it from each of these addresses, which may be 0. */
struct extent {
	uintptr_t at[3];
	size_t size;
};

struct set {
	_Atomic int state;      /* [a] */
	_Atomic uintptr_t site; /* [a] who calls: an address in the program */
	_Atomic uintptr_t key;  /* [a] the array; for select one of its sets */
	_Atomic int sleepers;   /* [a] threads that sleep and will claim the set again */
	_Atomic uint32_t turn;  /* [a] counts the calls that changed what is requested */
	_Atomic int64_t used_ns; /* [a] last claim, or end of a sleep; coarse clock */

	struct watch watch;     /* [c], but for epoll_fd */
	struct array array;     /* [c] */
	struct memory selected; /* [c] struct selected of select.c */
	struct extent memory;   /* [c] what the kernel has checked in a real call */
	int64_t recheck_ns;     /* [c] when the next real call is due */
	int64_t worth;          /* [c] checks saved lately, less what the set costs; call.c */
	bool last_poll_empty;   /* [c] the last call that looked first found nothing */
	uint8_t sleeps_first;       /* [c] calls since then that began with the sleep */
};

/* Called once, at the start.  Returns false if every call has to pass through. */
bool pool_init(void);

/* Returns false if every call passes through. */
bool pool_is_running(void);

/*
 * Returns true in the process that called pool_init, and in a forked child that has started
 * again; false in a child of vfork, which has our memory but its own descriptors.
 */
bool pool_is_ours(void);

/*
 * The process has installed a seccomp filter: from now on every call passes through, also in
 * its children.
 */
void pool_sandboxed(void);

/* Claims a set with this site and key.  Returns NULL if there is none that is unclaimed. */
struct set *pool_find(uintptr_t site, uintptr_t key, int64_t now_ns);
/* Makes a set and claims it.  Returns NULL if there are enough, or no memory. */
struct set *pool_new(uintptr_t site, uintptr_t key, int64_t now_ns);

void pool_release(struct set *set);
/* Around a sleep, in which the set is not claimed. */
void pool_sleep(struct set *set);
void pool_awake(struct set *set);
/* Claims the set after a sleep.  Returns false if it is in use, or its turn is another. */
bool pool_reclaim(struct set *set, uint32_t turn);
/* Threads of this process have tables of descriptors of their own now: every call passes. */
void pool_part(void);
/* Gives up a claimed set. */
void pool_drop(struct set *set);

/* fd is about to be closed: removes it from the epoll instances of these sets. */
void pool_detach(int fd, uint64_t sets);
/* Returns true if fd is an epoll instance of ours, also after bare system calls. */
bool pool_keeps(int fd);
/* The program takes over this number of ours; the set that has it will be given up. */
void pool_lost(int number);

#endif
