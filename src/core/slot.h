/*
 * What a queue knows of one descriptor: a slot, found by its number.
 *
 * Slots live in pages that never move and are freed with the queue.  A slot's
 * generation changes whenever its registrations end or turn out to be of
 * another file, and its arming, on epoll, with each change of the main entry.  Both
 * are in the token that the kernel returns with each report, so a report of a dead
 * registration is recognised whenever it arrives, and so is one from before a change.
 *
 * Everything here is guarded by the queue's lock.
 */
#ifndef XP_CORE_SLOT_H
#define XP_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/udata.h"
#include "os/fdkind.h"

/* The filters a descriptor can have, in the order they are reported. */
enum { XP_READ, XP_WRITE, XP_EXCEPT, XP_FD_FILTERS };

/* Its place among them; -1: the filter is a source's, or none. */
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

/* Sets of them. */
#define XP_BIT(filter) (1u << (filter))
#define XP_SET(filters) ((uint8_t)(filters))
#define XP_ALL_FILTERS 7u

/* What a filter was asked for in particular, beyond that it is wanted. */
enum {
	/* Beside filters in one set, the index of tables. */
	XP_REQUEST_IN = 8, /* READ: POLLIN */
	XP_REQUEST_RDHUP = 16, /* READ: POLLRDHUP */
	XP_REQUEST_OOB = 32, /* EXCEPT: XPOLL_NOTE_OOB was given */
};

/* How the kernel watches the descriptor now. */
enum xp_mode {
	XP_MODE_NONE,      /* not at all */
	XP_MODE_LEVEL,     /* by state */
	XP_MODE_EDGE,      /* by edges; states are checked by us */
	XP_MODE_ONESHOT,   /* one report, then nothing */
	XP_MODE_FIRED,     /* that one report was made */
	XP_MODE_EXCLUSIVE, /* by state, outside lazy interest */
	XP_MODE_UNPOLLABLE, /* the kernel cannot wait for it: see unpollable.h */
	XP_MODE_SOURCE,    /* by state, for a source: not the program's */
};

/* What one file keeps of a slot is a part with a name. */
struct xp_slot {
	_Alignas(XP_CACHE_LINE) union xp_udata udata[XP_FD_FILTERS];
	uint32_t tag;      /* upper half of the token: generation << XP_ARMING_BITS | arming */
	uint32_t sequence; /* of the last ENABLE or kernel change */

	/* Has its state to be checked (candidate.c)?  It is a candidate because ... */
	struct {
		int32_t next;      /* in their queue; XP_SLOT_END, _UNQUEUED */
		union {
			struct {
				uint8_t enabled; /* these filters were enabled */
				uint8_t level;   /* these were delivered, and may still be ready */
			};
			uint16_t any;
		};
		uint16_t deferred; /* these bits were harvested, and the file cannot be probed */
	} check;

	/* What was reported and delivered (deliver.c, batch.c). */
	struct {
		uint32_t epoch;  /* the last wait call that did so */
		uint8_t filters; /* those that it delivered */
		uint8_t count;   /* of reports; now and then one is confirmed */
		uint8_t first : 2;        /* the filter to begin with: it found no room */
		uint8_t deferred_for : 3; /* those that check.deferred is for */
		uint8_t spent : 1;        /* the main entry's edges, since its change */
		uint8_t withheld : 1;     /* a hang-up, from the event level */
		uint8_t arming_last : 1;  /* sequence last grew together with the arming */
		uint8_t since : 5;        /* `count` when the mode began */
	} delivered;

	/* Sets of filters: which there are, and how the kernel watches them. */
	uint8_t present;
	uint8_t enabled;   /* a subset of present */
	uint8_t requested; /* XP_REQUEST_... */
	uint8_t armed;     /* in the kernel's mask */
	uint8_t mode;      /* enum xp_mode */
	uint8_t kind;      /* enum xp_fd_kind */

	/* How its mode has fared (arm.c). */
	struct {
		uint16_t fruitless : 7; /* reports nobody wanted, in a row */
		uint16_t idle_checks : 6; /* after delivery, that found nothing */
		uint16_t flips : 3; /* times in a row that level mode was not worth it */
	} history;

	/*
	 * What few have is side by side, so that one look finds out that there is none of it.
	 * XPOLL_CLEAR and so on:
	 */
	union {
		struct {
			uint8_t clear;
			uint8_t oneshot;
			uint8_t dispatch;
			uint8_t exclusive : 3;
			uint8_t whole : 1; /* ONESHOT and DISPATCH act on all filters */
		};
		uint32_t any;
	} modes;

	/* XPOLL_NOTE_COUNT and XPOLL_NOTE_SOERR (event_count.c). */
	struct {
		uint8_t filters : 3;
		uint8_t soerr : 3;
		uint8_t size : 5; /* of a pipe, as a power of two; 0: not asked for */
		uint8_t news : 3; /* news.h: reported bits that were not delivered yet */
	} count;

	/* XPOLL_NOTE_LOWAT; lowat.h has their bytes. */
	struct {
		uint8_t filters : 3;
		uint8_t unmet : 3; /* ready, but for the mark; check again */
	} lowat;
	uint8_t solo; /* with an entry of their own: see solo.h */
};

_Static_assert(sizeof(struct xp_slot) == XP_CACHE_LINE,
               "the memory target, and one cache line for each");

/* Those that the kernel has to report by edges; see lowat.h for those with XPOLL_NOTE_LOWAT. */
static inline unsigned xp_slot_by_edge(const struct xp_slot *slot)
{
	return slot->modes.clear | slot->lowat.filters;
}

