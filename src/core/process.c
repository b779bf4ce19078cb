/* The list of the queues of this process; a forked child begins with an empty list. */
#include "core/process.h"

#include <pthread.h>

#include "base/assert.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xp_list queues;

/*
 * Called once in each process, also a forked child, where list and lock are copies of the parent's:
 * starts with an empty list, and lets each source begin.
 */
static void list_begin(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	list_lock = unlocked;
	xp_list_init(&queues);
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->process)
			xp_sources[i]->process->begin();
}

void xp_process_add(struct xpoll *queue)
{
	xp_process_begin(list_begin);
	pthread_mutex_lock(&list_lock);
	queue->process = xp_process_current();
	xp_list_append(&queues, &queue->queues);
	pthread_mutex_unlock(&list_lock);
}

void xp_process_remove(struct xpoll *queue)
{
	XP_ASSERT(xp_process_owns(queue));
	pthread_mutex_lock(&list_lock);
	xp_list_remove(&queue->queues);
	pthread_mutex_unlock(&list_lock);
}

void xp_process_give_back(struct xpoll *queue, uint32_t process)
{
	xp_process_remove(queue);
	queue->process = process;
}

void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd)
{
	XP_ASSERT(fd >= 0);
	xp_process_begin(list_begin);
	pthread_mutex_lock(&list_lock);
	for (struct xp_list *item = queues.next; item != &queues; item = item->next)
		function(XP_CONTAINER_OF(item, struct xpoll, queues), fd);
	pthread_mutex_unlock(&list_lock);
}
