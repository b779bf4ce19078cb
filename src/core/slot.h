/*
 * A slot: the state of one descriptor in a queue, found by its number.
 *
 * Slots live in pages that never move and are freed with the queue.
 *
 * The kernel returns a token with each report: the descriptor, and `arming`, which grows when
 * registrations end and, on a lazy queue, with each change of the main entry.  A report with an
 * arming before `born` is stale: its registration has ended.  One with another arming than the
 * last is superseded: the change made the kernel check the state again, so the report is dropped.
 * A report that was fetched before `marked` was set is outdated: the state is checked.
 *
 * Everything here is guarded by the queue's lock, but for `late`, which is atomic.
 */
#ifndef XP_CORE_SLOT_H
#define XP_CORE_SLOT_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/udata.h"
#include "core/queue.h"
#include "sys/fdkind.h"
#include "sys/pollbits.h"

/* The filters of a descriptor, in the order in which they are reported. */
enum { XP_READ, XP_WRITE, XP_EXCEPT, XP_FD_FILTERS };

/* The index of a filter among these; -1: the filter is a source's, or unknown. */
static inline int xp_filter_index(int filter)
{
	switch (filter) {
	case XPOLL_FILT_READ:
		return XP_READ;
	case XPOLL_FILT_WRITE:
		return XP_WRITE;
	case XPOLL_FILT_EXCEPT:
		return XP_EXCEPT;
	default:
		return -1;
	}
}

/* Sets of filters. */
#define XP_BIT(filter) (1u << (filter))
#define XP_SET(filters) ((uint8_t)(filters))
#define XP_ALL_FILTERS 7u

/* Members of slot.requested: what was asked for beyond the filter. */
enum {
	XP_REQUEST_IN = 8,     /* READ: POLLIN */
	XP_REQUEST_RDHUP = 16, /* READ: POLLRDHUP */
	XP_REQUEST_OOB = 32,   /* EXCEPT: XPOLL_NOTE_OOB was given */
};

/*
 * How the descriptor is watched; the modes of the program, as XPOLL_CLEAR, are something else.
 *
 * From         To    When
 * NONE         ...   ADD: EDGE with CLEAR, LOWAT or, on a lazy queue, a disabled filter; ONCE
 *                    with ONESHOT for all of its filters; FILE if the kernel refuses; else LEVEL
 * LEVEL        EDGE  a report finds all of its filters disabled
 * LEVEL        ONCE  the same with DISPATCH, while several threads use the queue
 * EDGE         LEVEL a check finds again what was delivered; checks in a row find nothing; other
 *                    threads sleep, or poll(2) fails, and the kernel has to report it
 * EDGE         ONCE  ENABLE with DISPATCH while another thread sleeps
 * ONCE         EDGE  a report of a hang-up that the event level ignores
 * ONCE         LEVEL the ENABLE after each 64th report, while no thread sleeps
 * the three    ...   another ADD, a DELETE of some filters, an ENABLE that the kernel has to
 *                    know: LEVEL or EDGE, as for NONE
 * all          NONE  the registrations end
 */
enum xp_mode {
	XP_MODE_NONE,   /* not at all */
	XP_MODE_LEVEL,  /* the kernel's entry is level-triggered */
	XP_MODE_EDGE,   /* it is edge-triggered; for a level poll(2) checks what was delivered */
	XP_MODE_ONCE,   /* it reports once, and is silent until it is armed again */
	XP_MODE_FILE,   /* the kernel refuses the file: see files.h */
	XP_MODE_SOURCE, /* level-triggered, for a source: no registration of the program */
};

#define XP_LAST      (-1) /* slot.next: the last candidate */
#define XP_UNQUEUED  (-2) /* slot.next: no candidate */

struct xp_slot {
	_Alignas(XP_CACHE_LINE) union xp_udata udata[XP_FD_FILTERS];
	uint32_t arming;     /* half of the token of the main entry: see above */
	uint32_t born;       /* the first arming of these registrations */
	uint32_t sequence;   /* the queue's when `marked` was set */
	uint32_t epoch;      /* the wait call that delivered `delivered` */
	int32_t next;        /* the next candidate's descriptor, XP_LAST or XP_UNQUEUED */
	uint16_t kept;       /* bits that nobody has got yet, of a file that must not be checked */

	/* Sets of filters. */
	uint8_t present;
	uint8_t enabled;
	uint8_t requested; /* XP_REQUEST_IN and so on */
	uint8_t armed;     /* in the mask of their entry, which is not silent */
	uint8_t check;     /* were enabled, and their state has to be checked */
	uint8_t recheck;   /* may be ready: delivered, outdated or without room */
	uint8_t delivered : 3;  /* were delivered by the wait call `epoch` */
	uint8_t pipe_bits : 5;  /* the size of a pipe is 1 << that; 0: not known */
	uint8_t clear;     /* have XPOLL_CLEAR */
	uint8_t oneshot;   /* XPOLL_ONESHOT */
	uint8_t dispatch;  /* XPOLL_DISPATCH */
	uint8_t lowat : 3;    /* have XPOLL_NOTE_LOWAT; lowat.h has the numbers */
	uint8_t unmet : 3;    /* ready, but for that; they are checked again later */
	uint8_t whole : 1;    /* XPOLL_WHOLE: ONESHOT and DISPATCH act on all filters */
	uint8_t spent : 1;    /* an edge of the main entry was delivered since its change */
	uint8_t exclusive : 3; /* have XPOLL_NOTE_EXCLUSIVE; see is_exclusive */
	uint8_t soerr : 3;    /* XPOLL_NOTE_SOERR */
	uint8_t first : 2;    /* the filter that found no room, and is delivered first */
	uint8_t count : 3;    /* XPOLL_NOTE_COUNT */
	uint8_t solo : 3;     /* have an entry of their own: see entry.h */
	uint8_t leftover : 1; /* nothing is registered, but the kernel has a silent entry */
	uint8_t withheld : 1; /* the event level ignored a hang-up, which xpoll_pwait reports */
	uint8_t kept_for : 3;  /* the filters that `kept` is for */
	uint8_t is_exclusive : 1; /* the main entry, as it is now, wakes few of several queues */
	uint8_t marked : 1;    /* reports that were made before `sequence` have to be checked */
	uint8_t fruitless : 3; /* edges in a row that nobody wanted */

