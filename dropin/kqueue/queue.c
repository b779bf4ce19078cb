/* Makes and ends queues.  The memory of an ended one is reused, and never freed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kq.h"

static pool_list kq_pool;

/* Returns the memory of an ended queue, or new memory; NULL: none. */
static struct kq *kq_allocate(void)
{
	struct kq *kq = pool_take(&kq_pool);

	if (kq)
		return kq;
	kq = calloc(1, sizeof *kq);
	if (kq)
		pthread_mutex_init(&kq->extras_lock, NULL);
	return kq;
}

void kq_end(struct kq *kq)
{
	struct xpoll *queue = kq->queue;
	int saved = errno;

	kq_aio_detach_all(kq);
	kq->queue = NULL;
	xpoll_destroy(queue);
	kq_aio_complete_all(kq);
	kq_extras_free(kq);
	pool_give(&kq_pool, &kq->free);
	errno = saved;
}

/* Make the xpoll queue.  Returns 0; or -errno: then the caller destroys kq->queue, NULL or not. */
static int kq_open_xpoll(struct kq *kq)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	/*
	 * Use epoll: the descriptors that kqueue(2) returns are duplicates of the epoll instance's,
	 * and an entry in that instance identifies the queue of each duplicate (kq_mark).
	 */
	options.backend = "epoll";
	options.flags = XPOLL_ALL_READY | XPOLL_TELL_MODES | XPOLL_VNODE_AS_BSD;
	kq->descriptors = 0;
	kq->queue = xpoll_open(&options);
	if (!kq->queue)
		return -errno;
	kq->queue_fd = xpoll_fd(kq->queue);
	return kq->queue_fd < 0 ? -errno : 0;
}

int kq_begin(struct kq **begun)
{
	struct kq *kq = kq_allocate();
	int rc;

	if (!kq)
		return -ENOMEM;
	rc = kq_open_xpoll(kq);
	if (rc < 0) {
		xpoll_destroy(kq->queue);
		pool_give(&kq_pool, &kq->free);
		return rc;
	}
	atomic_store(&kq->refs, 1);
	*begun = kq;
	return 0;
}
