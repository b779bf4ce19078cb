/*
 * The interface between the queue and its sources, which report events other than readiness: one
 * table of functions per filter.
 *
 * A registration of such a filter is a struct xp_registration, found by (ident, filter).  The queue
 * owns it; the source may add private members, which follow struct xp_registration in memory.  The
 * source calls the queue by the functions of xp_host, at the end of this file.  A new kind of event
 * is a new source; the queue does not change.
 *
 * A source has a state for each queue (xp_host.state), which its first registration in the queue
 * allocates.  The queue can watch descriptors for the source, such as an inotify instance or a
 * pidfd.
 *
 * All functions of struct xp_source_ops except `supports` are called with the queue's lock held or,
 * when the queue ends, while no other thread uses it.  Of these only `fini` may sleep.
 */
#ifndef XP_SOURCE_SOURCE_H
#define XP_SOURCE_SOURCE_H

#include <xpoll.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/regmap.h"
#include "base/udata.h"

struct xp_registration {
	struct xp_regmap_item item; /* item of the queue's map of registrations; has the ident */
	int8_t filter;
	/* index of this struct in a block of the source's pool (base/pool.h) */
	uint8_t pool_index : 6;
	uint8_t active : 1;  /* there is an event to deliver, if the registration is enabled */
	/*
	 * in a forked child: `inherit` failed for lack of memory or descriptors, and the next
	 * xpoll_reinit must call it again
	 */
	uint8_t inherit_pending : 1;
	uint16_t flags;      /* XPOLL_CLEAR, _ONESHOT, _DISPATCH, _DISABLE */
	uint32_t fflags;     /* the fflags that the program requested */
	/* links the registration into the queue's list of active and enabled ones */
	struct xp_list ready;
	int64_t data; /* private to the source */
	union xp_udata udata;
	/* number of the last wait that delivered the registration's event, modulo 2^32 */
	uint32_t wait_epoch;
	/* VNODE and PROC: fflags of the next event.  TIMER: place in the heap of running timers. */
	union { uint32_t pending_fflags; struct xp_heap_item timer; };
	/*
	 * TIMER: the next expiration, on the timer's clock.  VNODE: xp_host.wait_generation when
	 * `ident` was last verified.
	 */
	union { int64_t deadline_ns; uint64_t verified_generation; };
};

/*
 * All sources.  To add a source, add its names here and write source/NAME.c;
 * docs/internals/sources.md lists the other steps.
 */
#define XP_SOURCE_LIST(each) \
	each(USER, user) \
	each(TIMER, timer) \
	each(SIGNAL, signal) \
	each(VNODE, vnode) \
	each(PROC, proc) \
	each(AIO, aio) \
	each(EMPTY, empty)

#define XP_SOURCE_ID(upper, lower) XP_SOURCE_##upper,
#define XP_SOURCE_DECLARATION(upper, lower) \
	extern const struct xp_source_ops xp_source_##lower;

/* Indexes of the sources in a queue's array of states. */
enum xp_source_id {
	XP_SOURCE_LIST(XP_SOURCE_ID)
	XP_SOURCE_NONE, /* not a source: the index for due times of the queue itself */
	XP_SOURCES,
};

/* The name of a bit of fflags.  An array of these ends with bit 0. */
struct xp_note_name {
	uint32_t bit;
	const char *name;
};

/* The step that the queue takes next, when it calls `refresh` of a source. */
enum xp_step {
	XP_BEFORE_CHANGE, /* the queue applies a change, or returns the state of a registration */
	/*
	 * The wait returns EINTR, because a signal handler ran, or may have run, on its thread.  If
	 * `refresh` activates a registration, the wait returns that event instead.
	 */
	XP_BEFORE_EINTR,
	/*
	 * A thread polls the kernel, perhaps with a sleep.  From now on, while xp_host.awaited
	 * returns true, each event of the source must make a watched descriptor readable.  Sources
	 * get this call in the first xpoll_fd, and before each poll once a source of the queue has
	 * called xp_host.set_probed.
	 */
	XP_BEFORE_SLEEP,
	/* the program reads the queue's counters: update those that need a check */
	XP_BEFORE_COUNTERS,
};

/* Functions of a source that concern the whole process.  Called without the lock of any queue. */
struct xp_source_process {
	/*
	 * Initialise the process-wide data, once in each process: before its first queue exists,
	 * and in a forked child before a queue is used.  In a child the data, and the state of
	 * locks, are copies from the parent.
	 */
	void (*begin)(void);
	/*
	 * Called in xpoll_forget_fd and xpoll_close_fd, after all registrations of fd have ended
	 * and before the program may close fd: wait until the source does not use it.  Optional.
	 */
	void (*await_unused)(int fd);
};

struct xp_source_ops {
	int filter;
	enum xp_source_id id;
	const char *name;                 /* the filter's name after XPOLL_FILT_ */
	const struct xp_note_name *notes; /* names of the filter's fflags; NULL: none */
	/* a change may have fflags without an action such as ADD (USER: a trigger) */
	bool is_action_optional;
	/* flags that every registration gets besides its own, such as XPOLL_CLEAR */
	uint16_t implied;
	uint32_t fflags;  /* the fflags that a change may have */
	/* size of a registration of this source, which begins with struct xp_registration */
	size_t size;

