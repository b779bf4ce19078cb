/* kqueue, kqueue1, kqueuex: making a queue; and its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "kq.h"

static struct {
	pthread_mutex_t lock;
	struct kq *free; /* linked by next */
} kq_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct kq *kq_take(void)
{
	struct kq *kq;

	pthread_mutex_lock(&kq_pool.lock);
	kq = kq_pool.free;
	if (kq)
		kq_pool.free = kq->next;
	pthread_mutex_unlock(&kq_pool.lock);
	if (kq)
		return kq;
	kq = calloc(1, sizeof *kq);
	if (kq)
		pthread_mutex_init(&kq->extras, NULL);
	return kq;
}

static void kq_give(struct kq *kq)
{
	pthread_mutex_lock(&kq_pool.lock);
	kq->next = kq_pool.free;
	kq_pool.free = kq;
	pthread_mutex_unlock(&kq_pool.lock);
}

void kq_end(struct kq *kq)
{
	struct xpoll *queue = kq->queue;
	int saved = errno;

	kq_aio_end_begin(kq);
	kq->queue = NULL;
	xpoll_destroy(queue);
	kq_aio_end(kq);
	kq_special_free(kq);
	kq_give(kq);
	errno = saved;
}

static int kq_make(struct kq *kq)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.backend = "epoll"; /* The one with a descriptor. */
	options.flags = XPOLL_TELL_MODES | XPOLL_VNODE_AS_BSD;
	kq->numbers = 0;
	kq->queue = xpoll_open(&options);
	if (!kq->queue)
		return -errno;
	kq->watch_fd = xpoll_fd(kq->queue);
	return kq->watch_fd < 0 ? -errno : 0;
}

static int kq_open(void)
{
	struct kq *kq = kq_take();
	int rc;

	if (!kq)
		return -ENOMEM;
	rc = kq_make(kq);
	if (rc == 0) {
		atomic_store(&kq->refs, 1);
		rc = kq_publish(kq);
	}
	if (rc < 0) {
		atomic_store(&kq->refs, 0);
		xpoll_destroy(kq->queue);
		kq_give(kq);
	}
	return rc;
}

static int kq_result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

KQ_EXPORT const char *kqueue_version(void)
{
	return "xpoll-kqueue " KQ_VERSION;
}

KQ_EXPORT int kqueue(void)
{
	return kq_result(kq_open());
}

/* Close-on-exec they all are: a program that is executed has no queue. */
KQ_EXPORT int kqueue1(int flags)
{
	return kq_result(flags & ~O_CLOEXEC ? -EINVAL : kq_open());
}

KQ_EXPORT int kqueuex(unsigned int flags)
{
	return kq_result(flags & ~(unsigned)KQUEUE_CLOEXEC ? -EINVAL
	                                                    : kq_open());
}
