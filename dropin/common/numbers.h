/*
 * The state of each descriptor number, for the drop-ins whose objects are descriptors.
 *
 * Every call and every close reads this table without a lock.  A page is allocated when one of
 * its numbers is first used, and is never freed.
 */
#ifndef DROPIN_COMMON_NUMBERS_H
#define DROPIN_COMMON_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>

struct number {
	_Atomic(void *) object; /* [a] the drop-in's object behind the number; NULL: none */
	atomic_bool watched;    /* [a] some object may have a registration of the number */
	atomic_schar kind;      /* [a] for the drop-in: what kind of file it is; 0: not known */
};

/* Returns the state of fd, or NULL if number_make was never called for its page. */
struct number *number_at(int fd);
/* Like number_at, but allocates the page; NULL: no memory, or fd is out of range. */
struct number *number_make(int fd);
/* Record that some object is about to register fd, so that the close of fd is handled. */
void number_watch(int fd);
/* Returns true if fd has an object, or if some object may have a registration of fd. */
bool number_concerns(int fd);
/* All numbers that were ever recorded are below this one. */
unsigned numbers_end(void);

#endif
