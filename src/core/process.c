/*
 * The list of queues, and fork detection.
 *
 * A page that the kernel gives to forked children as zeros holds the number
 * of this process; a child finds 0 there and takes the next number.  Where
 * there is no such page pthread_atfork tells the child.  No lock is taken
 * around fork: a fork in a signal handler that interrupted a call of this
 * library would never return.
 */
#include "core/process.h"

#include <pthread.h>
#include <sched.h>

#include "base/assert.h"
#include "os/sys.h"

/* No process has this number; a child is about to take its own. */
#define CLAIMED UINT32_MAX

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t *page;     /* 0 in a child until it makes a queue */
static _Atomic uint32_t fallback;  /* stands for the page where there is none */
static uint32_t number;            /* of the last process in this line */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xp_list list;

static void forked(void)
{
	atomic_store_explicit(&fallback, 0, memory_order_relaxed);
}

static void process_init(void)
{
	page = xp_sys_wiped_page();
	if (!page) {
		page = &fallback;
		pthread_atfork(NULL, NULL, forked);
	}
	xp_list_init(&list);
	atomic_store_explicit(page, ++number, memory_order_relaxed);
}

uint32_t xp_process_current(void)
{
	return atomic_load_explicit(page, memory_order_relaxed);
}

/*
 * The first queue of a forked child: the parent's list, and perhaps its lock,
 * are none of ours.  One thread of the child does this, others wait for it.
 */
static void process_begin(void)
{
	uint32_t expected = 0;

	pthread_once(&once, process_init);
	if (atomic_compare_exchange_strong(page, &expected, CLAIMED)) {
		list_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		xp_list_init(&list);
		atomic_store(page, ++number);
	}
	while (atomic_load(page) == CLAIMED)
		sched_yield();
}

void xp_process_add(struct xpoll *queue)
{
	process_begin();
	pthread_mutex_lock(&list_lock);
	queue->process = xp_process_current();
	xp_list_append(&list, &queue->queues);
	pthread_mutex_unlock(&list_lock);
}

void xp_process_remove(struct xpoll *queue)
{
	pthread_mutex_lock(&list_lock);
	xp_list_remove(&queue->queues);
	pthread_mutex_unlock(&list_lock);
}

void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd)
{
	process_begin();
	pthread_mutex_lock(&list_lock);
	for (struct xp_list *item = list.next; item != &list; item = item->next)
		function(XP_CONTAINER_OF(item, struct xpoll, queues), fd);
	pthread_mutex_unlock(&list_lock);
}
