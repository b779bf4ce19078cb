/* The event level's changes, for both of its calls. */
#ifndef XP_CORE_EVENT_H
#define XP_CORE_EVENT_H

#include "core/queue.h"

/*
 * Enter the queue and apply the changes.  0: without anything to report, and
 * the caller is inside; else outside: statuses in events, or a negative errno.
 */
int xp_event_begin(struct xpoll *queue, const struct xpoll_event *changes,
                   int nchanges, struct xpoll_event *events, int nevents);

#endif
