/*
 * Decides when a wait that has found ready descriptors by poll(2) calls the kernel as well.
 *
 * Most such waits return without a call into the kernel, which saves a system call for each event
 * of a program that toggles its interest.
 */
#ifndef XP_CORE_ASK_H
#define XP_CORE_ASK_H

#include "core/queue.h"
#include "sys/sys.h"

/*
 * The least number of reports to ask the kernel for in a wait that has events already.  With fewer,
 * descriptors that only the kernel reports would starve.  A report may find no room in the array:
 * then a later wait checks and delivers its slot without the kernel.  Usually XP_ASK_EVERY waits
 * pass until the kernel is called again, and each of them delivers at least one event.  Half as
 * many reports are asked for, so that these waits deliver all slots that found no room.  See the
 * row "It is asked for more" of docs/internals/mechanisms.md.
 */
enum { XP_ASK_REPORTS_LEAST = XP_ASK_EVERY / 2 };

/* Make the next wait call the kernel: something changed that only the kernel can report. */
static inline void xp_ask_soon(struct xpoll *queue)
{
	queue->ask.due = true;
}

/*
 * A wait had no room for an event of a report, because a report may lead to several events, one for
 * each filter: the next XP_RECENT_FOR calls into the kernel ask for half the usual number of
 * reports.
 */
static inline void xp_ask_half_room(struct xpoll *queue)
{
	queue->ask.half_room_calls = XP_RECENT_FOR;
}

/*
 * Count a call into the kernel.  Store in the wait two counts from before the call, by which an
 * outdated report is recognised: last_cutoff, which grows when filters of a slot are enabled (a
 * report about that slot from before is outdated), and how often the kernel's set was replaced (a
 * report from before is of the old set).
 */
static inline void xp_kernel_call_begin(struct xpoll *queue, struct xp_wait *wait)
{
	xp_count(&queue->counters.syscalls_wait);
	wait->cutoff_snapshot = queue->last_cutoff;
	wait->rebuilds_snapshot = (uint32_t)queue->stats.rebuilds;
}

/*
 * Returns the number of reports to ask the kernel for.  room: free records.  has_events: this wait
 * has delivered events already, so ask for at least XP_ASK_REPORTS_LEAST, even if there is room for
 * fewer: otherwise descriptors that only the kernel reports would starve.
 */
static inline int xp_ask_room(struct xpoll *queue, int room, bool has_events)
{
	queue->ask.skipped = 0;
	queue->ask.due = false;
	if (XP_UNLIKELY(queue->ask.half_room_calls)) {
		queue->ask.half_room_calls--;
		room = room > 1 ? room / 2 : 1;
	}
	return has_events && room < XP_ASK_REPORTS_LEAST ? XP_ASK_REPORTS_LEAST : room;
}

/*
 * Count a wait that has found events by poll(2).  Returns true if the wait has to call the kernel
 * as well.
 */
static inline bool xp_ask_is_due(struct xpoll *queue)
{
	if (queue->ask.due || queue->ask.always || ++queue->ask.skipped >= XP_ASK_EVERY)
		return true;
	/*
	 * The second wait in a row that skips the kernel reads the coarse clock, which ticks every
	 * few milliseconds.  A later wait calls the kernel if that clock has advanced since.
	 */
	if (queue->ask.skipped < 2)
		return false;
	if (queue->ask.skipped > 2)
		return xp_sys_now_coarse() != queue->ask.skipped_ns;
	queue->ask.skipped_ns = xp_sys_now_coarse();
	return false;
}

#endif
