/*
 * The state of a number.  Every kevent and every close reads it without a lock.
 */
#ifndef KQ_NUMBERS_H
#define KQ_NUMBERS_H

#include <stdatomic.h>

#include "kq.h"

struct kq_number {
	_Atomic(struct kq *) kq; /* [a]; written under the lock of the table */
	atomic_bool watched;     /* [a] some queue may have a registration */
	atomic_schar pipe;       /* [a] 1: it is one, -1: not; 0: not known */
};

/* NULL: it has never mattered. */
struct kq_number *kq_number_at(int fd);
/* The same, made if need be; NULL: no memory, or no such number. */
struct kq_number *kq_number_make(int fd);

#endif
