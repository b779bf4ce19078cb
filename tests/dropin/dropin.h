/*
 * For the tests of the drop-in for poll(2): an array of descriptors that has
 * been polled so often that the kernel watches it for the drop-in.
 */
#ifndef DROPIN_TEST_H
#define DROPIN_TEST_H

#include "xt.h"

#ifndef __GLIBC__ /* other C libraries declare these in any case */
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
#endif

/*
 * The drop-in's own counter: the number of its system calls in calls that it has served without the
 * C library.
 */
uint64_t xpoll_poll_syscalls(void);

#define CROWD 40 /* number of entries */

struct crowd {
	struct pollfd fds[CROWD];
	struct xt_pair pipes[CROWD];
};

/*
 * poll(2) of the array.  All tests call it by this function, because the drop-in tells arrays apart
 * by the place of the call in the program.
 */
int crowd_poll(struct crowd *crowd, int timeout_ms);

/*
 * Open CROWD pipes without data, request POLLIN, and poll them until the kernel watches all of them
 * ("cold").
 */
void crowd_open(struct crowd *crowd);
void crowd_settle(struct crowd *crowd);

/* Returns the descriptors of the array as a set for select(2). */
fd_set crowd_set(const struct crowd *crowd);

/*
 * Call poll(2) with timeout 0.  Returns the index of the only ready entry; -1: none, -2: more than
 * one.
 */
int crowd_ready(struct crowd *crowd);

/* Returns the descriptor of an epoll instance that the drop-in has opened; -1: none. */
int find_own(void);

/*
 * Make this descriptor refer to a pipe with a byte in it, by dup2, unless the pipe got that number
 * already.
 */
void crowd_reopen(int number);

#endif
