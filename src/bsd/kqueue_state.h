/*
 * The parts of the kqueue back end.
 *
 * A set is what it knows of its descriptors: which filters the kernel has for one,
 * which of them are enabled there and which should be.  Indexed by number; grows when
 * one is attached.  What only enables and disables is noted, and given to the kernel
 * together with the next wait.  All with the queue's lock held, but xp_kq_broken.
 *
 * What xpoll_fd hands out is a queue that holds the inner one, a wake-up descriptor and
 * a timer.  Nobody else takes events from it.
 */
#ifndef XP_BSD_KQUEUE_STATE_H
#define XP_BSD_KQUEUE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bsd/sys_kqueue.h"
#include "sys/backend.h"
#include "sys/wakefd.h"

enum { KQ_READ, KQ_WRITE, KQ_EXCEPT, KQ_FILTERS };

/* The most records that a change of one descriptor takes. */
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

/* The descriptor that xpoll_fd returns. */
struct xp_kq_outer {
	int fd;                     /* -1: xpoll_fd was not called */
	struct xp_wakefd attention; /* its fd is -1: likewise */
	int64_t alarm_ns;           /* XP_NEVER: the timer is not set */
	bool attended;              /* why `attention` is readable */
	bool due;                   /* the same: alarm_ns has come */
	bool readable;
};

struct xp_kq_set {
	int fd; /* the kernel's queue */
	struct xp_kq_outer outer;
	struct xp_kq_entry *entries;
	int len;
	int *dirty;    /* numbers */
	int dirty_len;
	int dirty_cap; /* >= len */
	atomic_int mend; /* a pipe to look at: a number, or one of those below */
	struct xp_counters *counters;
};

enum { KQ_MEND_NONE = -1, KQ_MEND_ALL = -2, KQ_CHUNK = 128 };

/* NULL: not attached. */
struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd);
/* The flag that has its filter as it should be. */
unsigned xp_kq_switch(const struct xp_kq_entry *entry, int filter);
/* A change of one of its filters. */
void xp_kq_record(struct kevent *record, const struct xp_kq_entry *entry,
                  int fd, int filter, unsigned flags);
/* Put the entry into the list of those whose changes go with the next wait. */
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
 * Returns 0 if fd still is the attached file.  Any change of a filter shows that, even one that
 * changes nothing.  But EV_ENABLE makes the kernel check an enabled filter again, so disabled
 * ones come first, then those of `again`.
 */
int xp_kq_verify(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                 unsigned again);

/* --- The set ------------------------------------------------------------------- */

/* The back end's functions of these names. */
int xp_kq_attach(void *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_change(void *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_detach(void *set, int fd);
bool xp_kq_has_pending(const void *set);
int xp_kq_flush(void *set, struct xp_fired *fired, int cap);

/* Write the changes that the kernel does not know; at least KQ_RECORDS of room. */
int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap);

/* A pipe's WRITE said that nobody reads it: it may have ended by that. */
void xp_kq_broken(struct xp_kq_set *set, int fd);
/* A change failed: is its file gone?  From any thread. */
bool xp_kq_gone(struct xp_kq_set *set, const struct kevent *failed);

/* --- xpoll_fd ------------------------------------------------------------------ */

void xp_kq_outer_init(struct xp_kq_outer *outer);
/* `ours`: this is no forked child. */
void xp_kq_outer_fini(struct xp_kq_outer *outer, bool ours);

extern const struct xp_outer_ops xp_kq_outer_ops; /* of a set */

/*
 * Have its kernel find out what is over: it only does so when it is asked for
 * events, and up to then the queue is readable.  With the lock held.
 */
void xp_kq_outer_probe(struct xp_kq_outer *outer);

/* Have a queue hold a descriptor of the library's own: 0 or -errno. */
int xp_kq_hold(int queue_fd, int fd, unsigned flags);

#endif
