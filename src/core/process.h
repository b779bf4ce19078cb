/* The list of the queues of this process. */
#ifndef XP_CORE_PROCESS_H
#define XP_CORE_PROCESS_H

#include "core/queue.h"

/* Enter a new queue into the list, and note its process. */
void xp_process_add(struct xpoll *queue);
void xp_process_remove(struct xpoll *queue);

/* Call a function on every queue of this process; queues cannot go away. */
void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd);

#endif
