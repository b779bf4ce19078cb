/*
 * A table with the state of each descriptor, for the kqueue and the epoll drop-in.  Both have
 * objects (kqueues, epoll instances) that the program reaches by descriptors.
 *
 * Every call and every close reads this table without a lock.  A page of it is allocated when
 * number_make is called for one of its descriptors, and is never freed.  [a] atomic
 */
#ifndef DROPIN_COMMON_NUMBERS_H
#define DROPIN_COMMON_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>

/* The state of one descriptor. */
struct number {
	/* [a] kqueue or epoll instance that fd refers to; NULL: neither */
	_Atomic(void *) object;
	atomic_bool may_be_registered; /* [a] an object may have a registration of fd */
	/* [a] for kqueue: 1: fd is a pipe; -1: fd is none; 0: unknown */
	atomic_schar pipe_check_result;
};

/* Returns the state of fd, or NULL if its page is not allocated: nothing is known of fd. */
struct number *number_at(int fd);
/* Like number_at, but allocates the page; NULL: no memory, or fd is out of range. */
struct number *number_make(int fd);
/* Set may_be_registered: an object is about to register fd, so its close has to be handled. */
void number_mark_registered(int fd);
/* Returns true if fd has an object or may be registered, so that its close has to be handled. */
bool number_needs_close_hook(int fd);
/* Returns a number that is above every descriptor with a state. */
unsigned numbers_end(void);

#endif