	uint8_t mode;      /* enum xp_mode */
	uint8_t kind : 4;      /* enum xp_fd_kind */
	uint8_t idle : 4;      /* checks after a delivery that found nothing, in a row */
	uint8_t reports : 6;   /* of the kernel, modulo 64: when it is 0 the file is confirmed */
	uint8_t stale : 2;     /* reports of ended registrations since the last one ended */
	atomic_uchar late;     /* threads that make a late change of the entry: see late.h */
};

_Static_assert(sizeof(struct xp_slot) == XP_CACHE_LINE, "one cache line for each descriptor");

enum { XP_PAGE_BITS = 8, XP_PAGE_SLOTS = 1 << XP_PAGE_BITS };

/* The slot of fd, made if need be; NULL: no memory for such a number. */
struct xp_slot *xp_slots_make(struct xpoll *queue, int fd);
void xp_slots_fini(struct xpoll *queue);

/* The first slot from *fd on, which becomes its descriptor; NULL: there are no more. */
struct xp_slot *xp_slots_walk(const struct xpoll *queue, int *fd);

/* The slot of fd; NULL if nothing on its page was ever registered. */
static inline struct xp_slot *xp_slots_at(const struct xpoll *queue, int fd)
{
	unsigned page = (unsigned)fd >> XP_PAGE_BITS;

	if (page >= (unsigned)queue->slots.pages_len || !queue->slots.pages[page])
		return (struct xp_slot *)0;
	return &queue->slots.pages[page][fd & (XP_PAGE_SLOTS - 1)];
}

/* The slot of a descriptor that is known to have one. */
static inline struct xp_slot *xp_slots_get(const struct xpoll *queue, int fd)
{
	return &queue->slots.pages[(unsigned)fd >> XP_PAGE_BITS][fd & (XP_PAGE_SLOTS - 1)];
}

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

/* Returns true if the registrations that the token was made for still stand. */
static inline bool xp_slot_is_of(const struct xp_slot *slot, uint64_t token)
{
	/* Unsigned: also right if the number has wrapped since `born`. */
	return xp_token_arming(token) - slot->born <= slot->arming - slot->born;
}

/* The registrations end: reports that were made until now are stale. */
static inline void xp_slot_renumber(struct xp_slot *slot)
{
	slot->born = ++slot->arming;
}

/* The filters that have to be watched by edges. */
static inline unsigned xp_slot_by_edge(const struct xp_slot *slot)
{
	return slot->clear | slot->lowat;
}

/* The filters that these bits of poll(2) are about. */
static inline unsigned xp_filters_of(uint32_t bits)
{
	return (bits & (POLLIN | POLLRDHUP) ? XP_BIT(XP_READ) : 0) |
		(bits & POLLOUT ? XP_BIT(XP_WRITE) : 0) | (bits & POLLPRI ? XP_BIT(XP_EXCEPT) : 0);
}

/* By filters and members of `requested`: the bits that poll(2) would return for them. */
extern const uint16_t xp_poll_masks[64];

/* The bits to ask the kernel for.  READ includes POLLRDHUP, for XPOLL_EOF. */
static inline uint32_t xp_bits_of(const struct xp_slot *slot, unsigned filters)
{
	return xp_poll_masks[filters | slot->requested | XP_REQUEST_RDHUP] &
		~(uint32_t)(POLLERR | POLLHUP);
}

/* The bits that poll(2) would return for what is enabled. */
static inline uint32_t xp_poll_bits(const struct xp_slot *slot, uint32_t events)
{
	return events & xp_poll_masks[slot->enabled | slot->requested];
}

/* The filters that such bits are delivered to; there are some. */
static inline unsigned xp_poll_filters(const struct xp_slot *slot, uint32_t bits)
{
	unsigned enabled = slot->enabled;

	/* If one filter is enabled, every bit is for it. */
	return !(enabled & (enabled - 1)) || bits & (POLLERR | POLLHUP) ? enabled
		: xp_filters_of(bits) & enabled;
}

/* These filters are enabled no longer, nor candidates. */
static inline void xp_slot_disable(struct xp_slot *slot, unsigned filters)
{
	uint8_t left = XP_SET(~filters);

	slot->enabled &= left;
	slot->check &= left;
	slot->recheck &= left;
	slot->kept_for &= left & XP_ALL_FILTERS;
}

/* The kind of the file, found out once; XP_KIND_UNKNOWN: not this time. */
enum xp_fd_kind xp_slot_kind(int fd, struct xp_slot *slot);

/* Returns true if poll(2) may check the file. */
static inline bool xp_slot_can_probe(int fd, struct xp_slot *slot)
{
	return xp_kind_can_probe(xp_slot_kind(fd, slot));
}

#endif
