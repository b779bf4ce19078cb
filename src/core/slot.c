/* The table of slots, indexed by descriptor: see slot.h. */
#include "core/slot.h"

#include "base/alloc.h"
#include "base/table.h"
#include "sys/sys.h"
#include "sys/sys_threads.h"

/* An element of xp_poll_masks; i: a set of filters ORed with bits of slot.requested. */
#define POLL_MASK(i) \
	(((i) & XP_ALL_FILTERS ? POLLERR | POLLHUP : 0) | \
	 ((i) & XP_BIT(XP_READ) && (i) & XP_REQUEST_IN ? POLLIN : 0) | \
	 ((i) & XP_BIT(XP_READ) && (i) & XP_REQUEST_RDHUP ? POLLRDHUP : 0) | \
	 ((i) & XP_BIT(XP_WRITE) ? POLLOUT : 0) | ((i) & XP_BIT(XP_EXCEPT) ? POLLPRI : 0))

const uint16_t xp_poll_masks[64] = {XP_64_OF(POLL_MASK)};

struct xp_slot *xp_slots_make(struct xpoll *queue, int fd)
{
	int page = fd >> XP_PAGE_BITS;
	struct xp_slot **at;

	/*
	 * Refuse a huge descriptor: tables that descriptors index double their lengths, which are
	 * of type int and must not overflow.
	 */
	if (fd > INT_MAX / 2 ||
	    XP_TABLE_RESERVE(&queue->slots.pages, &queue->slots.pages_len, page + 1) < 0)
		return NULL;
	/*
	 * More descriptors than one page has may be ready at once: allocate room for more reports.
	 * Without memory for that a wait calls the kernel several times.
	 */
	if (page > 0 && queue->ops->fired_most > 0 && !queue->fired)
		queue->fired = xp_realloc(NULL, XP_FIRED_ALONE * sizeof *queue->fired);
	at = &queue->slots.pages[page];
	if (!*at) {
		*at = xp_alloc_aligned(XP_PAGE_SLOTS * sizeof **at);
		for (int i = 0; *at && i < XP_PAGE_SLOTS; i++)
			(*at)[i] = (struct xp_slot){.next = XP_UNQUEUED};
	}
	return xp_slots_find(queue, fd);
}

void xp_slots_fini(struct xpoll *queue)
{
	for (int i = 0; i < queue->slots.pages_len; i++)
		xp_free(queue->slots.pages[i]);
	xp_free(queue->slots.pages);
	xp_free(queue->fired);
}

struct xp_slot *xp_slots_walk(const struct xpoll *queue, int *fd)
{
	for (; *fd >> XP_PAGE_BITS < queue->slots.pages_len; *fd |= XP_PAGE_SLOTS - 1, ++*fd)
		if (xp_slots_find(queue, *fd))
			return xp_slots_find(queue, *fd);
	return NULL;
}

enum xp_fd_kind xp_slot_kind(int fd, struct xp_slot *slot)
{
	if (XP_UNLIKELY(slot->kind == XP_KIND_UNKNOWN)) {
		int kind = xp_fd_kind(fd);

		slot->kind = kind < 0 ? XP_KIND_UNKNOWN : (uint8_t)kind;
	}
	return (enum xp_fd_kind)slot->kind;
}

/* --- Late changes, which other threads make without the lock ----------------------------- */

enum {
	TRIES = 1000,                 /* number of checks before the waiting thread sleeps */
	NAP_NS = XP_NS_PER_MS / 20,   /* length of a sleep between two checks */
};

/*
 * Sleep for a short time, before the caller checks again.  For waits for a thread that cannot
 * signal a condition, because the queue may be destroyed as soon as the awaited number has changed:
 * one that makes a late change (slot->late_in_flight), for example.
 */
void xp_nap(int64_t ns)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody;

	if (xp_sys_cond_init(&nobody) < 0)
		return;
	pthread_mutex_lock(&mutex);
	(void)xp_sys_cond_wait(&nobody, &mutex, xp_sys_now() + ns);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&nobody);
}

void xp_late_await_busy(struct xp_slot *slot)
{
	for (int tries = 0; atomic_load_explicit(&slot->late_in_flight,
	                                         memory_order_acquire) > 0; tries++) {
		if (tries < TRIES)
			xp_relax();
		else
			xp_nap(NAP_NS);
	}
}

void xp_late_await_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		xp_late_await(slot);
}

void xp_late_forget_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		atomic_store(&slot->late_in_flight, 0);
}
