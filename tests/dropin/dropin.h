/*
 * Shared by the tests of the drop-in: an array of descriptors that has been polled so often that
 * the kernel watches it for the drop-in.
 */
#ifndef DROPIN_TEST_H
#define DROPIN_TEST_H

#include "xt.h"

#ifndef __GLIBC__ /* The drop-in has them in any case. */
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
#endif

/* The drop-in's own counter: the system calls of all calls that did not pass through. */
uint64_t xpoll_poll_syscalls(void);

#define CROWD 40 /* entries */

struct crowd {
	struct pollfd fds[CROWD];
	struct xt_pair pipes[CROWD];
};

/*
 * poll(2) of the array.  Always by this: to the drop-in a call from another place
 * in the program is one of another array, which it does not know yet.
 */
int crowd_poll(struct crowd *crowd, int timeout_ms);

/* CROWD pipes with nothing in them, wanted for POLLIN; polled, so cold. */
void crowd_open(struct crowd *crowd);
void crowd_settle(struct crowd *crowd);

/* All of it, for select(2). */
fd_set crowd_set(const struct crowd *crowd);

/* poll(2) now; the index of the one entry that is ready, -1: none, -2: more. */
int crowd_ready(struct crowd *crowd);

/* The number of an epoll instance that the drop-in has made, or -1. */
int find_own(void);

/* A pipe with a byte in it takes exactly this number, by dup2 or by luck. */
void crowd_reopen(int number);

#endif
