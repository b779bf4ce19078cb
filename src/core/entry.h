/*
 * The kernel's entries of a slot: the main entry, and solo entries, each for one filter.
 *
 * A queue is lazy if a change in the kernel costs a system call, as on epoll.  There the main entry
 * includes disabled filters, so that an ENABLE needs no change.  On the other back ends it has only
 * the enabled ones.
 *
 * Level or edge.  The main entry is edge-triggered if one of its filters has CLEAR or LOWAT, or, on
 * a lazy queue, is disabled when the entry is made or changed; otherwise level-triggered.  If the
 * kernel reports a level-triggered entry although no enabled filter is ready, the entry becomes
 * edge-triggered, so that the kernel does not repeat the report; the queue then checks filters by
 * poll(2) after each delivery.  If four such checks in a row find nothing, or a check finds
 * delivered filters still ready, the entry becomes level-triggered again, which saves the checks.
 *
 * One-shot.  The main entry is one-shot if each report disables or ends all of its filters
 * (DISPATCH, ONESHOT).  After its report a one-shot entry is silent: it reports nothing until it is
 * armed again.  With ONESHOT the entry is one-shot from the start, and the silent entry stays in
 * the kernel when the registration ends, so that the next ADD is one change.  With DISPATCH the
 * entry is level-triggered at first, because an ENABLE of such an entry costs no system call.  If
 * the kernel reports it while its filter is disabled and several threads use the queue, it becomes
 * one-shot, because a silent entry does not wake threads while another thread handles the
 * descriptor.
 *
 * Solo entries exist on lazy queues.  An epoll set has one entry for each descriptor, so solo
 * entries are in further epoll sets, one for each filter, inside the main set (posix/solo.h).  When
 * one bit of an entry has activity, or the entry is changed, the kernel reports all bits of the
 * entry that are set, but an edge must be delivered only once.  So if only one of two filters has
 * CLEAR, the one that is added later gets a solo entry.  If both have CLEAR, the later one gets a
 * solo entry in two cases.  First: the later one is disabled; its activity in a shared entry would
 * only repeat the other's edge.  Second: an edge of the other was delivered, or a sleeping thread
 * may be about to deliver one; adding the later one to the other's entry would repeat that edge.
 */
#ifndef XP_CORE_ENTRY_H
#define XP_CORE_ENTRY_H

#include <errno.h>

#include "core/marks.h"
#include "core/slot.h"

/* Returns the slot of a descriptor with registered filters, or NULL. */
struct xp_slot *xp_entry_find(const struct xpoll *queue, int fd);

/* Returns true if fd is a descriptor of the queue itself, which a program must not register. */
bool xp_queue_owns_fd(const struct xpoll *queue, int fd);

/*
 * Returns the filters that the main entry should have.  On epoll: all registered ones, except those
 * with a solo entry (an entry for one filter).  On other back ends: the enabled ones, with one
 * exception.  If the kernel clears the file's bits when it reports them (XP_KIND_CLEARED), a filter
 * is left out while its reported bits wait in slot->deferred for their delivery: until then the
 * kernel shall clear no more bits of the filter.
 */
static inline unsigned xp_entry_wanted(const struct xpoll *queue, const struct xp_slot *slot)
{
	return queue->lazy ? slot->present & ~(unsigned)slot->solo
		: slot->enabled & ~(slot->kind == XP_KIND_CLEARED ? slot->deferred_for : 0u);
}

/*
 * Returns true if a change of the main entry would report an edge again, of a filter other than
 * `filters`: an edge that was delivered, or that a sleeping thread may be about to deliver.
 */
static inline bool xp_change_repeats_edge(const struct xpoll *queue, const struct xp_slot *slot,
                                          unsigned filters)
{
	return (slot->edge_delivered || xp_has_sleepers(queue)) &&
		xp_entry_wanted(queue, slot) & slot->enabled & slot->clear & ~filters;
}

/* Returns how the main entry should be triggered now: XP_MODE_LEVEL or XP_MODE_EDGE. */
enum xp_mode xp_entry_wanted_mode(const struct xpoll *queue, const struct xp_slot *slot);

/*
 * Returns true if the main entry may be one-shot: a report disables or ends all of its filters,
 * none is exclusive or has a low-water mark, and the back end can arm the entry without the queue's
 * lock.
 */
