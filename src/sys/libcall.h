/*
 * Macros for calls of the C library inside system-call wrappers: the result is >= 0 or a negative
 * errno value, and errno is preserved.
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
 * State between xp_uncancelled_begin, which disables cancellation, and xp_uncancelled_end, which
 * restores cancellation and errno.  Call the two before and after a function that is a cancellation
 * point, if a lock is held.  Both have the attribute `unused`, because some files that include this
 * header call neither.
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

/*
 * End what xp_uncancelled_begin began: restore cancellation and errno.  rc: the result of the call
 * in between.  Returns rc, or -errno if rc is negative.
 */
__attribute__((unused)) static inline int64_t xp_uncancelled_end(
	const struct xp_uncancelled *before, int64_t rc)
{
	int64_t result = rc < 0 ? -(int64_t)errno : rc;

	pthread_setcancelstate(before->state, NULL);
	errno = before->saved_errno;
	return result;
}

/*
 * Evaluates one call with cancellation disabled; the value is its result or a negative errno value.
 */
#define XP_UNCANCELLED(call)                                                \
	__extension__({                                                     \
		struct xp_uncancelled xp_before = xp_uncancelled_begin();   \
                                                                            \
		(int)xp_uncancelled_end(&xp_before, call);                  \
	})

#endif
