/*
 * The state of each descriptor, for the drop-ins whose objects are descriptors.
 *
 * Every call and every close reads this table without a lock.  A page is allocated at the first use
 * of one of its descriptors, and is never freed.
 */
#ifndef DROPIN_COMMON_NUMBERS_H
#define DROPIN_COMMON_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>

struct number {
	_Atomic(void *) object; /* [a] the drop-in's object that fd refers to; NULL: none */
	atomic_bool watched;    /* [a] some object may have a registration of fd */
	atomic_schar kind;      /* [a] the kind of file, as the drop-in defines it; 0: unknown */
};

/* Returns the state of fd, or NULL if number_make was never called for its page. */
struct number *number_at(int fd);
/* Like number_at, but allocates the page; NULL: no memory, or fd is out of range. */
struct number *number_make(int fd);
/* Record that some object is about to register fd, so that the close of fd is handled. */
void number_watch(int fd);
/* Returns true if fd has an object, or if some object may have a registration of fd. */
bool number_concerns(int fd);
/* Returns a bound: every descriptor that was ever recorded is below it. */
unsigned numbers_end(void);

#endif