bool xp_entry_may_report_once(const struct xpoll *queue, const struct xp_slot *slot);

/*
 * Returns true if the main entry is one-shot and has reported: the queue has to arm the entry
 * before the kernel reports it again.
 */
static inline bool xp_entry_is_silent(const struct xpoll *queue, const struct xp_slot *slot)
{
	return slot->mode == XP_MODE_ONCE && !(slot->armed & xp_entry_wanted(queue, slot));
}

/*
 * Returns true if the result of a change means that fd was closed, or refers to another file now.
 */
static inline bool xp_is_gone_error(int rc)
{
	return rc == -ENOENT || rc == -EBADF;
}

/* End the registrations of these filters in the slot; the kernel's entry stays as it is. */
void xp_slot_remove_filters(struct xpoll *queue, struct xp_slot *slot, unsigned filters);
/*
 * Empty the slot, because its descriptor was closed or refers to another file: end all
 * registrations without an error to the program.
 */
void xp_entry_drop(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * End all registrations and remove the kernel's entries.  silent: if the main entry is one-shot and
 * has reported, leave that entry in the kernel (slot->has_leftover_entry), which saves calls at the
 * next ADD.  Returns 0, or -EBADF or -ENOENT if fd was closed or reused before.
 */
int xp_entry_end(struct xpoll *queue, int fd, struct xp_slot *slot, bool silent);

/*
 * Add the main entry of a slot that has none to the kernel's set.  Returns 0 or a negative errno
 * value, such as -EPERM if the kernel cannot poll the file.
 */
int xp_entry_attach(struct xpoll *queue, int fd, struct xp_slot *slot);
/*
 * Change the main entry to this mode and these filters; if the slot has no main entry, call
 * xp_entry_attach instead.  The kernel then checks the state, and reports at least those filters of
 * `again` that are ready.  If the change fails with an xp_is_gone_error, the slot was dropped.
 */
int xp_entry_arm(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                 unsigned filters, unsigned again);
/* Like xp_entry_arm, with the mode and the filters that the main entry should have. */
int xp_entry_arm_wanted(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again);

/*
 * Change a main entry that is edge-triggered, or one-shot and silent (has reported), to this mode.
 * late: receives the change, and the caller makes it by xp_leave_late after the lock is released;
 * if `late` is NULL, or late->slot stays NULL, the change was made at once.
 */
int xp_entry_arm_late(struct xpoll *queue, int fd, struct xp_slot *slot, enum xp_mode mode,
                      struct xp_late *late);

/*
 * Check whether fd still refers to the registered file, or, if the back end cannot find out, only
 * that fd is open.  Returns 0, or an error for which xp_is_gone_error is true.  again: a back end
 * may verify by attaching the file once more, and thereby report these filters a second time.
 */
int xp_entry_verify(struct xpoll *queue, int fd, const struct xp_slot *slot, unsigned again);
/* Returns true if xp_entry_verify returns 0; otherwise ends all registrations of the slot. */
bool xp_entry_verify_or_drop(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned again);
/*
 * Returns which of the filters that an ADD names need solo entries, kernel entries of their own.
 * before: the filters that the main entry had before the ADD.
 */
unsigned xp_solo_wanted(const struct xpoll *queue, const struct xp_slot *slot, unsigned filters,
                        unsigned before);
/*
 * Remove the solo entries (kernel entries of their own) of these filters, if there are any.
 * Returns true if the kernel has removed one, which proves that fd refers to the registered file.
 */
bool xp_solo_end(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);
/*
 * Arm the solo entries of these filters, and make those that do not exist yet.  Returns 0 or
 * -errno.
 */
int xp_solo_arm(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

/*
 * Make the kernel check these filters, by a change of their entries, and report those that are
 * ready, so that it wakes a thread for them and no wait has to check them by poll(2).  Drops the
 * slot if the change shows that fd was closed or reused.
 */
void xp_entry_hand_to_kernel(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned filters);

/*
 * Called if the kernel has reported an entry of which no enabled filter is ready.  Changes the
 * entry now or after some such reports; otherwise the kernel would report it again and again
 * (level-triggered) or at each activity (edge-triggered).  part: the filters that the report was
 * for.  one: the array of the wait has one element.
 */
void xp_entry_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot, unsigned part, bool one);

#endif
