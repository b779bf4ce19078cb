/*
 * Interest: which filters of a descriptor are wanted, and how the kernel is
 * made to report them with as few system calls as the contract allows.
 * docs/internals/protocol.md tells the rules; here are the moves.
 *
 * All with the queue's lock held.  Results are 0 or a negative errno value.
 */
#ifndef XP_CORE_INTEREST_H
#define XP_CORE_INTEREST_H

#include "core/candidate.h"
#include "core/queue.h"
#include "core/solo.h"

/* What an ADD asks for. */
struct xp_interest {
	unsigned filters; /* set of XP_READ ... */
	int modes;        /* XPOLL_CLEAR, ONESHOT, DISPATCH */
	unsigned wishes;  /* XP_WISH_... */
	bool shared;
	bool counted;
	bool soerr;
	int64_t mark; /* in bytes; 0: none */
	bool follows; /* READ is told when a file grows */
	bool enable; /* the poll-like ADD also enables */
	bool disable;
	bool keep_udata;
	union xp_udata udata;
};

/* The four changes are in interest_change.c, what they are made of in interest.c. */
int xp_interest_add(struct xpoll *queue, int fd, const struct xp_interest *add);
int xp_interest_delete(struct xpoll *queue, int fd, unsigned filters);
/*
 * Less is wanted of a slot that keeps registrations, and perhaps of the filters
 * that are kept: 0, or as a change.
 */
int xp_interest_narrowed(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned kept);
int xp_interest_enable(struct xpoll *queue, int fd, unsigned filters);
int xp_interest_disable(struct xpoll *queue, int fd, unsigned filters);

/* The slot of fd if any of its filters is registered, else NULL. */
struct xp_slot *xp_interest_find(const struct xpoll *queue, int fd);

/* Forget these filters of a slot; the kernel is not told. */
void xp_interest_remove_filters(struct xpoll *queue, struct xp_slot *slot,
                                unsigned filters);

/*
 * An ADD of what was not registered, and the kernel said no: rc tells why.  It
 * is a file that cannot be waited for, or nothing becomes of it.
 */
int xp_interest_refused(struct xpoll *queue, int fd, struct xp_slot *slot,
                        bool follows, int rc);

/* End all registrations of fd; the kernel's entry is gone or will be stale. */
void xp_interest_drop(struct xpoll *queue, int fd, struct xp_slot *slot);

/* Remove fd from the kernel's set and drop it. */
void xp_interest_forget(struct xpoll *queue, int fd);

/*
 * Tell the kernel: watch these filters in this mode, and look anew.  On
 * -ENOENT and -EBADF the file is gone and the slot has been dropped.
 */
int xp_interest_push(struct xpoll *queue, int fd, struct xp_slot *slot,
                     enum xp_mode mode, unsigned filters);
/* The same in an exact queue, and to look anew at these of them alone. */
int xp_interest_push_again(struct xpoll *queue, int fd, struct xp_slot *slot,
                           enum xp_mode mode, unsigned filters, unsigned again);

/*
 * The back end failed to watch in this mode.  An exclusive registration has
 * left the kernel's set for that; the next wait puts it back.
 */
void xp_interest_not_pushed(struct xpoll *queue, struct xp_slot *slot,
                            enum xp_mode mode);

/*
 * 0; -ENOENT: the number is another file's by now; -EBADF ...  If the kernel has
 * to be asked by a change of a filter, one of these is the best.
 */
int xp_interest_still(struct xpoll *queue, int fd, const struct xp_slot *slot,
                      unsigned filters);
/* The same; if not, it is dropped. */
bool xp_interest_same_file(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned filters);

/*
 * Make the kernel report by itself what is wanted now, these filters at least:
 * used when another thread waits, or when the state may not be looked at.
 */
int xp_interest_publish(struct xpoll *queue, int fd, struct xp_slot *slot,
                        unsigned filters);

/* These were looked at and are not ready, and the kernel has not got them. */
void xp_interest_cover(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters);

/* Of a slot in LAZY mode: what its main entry is to hold. */
unsigned xp_interest_lazy(const struct xpoll *queue, const struct xp_slot *slot);

/* How the kernel should watch the slot as it stands. */
void xp_interest_choose(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode *mode, unsigned *filters);

/* Does it choose this?  For the assertions of those that know without asking. */
bool xp_interest_chosen(const struct xpoll *queue, const struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters);

/* Filters were disabled or removed; others of the slot remain. */
int xp_interest_silenced(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned filters);

/* Filters were enabled: the next wait reports what holds already. */
int xp_interest_wanted(struct xpoll *queue, int fd, struct xp_slot *slot,
                       unsigned filters);

/*
 * What ENABLE and DISABLE amount to where the kernel reports a registered
 * slot by edges: marks.  Everybody does this most, so it is inline.
 */
static inline void xp_interest_mark_silenced(struct xpoll *queue, int fd,
                                             struct xp_slot *slot,
                                             unsigned filters)
{
	uint8_t others = XP_SET(~filters);

	slot->enabled &= others;
	slot->asked &= others;
	slot->delivered &= others;
	slot->quiet = 0;
	if (XP_UNLIKELY(slot->carried)) {
		slot->kept &= others & XP_ALL_FILTERS;
		if (!slot->enabled)
			slot->carried = 0;
	}
	xp_candidate_cancel(queue, fd, slot);
}

