/*
 * What an event says beyond that the descriptor is ready, if its registration
 * asks for it: XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR.  It costs system calls,
 * and SO_ERROR is cleared by reading it.
 *
 * Counts are asked for when the wait is over, by the function that the program
 * has called: os/sys_hot.h says what each function between it and a system
 * call costs.  Until then the event's fflags say what is to be counted.
 */
#ifndef XP_CORE_EVENT_COUNT_H
#define XP_CORE_EVENT_COUNT_H

#include "base/assert.h"
#include "core/queue.h"
#include "os/fdkind.h"
#include "os/fdnum.h"
#include "os/sys_hot.h"

/* In fflags: no bit that READ or WRITE can report, and what is known. */
#define XP_COUNT_PENDING    0x80000000u
#define XP_COUNT_KIND(note) ((enum xp_fd_kind)((note) & 15))
/* Of a pipe, in bytes; 0: it is not known. */
#define XP_COUNT_SIZE(note) ((INT64_C(1) << ((note) >> 4 & 31)) & ~INT64_C(1))

/* Waits after which the size of pipes is asked for once more. */
enum { XP_SIZE_EVERY = 64 };

/*
 * The last event of the wait's array is of a filter that asks for its count,
 * and all that is needed for it is known; false: it may be otherwise.
 */
static XP_INLINE bool xp_event_count_usual(struct xp_wait *wait,
                                           const struct xp_slot *slot,
                                           unsigned filter)
{
	unsigned kind = slot->kind;
	bool sized = slot->count.size && wait->wait_epoch % XP_SIZE_EVERY;

	if (slot->count.soerr || slot->mode == XP_MODE_UNPOLLABLE ||
	    (kind != XP_KIND_SOCKET && kind != XP_KIND_FIFO) ||
	    (kind == XP_KIND_FIFO && filter == XP_WRITE && !sized))
		return false;
	wait->events[wait->len - 1].fflags =
		XP_COUNT_PENDING | kind | (unsigned)slot->count.size << 4;
	wait->counts = wait->len;
	return true;
}

/* ORed to the bits of a listener of TCP's that was shut down. */
#define XP_EVENT_ABORTED 0x40000u

/* The same in all other cases, and the error. */
void xp_event_count(struct xpoll *queue, struct xp_wait *wait, int fd,
                    struct xp_slot *slot, unsigned filter, uint32_t events);

/* The usual calls did not say: ask others; 1: not known. */
int64_t xp_event_count_unusual(const struct xpoll_event *event,
                               enum xp_fd_kind kind, int64_t unread);

/* Ask for the count that is pending. */
static XP_INLINE void xp_event_count_ask(struct xpoll *queue,
                                         struct xpoll_event *event)
{
	enum xp_fd_kind kind = XP_COUNT_KIND(event->fflags);
	bool reads = event->filter == XPOLL_FILT_READ;
	int fd = xp_fd_number(event->ident);
	int64_t unread = -1, count;

	XP_ASSERT(event->fflags & XP_COUNT_PENDING);
	xp_count(&queue->counters.syscalls_check);
	if (reads || kind == XP_KIND_FIFO)
		unread = xp_sys_unread_hot(fd);
	count = reads ? unread : XP_COUNT_SIZE(event->fflags) - unread;
	if (XP_UNLIKELY(count <= 0 || unread < 0))
		count = xp_event_count_unusual(event, kind, unread);
	event->fflags = 0;
	event->data = count;
}

/* Before the lock is released: all of them. */
static XP_INLINE void xp_event_count_finish(struct xpoll *queue,
                                            const struct xp_wait *wait)
{
	for (int i = 0; XP_UNLIKELY(i < wait->counts); i++) {
		struct xpoll_event *event = &wait->events[i];

		if ((event->filter == XPOLL_FILT_READ ||
		     event->filter == XPOLL_FILT_WRITE) &&
		    event->fflags & XP_COUNT_PENDING)
			xp_event_count_ask(queue, event);
	}
}

#endif
