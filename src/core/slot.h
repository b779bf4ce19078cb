/*
 * A slot: the queue's state of one descriptor.
 *
 * Slots are in pages, indexed by descriptor, that never move and are freed with the queue.
 *
 * The kernel returns a token with each report: the descriptor, and the slot's `arming` when the
 * entry was last changed, a number that shows how old the report is.  `arming` grows when the
 * registrations end; on a lazy queue (epoll) also with each change of the main entry.
 *
 * Stale report: its arming is before `first_arming`, so the registration has ended.  It is dropped.
 * Superseded report of the main entry: its arming is between `first_arming` and the present one.
 * It is dropped, because the change of the entry since then made the kernel check the state again.
 * Outdated report: filters were enabled, but `arming` stayed the same, after a thread had fetched
 * the report, so it may be about readiness that was delivered already.  xp_slot_outdate_reports
 * records the time of that (`has_cutoff` and `cutoff`).  The queue checks the state by poll(2)
 * instead of delivering the report, or lets the kernel report a level-triggered entry again.
 *
 * A report that has cleared its bits in the file (XP_KIND_CLEARED) is neither superseded nor
 * outdated, because no later report has the bits.
 *
 * The queue's lock guards all members except `late_in_flight`, which is atomic.
 */
#ifndef XP_CORE_SLOT_H
#define XP_CORE_SLOT_H

#include "core/queue.h"
#include "sys/fdkind.h"

/* The filters of a descriptor, in the order in which events are delivered. */
enum { XP_READ, XP_WRITE, XP_EXCEPT, XP_FD_FILTERS };

/*
 * Returns the index of an XPOLL_FILT_ constant, or -1 for a filter of a source or an unknown one.
 */
static inline int xp_filter_index(int filter)
{
	return filter == XPOLL_FILT_READ ? XP_READ : filter == XPOLL_FILT_WRITE ? XP_WRITE
		: filter == XPOLL_FILT_EXCEPT ? XP_EXCEPT : -1;
}

/* A set of filters contains XP_BIT(filter) of each filter in it. */
#define XP_BIT(filter) (1u << (filter))
#define XP_SET(filters) ((uint8_t)(filters))
#define XP_ALL_FILTERS 7u

/*
 * Bits of slot.requested: which bits of poll(2) the program asked for.  They do not overlap with
 * XP_BIT of a filter, because a set of filters ORed with these bits is an index of xp_poll_masks.
 */
enum {
	XP_REQUEST_IN = 8,     /* READ: POLLIN */
	XP_REQUEST_RDHUP = 16, /* READ: POLLRDHUP */
	XP_REQUEST_OOB = 32,   /* EXCEPT: XPOLL_NOTE_OOB was given */
};

/*
 * How the kernel watches the descriptor.  The modes of the program, such as XPOLL_CLEAR, are
 * something else.
 *
 * From         To    When
 * NONE         ...   ADD: on epoll ONCE if one report ends all filters (ONESHOT); EDGE with CLEAR,
 *                    LOWAT or, on epoll, a disabled filter; FILE if the kernel refuses the file;
 *                    else LEVEL
 * LEVEL        EDGE  the kernel reports it although no enabled filter is ready
 * LEVEL        ONCE  the kernel reports it while its DISPATCH filters are disabled, and several
 *                    threads use the queue
 * EDGE         LEVEL a check by poll(2) finds a delivered filter still ready
 * EDGE         LEVEL XP_FRUITLESS_MOST checks by poll(2) in a row find nothing ready
 * EDGE         LEVEL the kernel has to report the filters, because poll(2) fails, or because other
 *                    threads sleep, which check nothing
 * EDGE         ONCE  ENABLE with DISPATCH while another thread sleeps
 * ONCE         EDGE  a report that leads to no event although a filter is enabled, mostly of a
 *                    hang-up that xpoll_event ignores
 * ONCE         LEVEL an ENABLE after each 64th report tries whether LEVEL costs fewer changes now;
 *                    only while no thread sleeps, or one of two that wait alternately
 * LEVEL, EDGE, ...   another ADD, a DELETE of some filters, an ENABLE that changes the entry, a
 * ONCE               DISABLE on other back ends than epoll or of an exclusive entry: LEVEL or EDGE,
 *                    like from NONE
 * any          NONE  the registrations end, or the kernel's entry is lost: see entry_record_lost
 */
