/* kqueue, kqueue1 and kqueuex: make a queue with a descriptor. */
#include <errno.h>
#include <fcntl.h>

#include "kq.h"

/* Make a queue.  Returns its descriptor or a negative errno value. */
static int kq_new_fd(void)
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
	return xp_public_result(kq_new_fd());
}

/*
 * The flag O_CLOEXEC is accepted and changes nothing: descriptors of queues are always
 * close-on-exec.
 */
EXPORT int kqueue1(int flags)
{
	return xp_public_result(flags & ~O_CLOEXEC ? -EINVAL : kq_new_fd());
}

EXPORT int kqueuex(unsigned int flags)
{
	return xp_public_result(flags & ~(unsigned)KQUEUE_CLOEXEC ? -EINVAL
	                                                    : kq_new_fd());
}
