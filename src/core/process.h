/* The list of the queues of this process. */
#ifndef XP_CORE_PROCESS_H
#define XP_CORE_PROCESS_H

#include "core/queue.h"

/* Enter a new queue into the list, and note its process. */
void xp_process_add(struct xpoll *queue);
void xp_process_remove(struct xpoll *queue);
/* Undo xp_process_add: `process`, the parent, owns the queue again. */
void xp_process_give_back(struct xpoll *queue, uint32_t process);

/* Returns true if the queue is of this process, and not of the parent. */
static inline bool xp_process_owns(const struct xpoll *queue)
{
	return queue->process == xp_process_current();
}

/* Call a function on every queue of this process; queues cannot go away. */
void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd);

#endif
