/*
 * When a wait that has found ready candidates calls the kernel as well.
 *
 * Most such waits return without a call into the kernel, which saves a system call for each event
 * of a program that toggles its interest.
 */
#ifndef XP_CORE_ASK_H
#define XP_CORE_ASK_H

#include "core/queue.h"
#include "sys/sys.h"

/*
 * The least number of reports to ask for in a wait that has events already: "It is asked for more".
 */
enum { XP_ASK_LEAST = 64 };

/* Make the next wait call the kernel: something changed that only the kernel can report. */
static inline void xp_ask_soon(struct xpoll *queue)
{
	queue->ask.due = true;
}

/* An event of a report found no room: the next harvests ask for half as many reports. */
static inline void xp_ask_crowded(struct xpoll *queue)
{
	queue->ask.crowded = XP_RECENT_FOR;
}

/* Count a call into the kernel, and record what its reports are compared with. */
static inline void xp_ask_begins(struct xpoll *queue, struct xp_wait *wait)
{
	xp_count(&queue->counters.syscalls_wait);
	wait->sequence = queue->sequence;
	wait->set = (uint32_t)queue->counters.rebuilds;
}

/*
 * Returns the number of reports to ask the kernel for.  room: free records; has_events: this wait
 * has delivered events already.  In that case ask for at least XP_ASK_LEAST, or descriptors that
 * only the kernel reports would starve; a report that finds no room becomes a candidate.
 */
static inline int xp_ask_room(struct xpoll *queue, int room, bool has_events)
{
	queue->ask.skipped = 0;
	queue->ask.due = false;
	if (XP_UNLIKELY(queue->ask.crowded)) {
		queue->ask.crowded--;
		room = room > 1 ? room / 2 : 1;
	}
	return has_events && room < XP_ASK_LEAST ? XP_ASK_LEAST : room;
}

/* Count a wait that has found candidates: returns true if it has to ask the kernel as well. */
static inline bool xp_ask_count(struct xpoll *queue)
{
	if (queue->ask.due || queue->ask.always || ++queue->ask.skipped >= XP_ASK_EVERY)
		return true;
	/* A clock tick is a few milliseconds; the first skipped wait is not timed. */
	if (queue->ask.skipped < 2)
		return false;
	if (queue->ask.skipped > 2)
		return xp_sys_now_coarse() != queue->ask.skipped_ns;
	queue->ask.skipped_ns = xp_sys_now_coarse();
	return false;
}

#endif