enum xp_mode {
	XP_MODE_NONE,   /* there is no entry */
	XP_MODE_LEVEL,  /* the kernel's entry is level-triggered */
	/* edge-triggered; after a delivery the next wait checks filters without CLEAR by poll(2) */
	XP_MODE_EDGE,
	XP_MODE_ONCE,   /* one-shot: after a report the entry is silent until the queue arms it */
	XP_MODE_FILE,   /* no entry, because the kernel refuses the file: see files.h */
	/* level-triggered; the descriptor of a source, such as an inotify instance */
	XP_MODE_SOURCE,
};

/* slot.next: this slot is the last candidate, a slot to check by poll(2) */
#define XP_LAST      (-1)
#define XP_UNQUEUED  (-2) /* slot.next: this slot is not in the list of candidates */

struct xp_slot {
	_Alignas(XP_CACHE_LINE) union xp_udata udata[XP_FD_FILTERS];
	/* number of the main entry's last change, which reports return in their token: see above */
	uint32_t arming;
	/*
	 * value of `arming` when the present registrations of fd began: a report whose token has an
	 * earlier one is of a registration that has ended
	 */
	uint32_t first_arming;
	/*
	 * if has_cutoff: queue->last_cutoff when a filter was last enabled or changed without a new
	 * arming; reports that a thread fetched before that time may be outdated
	 */
	uint32_t cutoff;
	uint32_t epoch;      /* number of the wait to which `delivered` belongs */
	/*
	 * descriptor of the next candidate (slot to check by poll(2)); XP_LAST: this slot is the
	 * last one; XP_UNQUEUED: this slot is no candidate
	 */
	int32_t next;
	/*
	 * Reported bits that were not delivered yet, of a file that must not be checked by poll(2),
	 * which might clear bits: see xp_slot_can_probe.
	 */
	uint16_t deferred;

	/* Sets of filters. */
	uint8_t present;   /* registered filters */
	uint8_t enabled;   /* registered filters that the program has not disabled */
	uint8_t requested; /* bits XP_REQUEST_IN ... for which the program asked */
	/* filters that the kernel reports now: not those of a one-shot entry that has reported */
	uint8_t armed;
	/*
	 * The next wait checks these filters, without verifying that fd was not reused: the program
	 * has enabled them, or the kernel has changed their entry.
	 */
	uint8_t check;
	/*
	 * The next wait checks these filters, and verifies that fd was not reused: they were
	 * delivered, their event had no room, their report was outdated or may have been lost, or
	 * they had not reached their low-water mark.
	 */
	uint8_t recheck;
	uint8_t delivered : 3;      /* filters that the wait `epoch` has delivered */
	uint8_t pipe_size_log2 : 5; /* binary logarithm of a pipe's size; 0: unknown */
	uint8_t clear;     /* filters that were added with XPOLL_CLEAR */
	uint8_t oneshot;   /* filters that were added with XPOLL_ONESHOT */
	uint8_t dispatch;  /* filters that were added with XPOLL_DISPATCH */
	uint8_t lowat : 3;    /* filters with a low-water mark, XPOLL_NOTE_LOWAT: see count.h */
	/*
	 * XP_BIT(XP_WRITE) if the last check found less room than the filter's low-water mark;
	 * xp_lowat_due then has the filter checked again
	 */
	uint8_t below_lowat : 3;
	uint8_t whole : 1;    /* XPOLL_WHOLE: ONESHOT and DISPATCH act on all filters at once */
	/*
	 * an edge was delivered since the last change of the main entry: another change would
	 * repeat the edge
	 */
	uint8_t edge_delivered : 1;
	uint8_t exclusive : 3; /* filters with XPOLL_NOTE_EXCLUSIVE, which is only a hint */
	uint8_t so_error : 3; /* filters whose events have the socket error: XPOLL_NOTE_SOERR */
	/*
	 * Index of the first filter whose event found no room: the next delivery begins with this
	 * filter.
	 */
	uint8_t resume_filter : 2;
	uint8_t count_filters : 3; /* filters whose events have a count: XPOLL_NOTE_COUNT */
	/*
	 * filters with a kernel entry of their own (solo entry), not in the main entry: see entry.h
	 */
	uint8_t solo : 3;
	/*
	 * no filter is registered, but the kernel still has a one-shot entry of fd that has
	 * reported
	 */
	uint8_t has_leftover_entry : 1;
	/* xpoll_event ignored a hang-up, which xpoll_pwait and xpoll_wait have to report */
	uint8_t hangup_ignored : 1;
	/* filters to which the bits in `deferred` (reported, not delivered yet) belong */
	uint8_t deferred_for : 3;
	uint8_t is_exclusive : 1; /* the kernel's main entry is exclusive now: see entry.c */
	/*
	 * Filters were enabled, or changed, without a new arming in the token of reports.  Reports
	 * that a thread fetched before (wait->cutoff_snapshot is less than `cutoff`) may be
	 * outdated: a check replaces them.
	 */
	uint8_t has_cutoff : 1;
	uint8_t fruitless_reports : 3; /* reports in a row for which no enabled filter was ready */