/* Of a slot with registrations: does the kernel watch it? */
static inline bool xp_slot_in_kernel(const struct xp_slot *slot)
{
	return slot->mode != XP_MODE_NONE && slot->mode != XP_MODE_UNPOLLABLE;
}

/* The kernel watches it in another way, or again. */
static inline void xp_slot_mode_begins(struct xp_slot *slot)
{
	slot->delivered.since = slot->delivered.count & 31;
}

/* The reports since then, modulo 32. */
static inline unsigned xp_slot_mode_reports(const struct xp_slot *slot)
{
	return (slot->delivered.count - slot->delivered.since) & 31u;
}

/* Nothing of these is reported, nor checked for that. */
static inline void xp_slot_disable(struct xp_slot *slot, unsigned filters)
{
	XP_ASSERT(!(filters & ~XP_ALL_FILTERS));
	slot->enabled &= XP_SET(~filters);
	slot->check.any &= (uint16_t)~(filters << 8 | filters);
}

/*
 * The tag of a slot.  The arming wraps around: a report that a thread holds while the entry
 * is changed 256 times may be taken for one of the last change.
 */
enum { XP_ARMING_BITS = 8, XP_ARMING_MASK = (1 << XP_ARMING_BITS) - 1 };

static inline uint32_t xp_tag_of_next_generation(uint32_t tag)
{
	return (tag | XP_ARMING_MASK) + 1;
}

static inline uint32_t xp_tag_of_next_arming(uint32_t tag)
{
	return (tag & ~(uint32_t)XP_ARMING_MASK) | ((tag + 1) & XP_ARMING_MASK);
}

static inline bool xp_tags_of_one_generation(uint32_t a, uint32_t b)
{
	return (a ^ b) >> XP_ARMING_BITS == 0;
}

/* Its registrations have ended: nothing of them is left. */
static inline void xp_slot_clear(struct xp_slot *slot)
{
	*slot = (struct xp_slot){
		.tag = xp_tag_of_next_generation(slot->tag),
		.sequence = slot->sequence,
		.delivered.epoch = slot->delivered.epoch,
		.check.next = slot->check.next,
	};
}

#define XP_SLOT_END      (-1)
#define XP_SLOT_UNQUEUED (-2)

enum { XP_PAGE_BITS = 8, XP_PAGE_SLOTS = 1 << XP_PAGE_BITS };

/*
 * Tables by descriptor number double, here and in the back ends, and their
 * lengths are of type int.
 */
enum { XP_PAGES_MOST = 1 << (30 - XP_PAGE_BITS) };

struct xp_slots {
	struct xp_slot **pages;
	int pages_len;
};

/* The slot of fd, made if need be; NULL: no memory for such a number. */
struct xp_slot *xp_slots_make(struct xp_slots *slots, int fd);
void xp_slots_fini(struct xp_slots *slots);

/* The slot of fd; NULL if nothing of that page was ever registered. */
static inline struct xp_slot *xp_slots_at(const struct xp_slots *slots, int fd)
{
	unsigned page = (unsigned)fd >> XP_PAGE_BITS;

	if (page >= (unsigned)slots->pages_len || !slots->pages[page])
		return (struct xp_slot *)0;
	return &slots->pages[page][fd & (XP_PAGE_SLOTS - 1)];
}

/* The first slot from *fd on, which becomes its descriptor; NULL: there are no more. */
struct xp_slot *xp_slots_walk(const struct xp_slots *slots, int *fd);

/* The slot of a descriptor that is known to have one. */
static inline struct xp_slot *xp_slots_get(const struct xp_slots *slots, int fd)
{
	return &slots->pages[(unsigned)fd >> XP_PAGE_BITS][fd & (XP_PAGE_SLOTS - 1)];
}

static inline uint64_t xp_token(uint32_t tag, int fd)
{
	return (uint64_t)tag << 32 | (uint32_t)fd;
}

static inline uint64_t xp_slot_token(const struct xp_slot *slot, int fd)
{
	return xp_token(slot->tag, fd);
}

static inline int xp_token_fd(uint64_t token)
{
	return (int)(uint32_t)token;
}

static inline uint32_t xp_token_tag(uint64_t token)
{
	return (uint32_t)(token >> 32);
}

/* Is the slot still of the registrations that this token was made for? */
static inline bool xp_slot_is_of(const struct xp_slot *slot, uint64_t token)
{
	return xp_tags_of_one_generation(slot->tag, xp_token_tag(token));
}

/*
 * Of a file that has news (news.h): keep these reported bits, as far as they concern
 * registered filters; return the bits that were kept, and keep them no longer.
 */
void xp_slot_keep_news(struct xp_slot *slot, uint32_t events);
uint32_t xp_slot_take_news(struct xp_slot *slot);

/* Find out what kind of file it is, once; 0, -EBADF, -ENOMEM: not this time. */
int xp_slot_find_kind(int fd, struct xp_slot *slot);

static inline bool xp_slot_kind_known(int fd, struct xp_slot *slot)
{
	return slot->kind != XP_KIND_UNKNOWN || xp_slot_find_kind(fd, slot) == 0;
}

/* Is the file of that kind?  What cannot be found out now is of none. */
static inline bool xp_slot_is(int fd, struct xp_slot *slot, enum xp_fd_kind kind)
{
	return xp_slot_kind_known(fd, slot) && slot->kind == kind;
}

/* May poll(2) check the file?  Not if that cannot be found out now. */
static inline bool xp_slot_can_probe(int fd, struct xp_slot *slot)
{
	return xp_kind_can_probe((enum xp_fd_kind)slot->kind) ||
		(slot->kind == XP_KIND_UNKNOWN && xp_slot_find_kind(fd, slot) == 0 &&
		 xp_kind_can_probe((enum xp_fd_kind)slot->kind));
}

#endif
