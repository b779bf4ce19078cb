/* kqueue, kqueue1, kqueuex: a new queue under a number of its own. */
#include <errno.h>
#include <fcntl.h>

#include "kq.h"

static int kq_open(void)
{
	struct kq *kq;
	int rc = kq_begin(&kq);

	if (rc < 0)
		return rc;
	rc = kq_publish(kq);
	if (rc < 0)
		kq_drop(kq);
	return rc;
}

EXPORT const char *kqueue_version(void)
{
	return "xpoll-kqueue " KQ_VERSION;
}

EXPORT int kqueue(void)
{
	return xp_result(kq_open());
}

/* Close-on-exec they all are: a program that is executed has no queue. */
EXPORT int kqueue1(int flags)
{
	return xp_result(flags & ~O_CLOEXEC ? -EINVAL : kq_open());
}

EXPORT int kqueuex(unsigned int flags)
{
	return xp_result(flags & ~(unsigned)KQUEUE_CLOEXEC ? -EINVAL
	                                                    : kq_open());
}
