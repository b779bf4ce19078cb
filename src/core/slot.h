/*
 * What a queue knows of one descriptor: a slot, found by its number.
 *
 * Slots live in pages that never move and are freed with the queue.  A slot's
 * generation changes whenever its registrations end or turn out to be of
 * another file; the kernel's cookie is generation << 32 | number, so a report
 * of a dead registration is recognised whenever it arrives.
 *
 * Everything here is guarded by the queue's lock.
 */
#ifndef XP_CORE_SLOT_H
#define XP_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

/* The filters a descriptor can have, in the order they are reported. */
enum { XP_READ, XP_WRITE, XP_EXCEPT, XP_FD_FILTERS };

/* Sets of them. */
#define XP_BIT(filter) (1u << (filter))
#define XP_ALL_FILTERS 7u

/* State of one filter. */
enum {
	XP_PRESENT = 1,
	XP_ENABLED = 2,
	XP_EDGE = 4, /* XPOLL_CLEAR */
	XP_ONCE = 8, /* XPOLL_ONESHOT */
	XP_TURN = 16, /* XPOLL_DISPATCH */
	XP_SHARED = 32, /* XPOLL_NOTE_EXCLUSIVE */
	XP_WANT_MAIN = 64, /* READ: POLLIN; EXCEPT: NOTE_OOB was given */
	XP_WANT_HALF = 128, /* READ: POLLRDHUP */
};

/* How the kernel watches the descriptor now. */
enum xp_mode {
	XP_MODE_NONE,      /* not at all */
	XP_MODE_LEVEL,     /* by state */
	XP_MODE_LAZY,      /* by edges; states are checked by us */
	XP_MODE_ONESHOT,   /* one report, then nothing */
	XP_MODE_FIRED,     /* that one report was made */
	XP_MODE_EXCLUSIVE, /* by state, outside lazy interest */
	XP_MODE_FILE,      /* the kernel cannot: always ready, or a file */
};

struct xp_slot {
	void *udata[XP_FD_FILTERS];
	uint32_t generation;
	uint32_t sequence; /* of the last ENABLE or kernel change */
	uint32_t batch;    /* the last wait call that reported it */
	int32_t next;      /* in the candidate queue; XP_SLOT_END, _UNQUEUED */
	uint8_t filter[XP_FD_FILTERS]; /* XP_PRESENT ... */
	uint8_t mode;          /* enum xp_mode */
	uint8_t armed;         /* filters in the kernel's mask */
	uint8_t asked;         /* candidate: to check because of an ENABLE */
	uint8_t delivered;     /* candidate: to check because it was delivered */
	uint8_t kind;          /* enum xp_fd_kind */
	uint16_t carried;      /* bits harvested but not delivered, unlookable */
	uint8_t fruitless;     /* reports nobody wanted, in a row */
	uint8_t quiet;         /* checks after delivery that found nothing */
	uint8_t flips;         /* times level mode turned out wrong */
	uint8_t sample;        /* deliveries; now and then one is confirmed */
};

_Static_assert(sizeof(struct xp_slot) <= 64, "the memory target");

#define XP_SLOT_END      (-1)
#define XP_SLOT_UNQUEUED (-2)

enum { XP_PAGE_BITS = 8, XP_PAGE_SLOTS = 1 << XP_PAGE_BITS };

struct xp_slots {
	struct xp_slot **pages;
	int pages_len;
};

/* The slot of fd, made if need be; NULL: no memory. */
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

/* The slot of a descriptor that is known to have one. */
static inline struct xp_slot *xp_slots_get(const struct xp_slots *slots, int fd)
{
	return &slots->pages[fd >> XP_PAGE_BITS][fd & (XP_PAGE_SLOTS - 1)];
}

static inline uint64_t xp_slot_token(const struct xp_slot *slot, int fd)
{
	return (uint64_t)slot->generation << 32 | (uint32_t)fd;
}

/* The filters whose state has all of these bits. */
static inline unsigned xp_slot_with(const struct xp_slot *slot, unsigned bits)
{
	unsigned set = 0;

	for (int i = 0; i < XP_FD_FILTERS; i++)
		if ((slot->filter[i] & bits) == bits)
			set |= XP_BIT(i);
	return set;
}

static inline unsigned xp_slot_present(const struct xp_slot *slot)
{
	return xp_slot_with(slot, XP_PRESENT);
}

static inline unsigned xp_slot_enabled(const struct xp_slot *slot)
{
	return xp_slot_with(slot, XP_ENABLED);
}

#endif
