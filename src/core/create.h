/* The list of the queues that this process owns. */
#ifndef XP_CORE_CREATE_H
#define XP_CORE_CREATE_H

#include "core/queue.h"

/*
 * Call function(queue, fd) for every queue of this process.  The list stays locked, so no queue is
 * destroyed meanwhile.
 */
void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd);

#endif
