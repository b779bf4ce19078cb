/*
 * One descriptor of the kqueue back end: what of it is in the kernel, and the
 * records that change it there.  All with the queue's lock held.
 */
#ifndef XP_BACKEND_KQUEUE_ENTRY_H
#define XP_BACKEND_KQUEUE_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "os/bsd/sys_kqueue.h"

enum { KQ_READ, KQ_WRITE, KQ_EXCEPT, KQ_FILTERS };

/* That change one descriptor, at most. */
enum { KQ_RECORDS = XP_KQ_ENABLES_ONCE ? 2 * KQ_FILTERS : KQ_FILTERS };

#define KQ_BIT(filter) (1u << (filter))

/* want, armed, there, touch and looked are sets of filters. */
struct xp_kq_entry {
	uint32_t tag;  /* the upper half of the token; the number is the lower */
	uint8_t want;  /* to be reported */
	uint8_t armed; /* enabled in the kernel */
	uint8_t there; /* in the kernel */
	bool attached;
	bool dirty;    /* in the list of those that the kernel has to learn of */
	uint8_t touch; /* of what is enabled: to be looked at again */
	bool clear;    /* EV_CLEAR */
	bool end_only; /* READ: the end of file, not what is before it */
	uint8_t probed; /* of what is enabled: was looked at just now */
	bool pipe;
	bool write_end; /* READ reports nothing of it but the end */
	bool hung;     /* a terminal that takes no filter: WRITE is for all */
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

/* NULL: not attached. */
struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd);
/* A change of one of its filters. */
void xp_kq_record(struct kevent *record, const struct xp_kq_entry *entry,
                  int fd, int filter, unsigned flags);
/* Its change goes with the next wait: put it into the list of those. */
void xp_kq_mark(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);
/* Does the error say that the filter is not for this file, or not with this mark? */
bool xp_kq_refused(int error);
/*
 * Change it in the kernel at once: 0 or a negative errno value; what became of each
 * record is in its `data`.
 */
int xp_kq_apply(struct xp_kq_set *set, struct kevent *changes, int count);
/* The same of one: 0 or a negative errno value. */
int xp_kq_apply_one(struct xp_kq_set *set, const struct xp_kq_entry *entry,
                    int fd, int filter, unsigned flags);
/*
 * Have an event that holds from the start stand for WRITE, which is refused; by
 * EV_CLEAR if WRITE is.
 */
int xp_kq_break(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);

/*
 * Is the number still that of the file?  Any change of it shows that: one that says
 * what is so already.  But what is enabled is looked at again by that, so rather
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