	/* The ident is a descriptor, and the registration ends when the program closes it. */
	bool of_fd;

	/*
	 * Find out what has happened up to now, and activate registrations for it; `before` is the
	 * step that follows.  Called only if the source has a state in this queue.  Optional.
	 */
	void (*refresh)(struct xpoll *queue, enum xp_step before);
	/*
	 * Begin a new registration.  Returns 0, or the error of the change, such as -EINVAL.  NULL:
	 * this system lacks the source, and every change fails with ENOTSUP.
	 */
	int (*attach)(struct xpoll *queue, struct xp_registration *reg,
	              const struct xpoll_event *change);
	/*
	 * Change an existing registration; may alter its fflags and data.  Returns 0, or the error
	 * of the change.  -ESTALE: the ident refers to another object now, so the registration
	 * ends, and an ADD makes a new one.
	 */
	int (*touch)(struct xpoll *queue, struct xp_registration *reg,
	             const struct xpoll_event *change);
	/*
	 * Called when the registration ends before the queue does: undo `attach`.  The queue frees
	 * the memory.  Optional.
	 */
	void (*detach)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * Store fflags and data of the event to deliver; with XPOLL_CLEAR, reset them in the
	 * registration.  Returns 0, or XPOLL_EOF as a flag for the event.  -EAGAIN: the condition
	 * is not true any more, so the source has deactivated the registration and stored nothing.
	 */
	int (*collect)(struct xpoll *queue, struct xp_registration *reg, struct xpoll_event *event);

	/*
	 * Prefetch the source's data that a change of this registration will probably read soon.
	 * This is only a guess: the change may be for another registration with the same hash, and
	 * this one may have ended, or may end before.  Optional.
	 */
	void (*prefetch)(struct xpoll *queue, const struct xp_registration *reg);

	/*
	 * For idents that can be reused, such as descriptors: verify that the ident still refers to
	 * the registered object.  Returns 0; -EBADF: it refers to nothing; -ENOENT: it refers to
	 * another object; -EBUSY: DELETE must fail now, and the registration stays.  Called before
	 * DELETE (deliver: false) and before a delivery (deliver: true).  After another error than
	 * -EBUSY the registration ends.  Optional.
	 */
	int (*verify_ident)(struct xpoll *queue, const struct xp_registration *reg, bool deliver);

	/*
	 * Returns true if this system supports all of these fflags.  NULL: it supports all bits of
	 * the member `fflags` above.
	 */
	bool (*supports)(uint32_t fflags);
	/*
	 * Called after a change with XPOLL_ENABLE or XPOLL_DISABLE, and after the delivery of a
	 * registration with XPOLL_DISPATCH, which disables it.  The registration's flags have
	 * XPOLL_DISABLE if it is disabled now.  For sources that save work for disabled
	 * registrations.  Optional.
	 */
	void (*switched)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * Called when the time that was passed to xp_host.set_due has come (with XP_ON_DEMAND: at
	 * each poll for events).  The waiting thread has room for `room` events; activating many
	 * more would delay all threads.  If registrations are left to activate, pass a time in the
	 * past to set_due: then the next wait calls this function again.
	 */
	void (*due)(struct xpoll *queue, int64_t now_ns, int room);

	/*
	 * Called when the queue ends, perhaps in a forked child, which has copies of the parent's
	 * descriptors: close and free what the registration holds, but change no kernel object that
	 * the parent uses.  Optional.
	 */
	void (*release)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * Free the source's state, after `release` of all registrations; may sleep.  In a forked
	 * child change no kernel object that the parent uses.
	 */
	void (*fini)(struct xpoll *queue, void *state);
	/*
	 * Called in xpoll_reinit, after `release` and `fini` of the copied queue: make kernel
	 * objects of the child for the registration.  If this fails or is NULL, the registration
	 * ends; after a lack of memory or descriptors it stays until the next xpoll_reinit.
	 */
	int (*inherit)(struct xpoll *queue, struct xp_registration *reg);
	const struct xp_source_process *process; /* NULL: the source has no data of the process */
};

/* The table of a source that a system lacks: names only, so every change fails with ENOTSUP. */
#define XP_SOURCE_ABSENT(upper, names)        \
	{                                     \
		.filter = XPOLL_FILT_##upper, \
		.id = XP_SOURCE_##upper,      \
		.name = #upper,               \
		.notes = (names),             \
	}

/* Returns the source of a filter; NULL: there is no such filter. */
const struct xp_source_ops *xp_source_find(int filter);
/* All sources, indexed by -filter, because the numbers of filters are negative. */
extern const struct xp_source_ops *const xp_source_by_filter[];
/* Returns the functions that serve a registration, by its filter. */
static inline const struct xp_source_ops *xp_source_of(const struct xp_registration *reg)
{
	return xp_source_by_filter[-reg->filter];
}
/* All sources, in the order of XP_SOURCE_LIST; ends with NULL. */
extern const struct xp_source_ops *const xp_sources[];

