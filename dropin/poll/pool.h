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
	_Atomic int sleepers;   /* [a] threads that will come back to it */
	_Atomic uint32_t turn;  /* [a] grows when what is wanted changes */
	_Atomic int64_t used_ns; /* [a] on the coarse clock */

	struct watch watch;     /* [c], but for epoll_fd */
	struct array array;     /* [c] */
	struct memory selected; /* [c] what select.c keeps */
	struct extent memory;   /* [c] what the kernel has checked in a real call */
	int64_t recheck_ns;     /* [c] when the next real call is due */
	int64_t worth;          /* [c] checks of descriptors that it has saved lately; call.c */
	bool slept;             /* [c] the last first look found nothing */
	uint8_t unlooked;       /* [c] calls since then that began with the sleep */
};

/* Called once, at the start.  False: nothing will be claimed. */
bool pool_init(void);

/* Returns false if every call passes through. */
bool pool_is_running(void);

/*
 * Is this process the one that pool_init saw, or a forked child that has
 * started again?  False in a child of vfork and in one that is just starting.
 */
bool pool_is_ours(void);

/*
 * The process has installed a seccomp filter: from now on every call passes through, also in
 * its children.
 */
void pool_sandboxed(void);

/* An unclaimed set with this site and key, claimed; or NULL. */
struct set *pool_find(uintptr_t site, uintptr_t key, int64_t now_ns);
/* A new one, claimed; NULL: there are enough, or there is no memory. */
struct set *pool_new(uintptr_t site, uintptr_t key, int64_t now_ns);

void pool_release(struct set *set);
/* Around a sleep, in which the set is not claimed. */
void pool_sleep(struct set *set);
void pool_awake(struct set *set);
/* Claim it once more after a sleep; false: it is not what it was. */
bool pool_reclaim(struct set *set, uint32_t turn);
/* From now on threads of this process have descriptors of their own: an end of it. */
void pool_part(void);
/* Give up a claimed set. */
void pool_drop(struct set *set);

/* Around closing: take fd out of the epoll instances of these sets. */
void pool_detach(int fd, uint64_t sets);
/* Is it one of ours, and has no bare system call made it the program's? */
bool pool_keeps(int fd);
/* This number, which was ours, is the program's from now on: its set is given up. */
void pool_lost(int number);

#endif
