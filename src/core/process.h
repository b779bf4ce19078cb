/* The list of the queues that this process owns. */
#ifndef XP_CORE_PROCESS_H
#define XP_CORE_PROCESS_H

#include "core/queue.h"

/* Add the queue to the list, and make this process the owner of the queue. */
void xp_process_add(struct xpoll *queue);
/* Remove the queue from the list: xpoll_close_fd and xpoll_forget_fd do not find it any more. */
void xp_process_remove(struct xpoll *queue);
/* Undo xp_process_add in a forked child: `process`, the parent, owns the queue again. */
void xp_process_give_back(struct xpoll *queue, uint32_t process);

/* Returns true if this process owns the queue; false in a forked child. */
static inline bool xp_process_owns(const struct xpoll *queue)
{
	return queue->process == xp_process_current();
}

/*
 * Call a function for every queue of this process.  The list stays locked, so no queue is destroyed
 * meanwhile.
 */
void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd);

#endif
