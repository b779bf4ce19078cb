/* The list of the queues of this process. */
#ifndef XP_CORE_PROCESS_H
#define XP_CORE_PROCESS_H

#include "core/queue.h"

/* Add a queue to the list, and make this process its owner. */
void xp_process_add(struct xpoll *queue);
void xp_process_remove(struct xpoll *queue);
/* Undo xp_process_add in a forked child: `process`, the parent, owns the queue again. */
void xp_process_give_back(struct xpoll *queue, uint32_t process);

/* Returns true if this process owns the queue; false in a forked child. */
static inline bool xp_process_owns(const struct xpoll *queue)
{
	return queue->process == xp_process_current();
}

/*
 * Call a function for every queue of this process.  The list stays locked, so none is destroyed
 * meanwhile.
 */
void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd);

#endif