	uint8_t mode;      /* enum xp_mode */
	uint8_t kind : 4;      /* enum xp_fd_kind */
	/* checks by poll(2), in a row, that found nothing ready after a delivery */
	uint8_t fruitless_checks : 4;
	/*
	 * Number of reports of the kernel, modulo 64.  Whenever it becomes 0, a lazy queue (epoll)
	 * verifies that fd was not reused.
	 */
	uint8_t reports : 6;
	/* reports of ended registrations; the fourth makes the wait replace the kernel's set */
	uint8_t stale : 2;
	/*
	 * Number of changes of the kernel's entry that threads are making now without the lock: see
	 * struct xp_late.
	 */
	atomic_uchar late_in_flight;
};

_Static_assert(sizeof(struct xp_slot) == XP_CACHE_LINE, "one cache line for each descriptor");

enum { XP_PAGE_BITS = 8, XP_PAGE_SLOTS = 1 << XP_PAGE_BITS };

/* Returns the slot of fd, and allocates its page if necessary; NULL: no memory, or fd is huge. */
struct xp_slot *xp_slots_make(struct xpoll *queue, int fd);
void xp_slots_fini(struct xpoll *queue);

/*
 * Returns the first slot, used or not, whose descriptor is at least *fd, and stores its descriptor
 * in *fd; NULL: there is none.
 */
struct xp_slot *xp_slots_walk(const struct xpoll *queue, int *fd);

/* Returns the slot of fd; NULL if its page was never allocated. */
static inline struct xp_slot *xp_slots_find(const struct xpoll *queue, int fd)
{
	unsigned page = (unsigned)fd >> XP_PAGE_BITS;

	if (page >= (unsigned)queue->slots.pages_len || !queue->slots.pages[page])
		return (struct xp_slot *)0;
	return &queue->slots.pages[page][fd & (XP_PAGE_SLOTS - 1)];
}

/* Returns the slot of a descriptor whose page is allocated. */
static inline struct xp_slot *xp_slots_get(const struct xpoll *queue, int fd)
{
	return &queue->slots.pages[(unsigned)fd >> XP_PAGE_BITS][fd & (XP_PAGE_SLOTS - 1)];
}

/*
 * Returns the token of the slot's entries: the kernel returns the token with each report of these
 * entries.
 */
static inline uint64_t xp_slot_token(const struct xp_slot *slot, int fd)
{
	return (uint64_t)slot->arming << 32 | (uint32_t)fd;
}

static inline int xp_token_fd(uint64_t token)
{
	return (int)(uint32_t)token;
}

static inline uint32_t xp_token_arming(uint64_t token)
{
	return (uint32_t)(token >> 32);
}

/* Returns true if the registrations for which the token was made have not ended. */
static inline bool xp_slot_token_is_live(const struct xp_slot *slot, uint64_t token)
{
	/*
	 * Unsigned differences are correct even if the arming has wrapped around since
	 * `first_arming`.
	 */
	return xp_token_arming(token) - slot->first_arming <= slot->arming - slot->first_arming;
}

/*
 * Let new registrations of the slot begin: reports with the tokens used so far become stale
 * (ended).
 */
static inline void xp_slot_invalidate_tokens(struct xp_slot *slot)
{
	slot->first_arming = ++slot->arming;
}

/* Returns the filters (those with CLEAR or LOWAT) whose entry must be edge-triggered. */
static inline unsigned xp_slot_edge_filters(const struct xp_slot *slot)
{
	return slot->clear | slot->lowat;
}

