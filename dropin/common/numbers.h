/*
 * A table with the state of each descriptor, for the kqueue and the epoll drop-in.  Both have
 * objects (kqueues, epoll instances) that the program reaches by descriptors.
 *
 * Every call and every close reads this table without a lock, so the members are atomic.
 * number_make allocates a page of the table for the descriptors of one range; a page is never
 * freed.
 */
#ifndef DROPIN_COMMON_NUMBERS_H
#define DROPIN_COMMON_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>

/* The state of one descriptor. */
struct number {
	/*
	 * The drop-in's object that fd refers to, for example a kqueue or an epoll instance; NULL:
	 * none.
	 */
	_Atomic(void *) object;
	atomic_bool may_be_registered; /* a kqueue or epoll instance may have registered fd */
	/* Only for the kqueue drop-in.  1: fd is a pipe; -1: fd is no pipe; 0: not known. */
	atomic_schar pipe_check_result;
};

/*
 * Returns the state of fd; NULL if no page was allocated for fd: then fd has no object and is not
 * registered.
 */
struct number *number_at(int fd);
/* Like number_at, but allocates the page if necessary; NULL: no memory, or fd is out of range. */
struct number *number_make(int fd);
/*
 * Set may_be_registered of fd, because an object is about to register fd.  From then on
 * number_needs_close_hook(fd) returns true, so that a close of fd ends the registration.
 */
void number_mark_registered(int fd);
/*
 * Returns true if the drop-in has to handle a close of fd, because fd has an object, or because an
 * object may have registered fd.
 */
bool number_needs_close_hook(int fd);
/* Returns a number that is larger than every descriptor that has a state. */
unsigned numbers_end(void);

#endif
