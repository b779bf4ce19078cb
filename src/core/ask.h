/*
 * Whether the kernel is asked though events are at hand.
 *
 * A wait whose candidates are ready asks the kernel as well only now and then, which saves a
 * system call for each event of a program that toggles its interest.
 */
#ifndef XP_CORE_ASK_H
#define XP_CORE_ASK_H

#include "core/queue.h"
#include "sys/sys.h"

/* The least number of entries to ask for beside events at hand: "It is asked for more". */
enum { XP_ASK_BESIDE = 64 };

/* The next wait asks the kernel: something changed that only the kernel knows of. */
static inline void xp_ask_soon(struct xpoll *queue)
{
	queue->ask.due = true;
}

/* An event of a report found no room. */
static inline void xp_ask_crowded(struct xpoll *queue)
{
	queue->ask.crowded = XP_RECENT_FOR;
}

/* The kernel is asked now. */
static inline void xp_ask_begins(struct xpoll *queue, struct xp_wait *wait)
{
	xp_count(&queue->counters.syscalls_wait);
	wait->sequence = queue->sequence;
	wait->set = (uint32_t)queue->counters.rebuilds;
}

/*
 * Returns the number of entries to ask the kernel for.  room: records that are free; at_hand: this
 * wait has events already.  Beside these it is asked for more than there is room for, or
 * descriptors that only the kernel knows of would starve.  What finds no room becomes a candidate.
 */
static inline int xp_ask_room(struct xpoll *queue, int room, bool at_hand)
{
	queue->ask.skipped = 0;
	queue->ask.due = false;
	if (XP_UNLIKELY(queue->ask.crowded)) {
		queue->ask.crowded--;
		room = room > 1 ? room / 2 : 1;
	}
	return at_hand && room < XP_ASK_BESIDE ? XP_ASK_BESIDE : room;
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