/* Returns the filters that these bits of poll(2) belong to; ignores POLLERR and POLLHUP. */
static inline unsigned xp_filters_of(uint32_t bits)
{
	return (bits & (POLLIN | POLLRDHUP) ? XP_BIT(XP_READ) : 0) |
		(bits & POLLOUT ? XP_BIT(XP_WRITE) : 0) | (bits & POLLPRI ? XP_BIT(XP_EXCEPT) : 0);
}

/*
 * Masks of the bits that poll(2) would return, indexed by a set of filters ORed with
 * slot.requested.
 */
extern const uint16_t xp_poll_masks[64];

/*
 * Returns the mask with which the kernel watches these filters.  READ always has POLLRDHUP, which
 * XPOLL_EOF needs.
 */
static inline uint32_t xp_watch_bits(const struct xp_slot *slot, unsigned filters)
{
	return xp_poll_masks[filters | slot->requested | XP_REQUEST_RDHUP] &
		~(uint32_t)(POLLERR | POLLHUP);
}

/* Returns those bits of `events` that poll(2) would return for the enabled filters. */
static inline uint32_t xp_enabled_bits(const struct xp_slot *slot, uint32_t events)
{
	return events & xp_poll_masks[slot->enabled | slot->requested];
}

/* Returns the enabled filters that get these bits, a result of xp_enabled_bits other than 0. */
static inline unsigned xp_enabled_filters_of(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	/* If only one filter is enabled, all bits belong to that filter. */
	return !(enabled & (enabled - 1)) || bits & (POLLERR | POLLHUP) ? enabled
		: xp_filters_of(bits) & enabled;
}

/*
 * Disable these filters, and do not check them any more.  Bits in `deferred` (reported, not
 * delivered yet) that the kernel does not report again (XP_KIND_CLEARED) stay until the filters are
 * enabled.
 */
static inline void xp_slot_disable(struct xp_slot *slot, unsigned filters)
{
	uint8_t left = XP_SET(~filters);

	slot->enabled &= left;
	slot->check &= left;
	slot->recheck &= left;
	if (slot->kind != XP_KIND_CLEARED)
		slot->deferred_for &= left & XP_ALL_FILTERS;
}

/* Returns the kind of the file, cached in the slot; XP_KIND_UNKNOWN if a system call failed. */
enum xp_fd_kind xp_slot_kind(int fd, struct xp_slot *slot);

/* Returns true if a poll(2) of the file does not change what the kernel reports of it later. */
static inline bool xp_slot_can_probe(int fd, struct xp_slot *slot)
{
	return xp_kind_can_probe(xp_slot_kind(fd, slot));
}

/*
 * Late changes: changes of a kernel entry that a call makes after it has released the lock, because
 * the change may wake a thread that needs the lock at once.  Only ENABLE makes them, to arm an
 * entry as one-shot or, for a silent entry (a one-shot one that has reported), perhaps as
 * level-triggered.
 *
 * No late change overtakes another of the same entry.  A silent entry gets the next one only after
 * a report whose token has the arming of the previous one, which proves that the kernel has made
 * that change, or after that change has failed.  All other changes of the entry first wait, with
 * the lock held, until slot->late_in_flight is 0 (xp_late_await); a late change needs no lock to
 * complete.
 */
struct xp_late { /* the arguments of the back end's change_unlocked */
	struct xp_slot *slot; /* NULL: there is no late change to make */
	uint64_t token;
	uint32_t watch;
	int fd;
};

/* The slow part of xp_late_await, for a slot whose entry a thread is changing without the lock. */
void xp_late_await_busy(struct xp_slot *slot);
/* Wait until no thread is changing the slot's entry without the lock (late changes: see above). */
static inline void xp_late_await(struct xp_slot *slot)
{
	if (XP_UNLIKELY(atomic_load_explicit(&slot->late_in_flight, memory_order_acquire) > 0))
		xp_late_await_busy(slot);
}

/* Wait until no thread is changing the entry of any slot without the lock (late changes). */
void xp_late_await_all(struct xpoll *queue);
/*
 * In a forked child: forget the late changes (made without the lock) of the parent's threads, which
 * do not exist here.
 */
void xp_late_forget_all(struct xpoll *queue);

/*
 * Sleep for ns nanoseconds, between two checks of something that another thread does without
 * signalling a condition.
 */
void xp_nap(int64_t ns);

#endif
