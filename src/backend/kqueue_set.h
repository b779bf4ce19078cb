/*
 * What the kqueue back end knows of a descriptor: which filters the kernel has
 * for it, which of them are enabled there and which should be.  Indexed by
 * number; grows when one is attached.
 *
 * What only enables and disables is noted, and told to the kernel together with
 * the next wait.  All with the queue's lock held, but xp_kq_broken.
 */
#ifndef XP_BACKEND_KQUEUE_SET_H
#define XP_BACKEND_KQUEUE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "os/sys_kqueue.h"

enum { KQ_READ, KQ_WRITE, KQ_EXCEPT, KQ_FILTERS };

#define KQ_BIT(filter) (1u << (filter))

/* want, armed, there, touch and looked are sets of filters. */
struct xp_kq_entry {
	uint32_t tag;  /* the upper half of the token; the number is the lower */
	uint8_t want;  /* to be reported */
	uint8_t armed; /* enabled in the kernel */
	uint8_t there; /* in the kernel */
	bool attached;
	bool dirty;    /* in the list of those to tell the kernel of */
	uint8_t touch; /* of what is enabled: to be looked at anew */
	bool clear;    /* EV_CLEAR */
	bool end_only; /* READ: the end of file, not what is before it */
	uint8_t looked; /* of what is enabled: was looked at just now */
	bool pipe;
	bool write_end; /* READ tells nothing of it but the end */
	bool broken;   /* nobody reads the pipe: EVFILT_USER stands for WRITE */
};

struct xp_kq_set {
	int fd; /* the kernel's queue */
	struct xp_kq_entry *entries;
	int len;
	int *dirty;    /* numbers; there is room for all */
	int dirty_len;
	atomic_int mend; /* a pipe to look at: a number, or one of those below */
	struct xp_counters *counters;
};

enum { KQ_MEND_NONE = -1, KQ_MEND_ALL = -2, KQ_CHUNK = 128 };

/* The kernel's queue of a back end's state. */
int xp_kqueue_fd(const void *state);

void xp_kq_set_fini(struct xp_kq_set *set);

/* As the back end's functions of these names. */
int xp_kq_attach(struct xp_kq_set *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_change(struct xp_kq_set *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_detach(struct xp_kq_set *set, int fd);

/* Is there anything that the kernel was not told? */
bool xp_kq_laden(const struct xp_kq_set *set);
/* Write the changes that it was not told; at least KQ_FILTERS of room. */
int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap);
/* Tell it at once: those whose files are gone fire POLLNVAL. */
int xp_kq_flush(struct xp_kq_set *set, struct xp_fired *fired, int cap);

/* A pipe's WRITE said that nobody reads it: it may have ended by that. */
void xp_kq_broken(struct xp_kq_set *set, int fd);
/* A change failed: is its file gone?  From any thread. */
bool xp_kq_gone(struct xp_kq_set *set, const struct kevent *failed);

/* The rest is between kqueue_set.c and kqueue_later.c. */

/* NULL: not attached. */
struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd);
/* A change of one of its filters. */
void xp_kq_record(struct kevent *record, const struct xp_kq_entry *entry,
                  int fd, int filter, unsigned flags);
/* It is to be told later. */
void xp_kq_mark(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);
/* Tell the kernel now: 0 or a negative errno value. */
int xp_kq_tell_one(struct xp_kq_set *set, const struct xp_kq_entry *entry,
                   int fd, int filter, unsigned flags);
/*
 * Have an event that holds from the start stand for WRITE, which is refused; by
 * EV_CLEAR if WRITE is.
 */
int xp_kq_break(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);

/*
 * Is the number still that of the file?  Any change of it tells: one that says
 * what is so already.  But what is enabled is looked at anew by that, so rather
 * what is to be.
 */
int xp_kq_verify(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                 unsigned again);

static inline unsigned xp_kq_switch(const struct xp_kq_entry *entry, int filter)
{
	return entry->want & KQ_BIT(filter) ? XP_KQ_ENABLE : EV_DISABLE;
}

static inline uint64_t xp_kq_token(const struct kevent *event)
{
	return (uint64_t)xp_kq_tag(event) << 32 | (uint32_t)event->ident;
}

#endif