XP_SOURCE_LIST(XP_SOURCE_DECLARATION)

/* A descriptor that the queue watches for a source, level-triggered unless `once` is set. */
struct xp_source_fd {
	int fd;
	/*
	 * The descriptor is reported once for each call of `watch`: after the report it is silent,
	 * even if a forked process has a duplicate.
	 */
	bool once;
	/*
	 * Called when the kernel has reported the descriptor as readable: reads the descriptor
	 * without blocking.  If `once` is set and the descriptor is readable for ever, the source
	 * may set this to NULL before it calls `unwatch`, which then need not change the kernel's
	 * set.
	 */
	void (*ready)(struct xpoll *queue, struct xp_source_fd *source_fd);
};

/*
 * For set_due, in place of a time: call `due` whenever a thread polls for events.  For a source
 * whose descriptor may not be readable although the source has something to report.
 */
#define XP_ON_DEMAND (XP_NEVER - 1)

/* The functions of the queue that a source may call, only while the queue is calling the source. */
struct xp_host {
	/* Record that the registration has an event to deliver (active), or none any more. */
	void (*set_active)(struct xpoll *queue, struct xp_registration *reg, bool active);
	/*
	 * Returns a number that changes when a wait begins and when a thread returns from a sleep.
	 * While the number is the same, idents that the source has verified need no second check.
	 */
	uint64_t (*wait_generation)(const struct xpoll *queue);

	/* Returns the registration of (ident, filter); NULL: there is none. */
	struct xp_registration *(*find)(const struct xpoll *queue, uint64_t ident, int filter);
	/*
	 * Make a registration on behalf of the source, such as one for a tracked child: with
	 * another ident, and the flags, fflags and udata of `model`.  Its private part is zero, and
	 * `attach` is not called.  Returns NULL without memory, or if the ident has a registration
	 * already.
	 */
	struct xp_registration *(*spawn)(struct xpoll *queue, const struct xp_registration *model,
	                                 uint64_t ident);
	/* Call `detach` for a registration, and free it. */
	void (*end)(struct xpoll *queue, struct xp_registration *reg);

	/*
	 * Returns the address of the pointer to the source's state in this queue; the pointer is
	 * NULL at first, and the source sets it.
	 */
	void **(*state)(struct xpoll *queue, enum xp_source_id id);
	/*
	 * Have the queue call `due` at this time of the monotonic clock or soon after, and in each
	 * later wait until the source sets another time; so `due` must set one.  XP_NEVER: do not
	 * call it.
	 */
	void (*set_due)(struct xpoll *queue, enum xp_source_id id, int64_t deadline_ns);
	/*
	 * Returns the time of the monotonic clock; the same time for all changes that one call of
	 * the program passes.
	 */
	int64_t (*now)(struct xpoll *queue);
	/*
	 * Returns true if the program has called xpoll_fd.  Then there may be no thread that waits
	 * in the queue and, when it polls, calls the `due` of a source with XP_ON_DEMAND: such a
	 * source has to set a time instead.  The first xpoll_fd calls `due` once, so that the
	 * source can set the time.
	 */
	bool (*outer_in_use)(const struct xpoll *queue);
	/*
	 * For sources whose conditions change without a system call: from now on the queue calls
	 * `refresh` before each sleep.  While no thread sleeps, the source's descriptors need not
	 * be readable.
	 */
	void (*set_probed)(struct xpoll *queue);
	/*
	 * Returns true if a thread sleeps in the kernel, or if xpoll_fd was called, so that a
	 * thread outside the queue may sleep.  If false, no thread sleeps before the next
	 * XP_BEFORE_SLEEP.
	 */
	bool (*awaited)(const struct xpoll *queue);
	/* Returns true if the queue was opened with XPOLL_VNODE_AS_BSD. */
	bool (*vnode_as_bsd)(const struct xpoll *queue);
	/* Count that the program has replaced the handler of an observed signal. */
	void (*count_unobserved)(struct xpoll *queue);
	/*
	 * Returns true if the source is called by a wait whose sleeps unblock this signal, although
	 * the waiting thread blocks it now.
	 */
	bool (*unblocks_signal)(const struct xpoll *queue, unsigned number);
	/*
	 * A source calls this in its `ready` if a signal handler may have run in the thread's last
	 * sleep: if that sleep yields no event, the wait returns EINTR.
	 */
	void (*interrupted)(struct xpoll *queue);

	/*
	 * Watch a descriptor: the queue calls `ready` whenever the kernel reports it as readable.
	 * Returns 0 or a negative errno value.  The memory belongs to the source, which must call
	 * unwatch before it closes the descriptor, unless the queue ends.
	 */
	int (*watch)(struct xpoll *queue, struct xp_source_fd *source_fd);
	void (*unwatch)(struct xpoll *queue, struct xp_source_fd *source_fd);
};
extern const struct xp_host xp_host;

#endif
