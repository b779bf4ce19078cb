/*
 * The parts of the kqueue back end.
 *
 * A set is a table, indexed by descriptor.  An entry records which filters of the descriptor the
 * kernel has, which of them are enabled there, and which should be.  Changes that only enable or
 * disable are recorded, and passed to the kernel with the next wait.  The functions are called with
 * the queue's lock held, or while no other thread can use the set; xp_kq_note_write_removed and
 * xp_kq_is_gone also by other threads without the lock.
 *
 * xpoll_fd returns an outer kqueue, which contains the inner one, a wake-up descriptor and a timer.
 * The program only polls it; only xp_kq_outer_refresh takes events from it.
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

/* Most records (struct kevent) that the changes of one descriptor take. */
enum { KQ_RECORDS = XP_KQ_ENABLES_ONCE ? 2 * KQ_FILTERS : KQ_FILTERS };

#define KQ_BIT(filter) (1u << (filter))

/* want, armed, in_kernel, reenable and rechecked are sets of filters. */
struct xp_kq_entry {
	uint32_t tag;  /* upper half of the token; the descriptor is the lower half */
	uint8_t want;  /* filters that the registration wants enabled */
	uint8_t armed; /* filters that are enabled in the kernel */
	uint8_t in_kernel; /* filters that are registered in the kernel, enabled or disabled */
	bool attached;
	bool dirty;    /* in set->dirty, because there are changes to pass to the kernel */
	uint8_t reenable; /* filters to enable again, so that the kernel checks their state */
	bool clear;    /* the filters have EV_CLEAR: edge-triggered */
	bool end_only; /* READ reports only the end of file, not data */
	uint8_t rechecked; /* filters whose state xp_kq_verify has just made the kernel check */
	bool pipe;
	bool write_end; /* the write end of a pipe: READ reports only the end of file */
	/*
	 * The file is a terminal whose other side is closed, for which the kernel refuses filters.
	 * An EVFILT_USER that is always active is registered in place of WRITE, and reports all
	 * requested filters.
	 */
	bool is_hung_up;
	/*
	 * An EVFILT_USER that is always active is registered in place of WRITE, which the kernel
	 * refuses: for a terminal with is_hung_up, or for a pipe without a reader.
	 */
	bool write_replaced;
};

/* The descriptor that xpoll_fd returns. */
struct xp_kq_outer {
	int fd;                     /* the outer kqueue; -1: xpoll_fd was not called */
	/* wake-up descriptor in the outer kqueue; fd -1: not open yet */
	struct xp_wakefd attention;
	int64_t alarm_ns; /* the time that was passed to set_alarm; XP_NEVER: there is no alarm */
	bool wants_attention; /* set_attention was called: the queue wants `fd` to be readable */
	bool due;                   /* the alarm's time has passed: `fd` has to be readable, too */
	/* `attention` is readable, because wants_attention or due was true */
	bool is_attention_readable;
};

struct xp_kq_set {
	int fd; /* the kqueue in which the kernel has the filters */
	struct xp_kq_outer outer;
	struct xp_kq_entry *entries;
	int len;
	int *dirty;    /* descriptors whose entries have changes to pass to the kernel */
	int dirty_len;
	int dirty_cap; /* >= len */
	/*
	 * descriptor of a pipe whose WRITE filter the kernel may have removed; KQ_REMOVED_NONE or
	 * KQ_REMOVED_SEVERAL
	 */
	atomic_int write_removed_fd;
	struct xp_counters *counters;
};

/*
 * KQ_REMOVED_SEVERAL: the kernel may have removed WRITE of several pipes.  KQ_CHUNK: most changes
 * that one call of kevent(2) passes.
 */
enum { KQ_REMOVED_NONE = -1, KQ_REMOVED_SEVERAL = -2, KQ_CHUNK = 128 };

/* Returns the entry of a descriptor; NULL: not attached. */
struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd);
/* Returns the flags that give the filter its wanted state: XP_KQ_ENABLE or EV_DISABLE. */
unsigned xp_kq_enable_flags(const struct xp_kq_entry *entry, int filter);
/* Fill `record` with a change of one filter of the entry; flags: EV_ADD, EV_DELETE, EV_ENABLE... */
void xp_kq_make_record(struct kevent *record, const struct xp_kq_entry *entry,
                       int fd, int filter, unsigned flags);
/*
 * Put the entry into set->dirty, the list of entries whose changes the next wait passes to the
 * kernel.
 */
void xp_kq_mark(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);
/*
 * Returns true if the error means that the kernel refuses the filter, or its low-water mark, for
 * this file.
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
 * Replace WRITE, which the kernel refuses, by an EVFILT_USER that is always active; with EV_CLEAR
 * if WRITE has it.  Returns 0; -EPIPE: the kernel has no EVFILT_USER; or another error.
 */
int xp_kq_replace_write(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd);

/*
 * Returns 0 if fd still refers to the attached file.  The kernel removes the filters of a closed
 * descriptor, so any change of a filter fails then, even one that changes nothing.  Tries
 * EV_DISABLE of a disabled filter first, because EV_ENABLE makes the kernel check the state of an
 * enabled filter again.  If no filter is disabled, tries EV_ENABLE of an enabled one, first of one
 * in `again`, whose state the caller wants checked anyway.
 */
int xp_kq_verify(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                 unsigned again);

/* --- The set ------------------------------------------------------------------- */

/* Implementations of the back end's functions of these names. */
int xp_kq_attach(void *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_change(void *set, int fd, uint32_t watch, uint64_t token);
int xp_kq_detach(void *set, int fd);
bool xp_kq_has_pending(const void *set);
int xp_kq_flush(void *set, struct xp_fired *fired, int cap);

/*
 * Store the records of pending changes, which count as passed to the kernel afterwards; cap is at
 * least KQ_RECORDS.  Returns their number.  First replaces the WRITE filters that the kernel has
 * removed (xp_kq_note_write_removed).
 */
int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap);

/*
 * Call when WRITE of a pipe has reported that no reader is left.  With that report FreeBSD removes
 * the filter, and refuses to add it again.  So that the pipe goes on being reported, the next
 * xp_kq_load registers an always active EVFILT_USER in its place.  Any thread may call this
 * function.
 */
void xp_kq_note_write_removed(struct xp_kq_set *set, int fd);
/*
 * Returns true if a change has failed because its descriptor was closed.  Returns false for a pipe
 * of which only WRITE was removed; calls xp_kq_note_write_removed for it.  Any thread may call this
 * function.
 */
bool xp_kq_is_gone(struct xp_kq_set *set, const struct kevent *failed);

/* --- xpoll_fd ------------------------------------------------------------------ */

void xp_kq_outer_init(struct xp_kq_outer *outer);
/*
 * Close the outer kqueue and the wake-up descriptor.  ours: false in a forked child, which does not
 * inherit the kqueue: there outer->fd may be the number of another file, which stays open.
 */
void xp_kq_outer_fini(struct xp_kq_outer *outer, bool ours);

extern const struct xp_outer_ops xp_kq_outer_ops; /* called with a struct xp_kq_set */

/*
 * Poll the outer kqueue.  Only a poll makes the kernel remove reports that no longer hold; until
 * then the descriptor stays readable because of these.  Called with the lock held.
 */
void xp_kq_outer_refresh(struct xp_kq_outer *outer);

/*
 * Add READ of a descriptor of the library's own to a kqueue; flags: 0 or EV_CLEAR.  Returns 0 or a
 * negative errno value.
 */
int xp_kq_add_own_fd(int queue_fd, int fd, unsigned flags);

#endif
