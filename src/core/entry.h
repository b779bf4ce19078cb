/*
 * The kernel's entries of a descriptor: the main one, and those that single
 * filters have beside it (solo.h).  Making, changing and ending them; which
 * entry a slot should have is decided in interest.c.
 *
 * All with the queue's lock held.
 */
#ifndef XP_CORE_ENTRY_H
#define XP_CORE_ENTRY_H

#include "base/assert.h"
#include "core/arm.h"
#include "core/queue.h"

/* The slot of fd if any of its filters is registered, else NULL. */
struct xp_slot *xp_entry_find(const struct xpoll *queue, int fd);

/* poll(2)'s bits, by a set of filters | what is requested. */
extern const uint16_t xp_entry_bits[64];

/* The bits to check for these filters. */
static inline uint32_t xp_entry_probe_bits(const struct xp_slot *slot,
                                        unsigned filters)
{
	return xp_entry_bits[(filters & XP_ALL_FILTERS) | slot->requested];
}

/* The other way round; what an end of file or an error is about is not in it. */
static inline unsigned xp_entry_filters(uint32_t bits)
{
	return (bits & (POLLIN | POLLRDHUP) ? XP_BIT(XP_READ) : 0) |
		(bits & POLLOUT ? XP_BIT(XP_WRITE) : 0) |
		(bits & POLLPRI ? XP_BIT(XP_EXCEPT) : 0);
}

/* The bits and flags for the back end. */
uint32_t xp_entry_watch(const struct xp_slot *slot, enum xp_mode mode,
                           unsigned filters);

/*
 * From here to xp_entry_end: what every ADD and DELETE does around its system
 * call; inline: os/sys_hot.h says why.
 */

/*
 * The token for a change of the main entry: on epoll its reports are distinguished from
 * those before the change.  xp_entry_set_mode makes it the slot's.
 */
static inline uint32_t xp_entry_next_tag(const struct xpoll *queue, const struct xp_slot *slot)
{
	return queue->lazy ? xp_tag_of_next_arming(slot->tag) : slot->tag;
}

static inline uint64_t xp_entry_next_token(const struct xpoll *queue,
                                           const struct xp_slot *slot, int fd)
{
	return xp_token(xp_entry_next_tag(queue, slot), fd);
}

/* The back end watches the slot so from now on. */
static inline void xp_entry_set_mode(struct xpoll *queue,
                                        struct xp_slot *slot,
                                        enum xp_mode mode, unsigned filters)
{
	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(!(filters & ~(unsigned)slot->present));
	slot->mode = (uint8_t)mode;
	slot->armed = XP_SET(filters);
	slot->history.fruitless = 0;
	slot->delivered.spent = 0;
	xp_slot_mode_begins(slot);
	slot->tag = xp_entry_next_tag(queue, slot);
	slot->sequence = ++queue->sequence;
	slot->delivered.arming_last = queue->lazy;
	/* Where changes are free only the next wait reports anything. */
	if (!(queue->ops->caps & XP_CAP_FREE_CHANGE) || queue->ops->flush)
		queue->ask.due = true;
	/* Who sleeps does not take them along. */
	if (queue->ops->flush && queue->threads.waiters > 0)
		queue->recheck_wanted = true;
}

/* Was it harvested before the slot was changed last? */
static inline bool xp_slot_is_outdated(const struct xpoll *queue, const struct xp_slot *slot,
                                       const struct xp_wait *wait)
{
	/* By age: a slot may not have changed while the number wrapped. */
	return queue->sequence - slot->sequence < queue->sequence - wait->sequence;
}

/* Would it take the queue's own descriptor from the queue? */
static inline bool xp_entry_owns(const struct xpoll *queue, int fd)
{
	bool (*owns)(const void *state, int fd) = queue->ops->owns;

	return xp_places_own(&queue->turn.places, fd) || (owns && owns(queue->backend, fd));
}

/* Enter the kernel's set, whatever dead entry it may hold. */
static inline int xp_entry_attach(struct xpoll *queue, int fd,
                                     uint32_t watch, uint64_t token)
{
	int rc;

	if (xp_entry_owns(queue, fd))
		return -EINVAL;
	rc = queue->ops->attach(queue->backend, fd, watch, token);
	/* A dead entry whose file was dup'ed back to its old number. */
	if (XP_UNLIKELY(rc == -EEXIST))
		rc = queue->ops->change(queue->backend, fd, watch, token);
	return rc;
}

/* End all registrations of fd; the kernel's entry is gone or will be stale. */
void xp_entry_drop(struct xpoll *queue, int fd, struct xp_slot *slot);

/* All registrations of the slot end; the kernel is not asked. */
static inline void xp_entry_clear(struct xpoll *queue, struct xp_slot *slot)
{
	unsigned present = slot->present;
	unsigned count = (present & 1) + (present >> 1 & 1) + (present >> 2);

	XP_ASSERT(!(present & ~XP_ALL_FILTERS));
	xp_count_by(&queue->counters.registered, (uint64_t)-(int64_t)count);
	xp_attention_over(queue);
	xp_slot_clear(slot);
}

/* These have no entry of their own any more. */
void xp_entry_end_solo(struct xpoll *queue, int fd, struct xp_slot *slot,
                 unsigned filters);

/* The same for one that the kernel watches, and no longer does. */
static inline int xp_entry_end(struct xpoll *queue, int fd,
                                  struct xp_slot *slot)
{
	int rc;

	XP_ASSERT(slot->present && xp_slot_in_kernel(slot));
	if (XP_UNLIKELY(slot->solo))
		xp_entry_end_solo(queue, fd, slot, slot->solo);
	rc = queue->ops->detach(queue->backend, fd);
	xp_entry_clear(queue, slot);
	return rc;
}

/* Remove fd from the kernel's set and drop it. */
void xp_entry_forget(struct xpoll *queue, int fd);

/*
 * 0; -ENOENT: the number is another file's by now; -EBADF ...  If the kernel has
 * to be asked by a change of a filter, one of these is the best.
 */
int xp_entry_still(struct xpoll *queue, int fd, const struct xp_slot *slot,
                      unsigned filters);

/* The same; if not, it is dropped. */
bool xp_entry_same_file(struct xpoll *queue, int fd, struct xp_slot *slot,
                           unsigned filters);

/*
 * The back end failed to watch in this mode.  An exclusive registration has
 * left the kernel's set for that; the next wait puts it back.
 */
void xp_entry_not_pushed(struct xpoll *queue, struct xp_slot *slot,
                            enum xp_mode mode);

/* The same, after a change of what it watched before. */
void xp_entry_pushed(struct xpoll *queue, int fd, struct xp_slot *slot,
                        enum xp_mode mode, unsigned filters);

/*
 * Have the kernel watch these filters in this mode, and check again.  On
 * -ENOENT and -EBADF the file is gone and the slot has been dropped.
 */
int xp_entry_push(struct xpoll *queue, int fd, struct xp_slot *slot,
                     enum xp_mode mode, unsigned filters);

/* The same in an exact queue, and to check again these of them alone. */
int xp_entry_push_again(struct xpoll *queue, int fd, struct xp_slot *slot,
                           enum xp_mode mode, unsigned filters, unsigned again);

#endif
