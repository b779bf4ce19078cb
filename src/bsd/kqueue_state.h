/*
 * The parts of the kqueue back end.
 *
 * A set is a table, indexed by descriptor, of the filters that the kernel has for each, which of
 * them are enabled there, and which should be.  Changes that only enable or disable are recorded,
 * and passed to the kernel with the next wait.  All functions except xp_kq_broken are called with
 * the queue's lock held.
 *
 * xpoll_fd returns an outer queue, which contains the inner one, a wake-up descriptor and a timer.
 * Nobody takes events from it.
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

/* Most records that a change of one descriptor takes. */
enum { KQ_RECORDS = XP_KQ_ENABLES_ONCE ? 2 * KQ_FILTERS : KQ_FILTERS };

#define KQ_BIT(filter) (1u << (filter))

/* want, armed, there, touch and probed are sets of filters. */
struct xp_kq_entry {
	uint32_t tag;  /* upper half of the token; the descriptor is the lower half */
	uint8_t want;  /* filters that should report */
	uint8_t armed; /* filters that are enabled in the kernel */
	uint8_t there; /* filters that the kernel has */
	bool attached;
	bool dirty;    /* in the list of entries with changes to pass */
	uint8_t touch; /* enabled filters that the kernel has to check again */
	bool clear;    /* EV_CLEAR */
	bool end_only; /* READ reports only the end of file, not data */
	uint8_t probed; /* enabled filters that the kernel has just checked */
	bool pipe;
	bool write_end; /* the write end of a pipe: READ reports only its end */
	bool hung;     /* a terminal that takes no filter: WRITE represents all */
	bool broken;   /* a pipe without a reader: EVFILT_USER represents WRITE */
};

/* The descriptor that xpoll_fd returns. */
struct xp_kq_outer {
	int fd;                     /* -1: xpoll_fd was not called */
	struct xp_wakefd attention; /* its fd is -1: not open either */
	int64_t alarm_ns;           /* XP_NEVER: the timer is not set */
	bool attended;              /* the queue wants `attention` readable */
	bool due;                   /* alarm_ns has passed: `attention` is readable, too */
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
	atomic_int mend; /* a pipe whose WRITE to restore, or a value below */
	struct xp_counters *counters;
};

enum { KQ_MEND_NONE = -1, KQ_MEND_ALL = -2, KQ_CHUNK = 128 };

/* Returns the entry of a descriptor; NULL: not attached. */
struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd);
/* Returns the flag, EV_ENABLE or EV_DISABLE, that gives the filter its wanted state. */
unsigned xp_kq_switch(const struct xp_kq_entry *entry, int filter);
/* Store the record of a change of one filter. */
void xp_kq_record(struct kevent *record, const struct xp_kq_entry *entry,
                  int fd, int filter, unsigned flags);
/* Put the entry into the list of entries whose changes are passed with the next wait. */
void xp_kq_mark(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);
/*
 * Returns true if the error means that the kernel refuses the filter, or its mark, for this file.
 */
bool xp_kq_refused(int error);
/*
 * Apply changes at once.  Returns 0 or a negative errno value; the result of each record is in its
 * `data`.
 */
int xp_kq_apply(struct xp_kq_set *set, struct kevent *changes, int count);
/* Apply one change at once.  Returns 0 or a negative errno value. */
int xp_kq_apply_one(struct xp_kq_set *set, const struct xp_kq_entry *entry,
                    int fd, int filter, unsigned flags);
/*
 * Replace WRITE, which the kernel refuses, by an event that is always active; with EV_CLEAR if
 * WRITE has it.
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

/* Store the changes that were not passed to the kernel; there is room for at least KQ_RECORDS. */
int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap);

/*
 * Record that WRITE of a pipe reported the end of its readers, by which the kernel may have removed
 * it.
 */
void xp_kq_broken(struct xp_kq_set *set, int fd);
/* Returns true if a change failed because its file is gone.  Any thread may call it. */
bool xp_kq_gone(struct xp_kq_set *set, const struct kevent *failed);

/* --- xpoll_fd ------------------------------------------------------------------ */

void xp_kq_outer_init(struct xp_kq_outer *outer);
/* ours: false in a forked child. */
void xp_kq_outer_fini(struct xp_kq_outer *outer, bool ours);

extern const struct xp_outer_ops xp_kq_outer_ops; /* of a set */

/*
 * Make the kernel remove reports that are not true any more: it does so only when the queue is
 * polled, and until then the queue is readable.  Called with the lock held.
 */
void xp_kq_outer_probe(struct xp_kq_outer *outer);

/* Add a descriptor of the library to a queue.  Returns 0 or -errno. */
int xp_kq_hold(int queue_fd, int fd, unsigned flags);

#endif