/* false: the kernel has to hear of it after all. */
static inline bool xp_interest_mark_wanted(struct xpoll *queue, int fd,
                                           struct xp_slot *slot,
                                           unsigned filters)
{
	if (queue->waiters > 0 || filters & ~(unsigned)slot->armed)
		return false;
	slot->enabled |= XP_SET(filters);
	slot->quiet = 0;
	slot->fruitless = 0;
	xp_candidate_asked(queue, fd, slot, filters);
	return true;
}

/*
 * ENABLE and DISABLE of what the kernel reports by edges: no more than marks.
 * It is what programs do most, so it is tried before all else.  The slot; NULL:
 * it is not that simple, and nothing was done.
 */
static inline struct xp_slot *xp_interest_mark(struct xpoll *queue, int fd,
                                               unsigned filters, bool wanted)
{
	struct xp_slot *slot = xp_slots_at(&queue->slots, fd);

	if (!slot || filters & ~(unsigned)slot->present ||
	    slot->mode != XP_MODE_LAZY || !queue->lazy)
		return NULL;
	if (!wanted)
		xp_interest_mark_silenced(queue, fd, slot, filters);
	else if (!xp_interest_mark_wanted(queue, fd, slot, filters))
		return NULL;
	xp_count(&queue->counters.changes);
	xp_count(&queue->counters.changes_free);
	return slot;
}

/* poll(2)'s bits, by a set of filters | XP_WISH_IN << 3. */
extern const uint16_t xp_interest_bits[16];

/* The bits to look at for these filters. */
static inline uint32_t xp_interest_look(const struct xp_slot *slot,
                                        unsigned filters)
{
	unsigned wishes = slot->wishes & XP_WISH_IN;

	return xp_interest_bits[(filters & XP_ALL_FILTERS) | wishes << 3];
}

/* The bits and flags for the back end. */
uint32_t xp_interest_watch(const struct xp_slot *slot, enum xp_mode mode,
                           unsigned filters);

/*
 * From here to xp_interest_end: what every ADD and DELETE does around its system
 * call; inline, as os/sys_hot.h tells.
 */

/* The back end watches the slot so from now on. */
static inline void xp_interest_set_mode(struct xpoll *queue,
                                        struct xp_slot *slot,
                                        enum xp_mode mode, unsigned filters)
{
	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->mode = (uint8_t)mode;
	slot->armed = XP_SET(filters);
	slot->fruitless = 0;
	slot->spent = 0;
	xp_slot_mode_begins(slot);
	slot->sequence = ++queue->sequence;
	/* Where changes are free nothing but the next look tells anything. */
	if (!(queue->ops->caps & XP_CAP_FREE_CHANGE) || queue->ops->flush)
		queue->harvest_due = true;
	/* Who sleeps does not take them along. */
	if (queue->ops->flush && queue->waiters > 0)
		queue->look_wanted = true;
}

/* Enter the kernel's set, whatever dead entry it may hold. */
static inline int xp_interest_attach(struct xpoll *queue, int fd,
                                     uint32_t watch, uint64_t token)
{
	bool (*owns)(const void *state, int fd) = queue->ops->owns;
	int rc;

	if (xp_beacon_has(&queue->turn, fd) || (owns && owns(queue->backend, fd)))
		return -EINVAL;
	rc = queue->ops->attach(queue->backend, fd, watch, token);
	/* A dead entry whose file was dup'ed back to its old number. */
	if (XP_UNLIKELY(rc == -EEXIST))
		rc = queue->ops->change(queue->backend, fd, watch, token);
	return rc;
}

/* The same, after a change of what it watched before. */
void xp_interest_pushed(struct xpoll *queue, int fd, struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters);

/* All registrations of the slot end; the kernel is not told. */
static inline void xp_interest_clear(struct xpoll *queue, struct xp_slot *slot)
{
	unsigned present = slot->present;
	unsigned count = (present & 1) + (present >> 1 & 1) + (present >> 2);

	XP_ASSERT(!(present & ~XP_ALL_FILTERS));
	xp_count_by(&queue->counters.registered, (uint64_t)-(int64_t)count);
	xp_attention_over(queue);
	xp_slot_clear(slot);
}

/* The same for one that the kernel watches, and no longer does. */
static inline int xp_interest_end(struct xpoll *queue, int fd,
                                  struct xp_slot *slot)
{
	int rc;

	XP_ASSERT(slot->present && xp_slot_in_kernel(slot));
	if (XP_UNLIKELY(slot->solo))
		xp_solo_end(queue, fd, slot, slot->solo);
	rc = queue->ops->detach(queue->backend, fd);
	xp_interest_clear(queue, slot);
	return rc;
}

/* After a delivery: the filter is to be silent, or to be gone. */
void xp_interest_delivered_turn(struct xpoll *queue, int fd,
                                struct xp_slot *slot, unsigned filter);
void xp_interest_delivered_once(struct xpoll *queue, int fd,
                                struct xp_slot *slot, unsigned filter);

/* The kernel reported what nobody wants now; not of the filters passed over. */
void xp_interest_fruitless(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned passed_over);

/*
 * Attach every slot to an empty kernel set; inherited: in a forked child.
 * What cannot be attached for lack of something is left for later.
 */
int xp_interest_attach_all(struct xpoll *queue, bool inherited);
/* Attach those that were left. */
int xp_interest_attach_rest(struct xpoll *queue);

#endif
