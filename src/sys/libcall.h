/*
 * Around a call of the C library: the result is >= 0 or a negative errno value, and
 * errno stays as it was, as in all that makes system calls.
 */
#ifndef XP_SYS_LIBCALL_H
#define XP_SYS_LIBCALL_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#define XP_LIBCALL(call)                            \
	__extension__({                             \
		int xp_saved = errno;               \
		__typeof__(call) xp_rc = (call);    \
                                                    \
		if (xp_rc < 0) {                    \
			xp_rc = -errno;             \
			errno = xp_saved;           \
		}                                   \
		xp_rc;                              \
	})

/*
 * For a call that is a cancellation point and must not be one: with a lock held.  Some
 * systems have no such call, and in one file with all else it is then an unused function.
 */
struct xp_uncancelled {
	int state;
	int saved_errno;
};

__attribute__((unused)) static inline struct xp_uncancelled xp_uncancelled_begin(void)
{
	struct xp_uncancelled before = {.saved_errno = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.state);
	return before;
}

/* The call's result, or -errno. */
__attribute__((unused)) static inline int64_t xp_uncancelled_end(
	const struct xp_uncancelled *before, int64_t rc)
{
	int64_t result = rc < 0 ? -(int64_t)errno : rc;

	pthread_setcancelstate(before->state, NULL);
	errno = before->saved_errno;
	return result;
}

/* The same around one call of which this is the result. */
#define XP_UNCANCELLED(call)                                                \
	__extension__({                                                     \
		struct xp_uncancelled xp_before = xp_uncancelled_begin();   \
                                                                            \
		(int)xp_uncancelled_end(&xp_before, call);                  \
	})

#endif
