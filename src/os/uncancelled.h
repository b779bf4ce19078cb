/*
 * Around a call of the C library that is a cancellation point and must not be
 * one: with a lock held.  Errors as everywhere in os/.
 */
#ifndef XP_OS_UNCANCELLED_H
#define XP_OS_UNCANCELLED_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

struct xp_uncancelled {
	int state;
	int saved_errno;
};

static inline struct xp_uncancelled xp_uncancelled_begin(void)
{
	struct xp_uncancelled before = {.saved_errno = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.state);
	return before;
}

/* The call's result, or -errno. */
static inline int64_t xp_uncancelled_end(const struct xp_uncancelled *before,
                                         int64_t rc)
{
	int64_t result = rc < 0 ? -(int64_t)errno : rc;

	pthread_setcancelstate(before->state, NULL);
	errno = before->saved_errno;
	return result;
}

#endif
