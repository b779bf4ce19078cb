/*
 * aio_suspend(3), and functions that block signals for kevent(2), too.
 *
 * Both calls may sleep several times.  A signal between two sleeps would interrupt neither, and the
 * call would continue.  So signals are blocked during the whole call, except in the sleeps, which
 * apply the program's mask.
 */
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "common/time.h"
#include "kq.h"

enum { KQ_SUSPEND_NS = 1000000 /* time between two checks of the requests */ };

void kq_signals_block(sigset_t *mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, mask);
}

void kq_signals_restore(void *mask)
{
	int saved = errno;

	pthread_sigmask(SIG_SETMASK, mask, NULL);
	errno = saved;
}

/*
 * Wait until one of the requests has completed, by a check every KQ_SUSPEND_NS, because a
 * completion does not wake this thread.  The sleeps apply `mask`.  Returns 0 or a positive errno
 * value: EAGAIN if the timeout has passed, mostly EINTR otherwise.
 */
static int kq_aio_wait(const struct aiocb *const controls[], int count,
                       int64_t left_ns, const sigset_t *mask)
{
	const struct timespec pause = {0, KQ_SUSPEND_NS};

	for (;; left_ns -= KQ_SUSPEND_NS) {
		for (int i = 0; i < count; i++)
			if (controls[i] && aio_error(controls[i]) != EINPROGRESS)
				return 0;
		if (left_ns <= 0)
			return EAGAIN;
		if (ppoll(NULL, 0, &pause, mask) < 0)
			return errno;
	}
}

EXPORT int aio_suspend(const struct aiocb *const controls[], int count,
                          const struct timespec *timeout)
{
	int64_t left_ns = timeout ? timeout_ns(timeout) : XP_NEVER;
	bool ours = false;
	sigset_t mask;
	int rc;

	for (int i = 0; i < count; i++)
		ours |= controls[i] && kq_aio_error(controls[i]) <= 0;
	if (!ours && kq_real.aio_suspend)
		return kq_real.aio_suspend(controls, count, timeout);
	if (!ours)
		return xp_public_result(-ENOSYS);
	kq_signals_block(&mask);
	pthread_cleanup_push(kq_signals_restore, &mask);
	rc = kq_aio_wait(controls, count, left_ns, &mask);
	pthread_cleanup_pop(1);
	return xp_public_result(-rc);
}

#ifdef __GLIBC__
EXPORT int aio_suspend64(const struct aiocb64 *const controls[], int count,
                            const struct timespec *timeout)
{
	return aio_suspend((const struct aiocb *const *)(const void *)controls, count,
	                   timeout);
}
#endif
