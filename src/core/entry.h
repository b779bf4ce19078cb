/*
 * The kernel's entries of a slot.
 *
 * The main entry is level-triggered unless a filter of it has CLEAR or LOWAT, or, on a lazy
 * queue, is disabled when the entry is made or changed.  A report of filters that are all
 * disabled makes it edge-triggered, so that it is silent.  Four checks in a row that find nothing
 * make it level-triggered again, and so does one that finds what was delivered still ready.
 *
 * The main entry reports once if each report disables or ends all of its filters (DISPATCH,
 * ONESHOT).  With ONESHOT it does from the start, and the silent entry stays in the kernel
 * when the registration ends, so that the next ADD is one change.  With DISPATCH it is
 * level-triggered until a report comes while its filter is disabled and several threads use the
 * queue: an ENABLE of a level-triggered entry costs no system call, but one that reports
 * once does not wake threads while another one has the descriptor.
 *
 * A queue is lazy if a change in the kernel costs a system call, as on epoll.  Then the
 * main entry keeps disabled filters.  On the other back ends it has those that are enabled.
 *
 * Solo filters, of lazy queues: the kernel reports an entry as a whole when one of its bits
 * has activity, or when it is changed, but an edge has to be reported once.  So a filter
 * with CLEAR does not share an entry with a level filter, nor with an edge that was
 * reported, nor while it is disabled: the later one has an entry of its own.
 */
#ifndef XP_CORE_ENTRY_H
#define XP_CORE_ENTRY_H

#include <errno.h>

#include "core/marks.h"
#include "core/slot.h"

/* The slot of a descriptor of which something is registered, or NULL. */
struct xp_slot *xp_entry_find(const struct xpoll *queue, int fd);

/* Returns true for descriptors of the queue itself. */
bool xp_entry_owns(const struct xpoll *queue, int fd);

/* The filters of the main entry, if it is as it should be. */
static inline unsigned xp_entry_main(const struct xpoll *queue, const struct xp_slot *slot)
{
	return queue->lazy ? slot->present & ~(unsigned)slot->solo : slot->enabled;
}

/*
 * A change of the main entry would report an edge, of other filters than these, once more:
 * it was delivered, or a thread that sleeps may have its report.
 */
static inline bool xp_entry_is_held(const struct xpoll *queue, const struct xp_slot *slot,
                                    unsigned filters)
{
	return (slot->spent || xp_has_sleepers(queue)) &&
		xp_entry_main(queue, slot) & slot->enabled & slot->clear & ~filters;
}

/* How the main entry should be triggered. */
enum xp_mode xp_entry_mode(const struct xpoll *queue, const struct xp_slot *slot);

/*
 * Returns true if the main entry may be one-shot: each report disables or ends all of its
 * filters, none is exclusive or has a low-water mark, and the back end can arm it unlocked.
 */
bool xp_entry_may_report_once(const struct xpoll *queue, const struct xp_slot *slot);

/* Returns true if the main entry has reported, and does not report before it is armed. */
static inline bool xp_entry_is_silent(const struct xpoll *queue, const struct xp_slot *slot)
{
	return slot->mode == XP_MODE_ONCE && !(slot->armed & xp_entry_main(queue, slot));
}

/* Returns true if such a result says that fd is closed, or another file by now. */
static inline bool xp_is_gone(int rc)
{
	return rc == -ENOENT || rc == -EBADF;
}

/* The registrations of these filters end, without a system call. */
void xp_entry_remove(struct xpoll *queue, struct xp_slot *slot, unsigned filters);
/* All registrations end: the descriptor is closed, or another file. */
void xp_entry_drop(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * End all registrations, and remove the kernel's entries.  silent: leave a main entry that is
 * silent in the kernel (slot->leftover).  -ENOENT, -EBADF: the file was closed before.
 */
int xp_entry_end(struct xpoll *queue, int fd, struct xp_slot *slot, bool silent);

/* Make the main entry of a slot that has none. */
int xp_entry_attach(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * Change the main entry.  The kernel checks the state, and reports what is ready of the
 * filters `again`.  If the descriptor is another file the slot is dropped: see xp_is_gone.
 */
int xp_entry_arm(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                 unsigned filters, unsigned again);
/* The same to what it should be. */
int xp_entry_arm_main(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again);

struct xp_late;
/*
 * Arm a silent main entry, or make an edge-triggered one report once.  late: gets the change,
 * which xp_leave_late makes without the lock; NULL, or nothing is left there: made at once.
 */
int xp_entry_arm_late(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                      struct xp_late *late);

/* 0 if fd is still the file that was registered; else a result that xp_is_gone knows. */
int xp_entry_same(struct xpoll *queue, int fd, const struct xp_slot *slot, unsigned again);
/* The same; otherwise the slot is dropped. */
bool xp_entry_same_or_drop(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again);
/*
 * Returns true if the slot may be used: at each 64th report the kernel is asked whether fd is the
 * same file, because nothing else shows a close while a duplicate is open.  False: it is dropped.
 */
static inline bool xp_entry_confirmed(struct xpoll *queue, int fd, struct xp_slot *slot)
{
	return XP_LIKELY(++slot->reports != 0 || !queue->lazy) ||
		xp_entry_same_or_drop(queue, fd, slot, 0);
}

/*
 * Returns the filters, of those that are being added, that cannot be in the main entry.
 * before: the filters that were there.
 */
unsigned xp_solo_wanted(const struct xpoll *queue, const struct xp_slot *slot, unsigned filters,
                        unsigned before);
/* The entries of these solo filters end. */
void xp_solo_end(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);
/* Have the kernel report these filters, which have, or get, entries of their own. */
int xp_solo_arm(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

/*
 * Have these filters reported by the kernel, instead of checking them.  The slot may be
 * dropped.
 */
void xp_entry_publish(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

/*
 * The kernel has made a report that nobody wants.  A level-triggered entry would repeat it
 * for ever, and an edge-triggered one makes one for each activity, until the mask excludes
 * it.  about: the filters of the entry.
 */
void xp_entry_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned about);

#endif
