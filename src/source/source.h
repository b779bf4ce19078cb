/*
 * The interface between the queue and its sources, which report events other
 * than readiness: one table of functions per filter.
 *
 * A registration of such a filter is a struct xp_registration, found by (ident,
 * filter).  The queue owns it; the source's private part follows it in memory.
 * The source reports through xp_host, at the end of this file.
 * To add a kind of event, add a source; the queue does not change.
 *
 * A source keeps what it needs once per queue in its state (xp_host.state),
 * which it makes with the first registration.  The queue watches descriptors of
 * the source, such as that of an inotify instance or of a process.
 *
 * All functions are called with the queue's lock held, and only `fini` may
 * sleep.
 */
#ifndef XP_SOURCE_SOURCE_H
#define XP_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/compiler.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/regmap.h"
#include "base/time.h"
#include "base/udata.h"

struct xp_registration {
	struct xp_regmap_item item; /* ident */
	int8_t filter;
	uint8_t place : 6;   /* in its block of the pool */
	uint8_t active : 1;  /* the condition holds */
	uint8_t orphan : 1;  /* in a forked child: not inherited yet */
	uint16_t flags;      /* XPOLL_CLEAR, ONESHOT, DISPATCH, DISABLE */
	uint32_t fflags;     /* what is requested */
	struct xp_list ready; /* in the queue's list of active ones */
	int64_t data;
	union xp_udata udata;
	uint32_t wait_epoch; /* the last wait call that reported it */
	/* What happened, the event's fflags; or, of a timer that runs, the place in the heap. */
	union { uint32_t report; struct xp_heap_item timer; };
	/* Of a timer; or, of VNODE, xp_host.wait_generation when the file was verified. */
	union { int64_t deadline_ns; uint64_t verified; };
};

/* All sources: add a source here and write its file; docs/internals/sources.md lists the rest. */
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

/* Their places in a queue's table of states. */
enum xp_source_id {
	XP_SOURCE_LIST(XP_SOURCE_ID)
	XP_SOURCE_NONE, /* the queue itself, for times of its own */
	XP_SOURCES,
};

/* The name of a bit of fflags; a list of them ends with 0. */
struct xp_note_name {
	uint32_t bit;
	const char *name;
};

/* The step before which `refresh` is called. */
enum xp_step {
	XP_BEFORE_CHANGE, /* a change is applied, or a registration looked up */
	/*
	 * A wait is about to return EINTR, because a signal handler has run on its
	 * thread.  It does not if `refresh` makes a registration active.
	 */
	XP_BEFORE_EINTR,
	/*
	 * A thread is about to ask the kernel, and may sleep.  What happens from now on has
	 * to make a watched descriptor readable, as long as xp_host.awaited.  Only after
	 * xp_host.set_probed.
	 */
	XP_BEFORE_SLEEP,
	XP_BEFORE_COUNTERS, /* the counters are read: count what only a check can find */
};

/* Functions of a source for the whole process.  Called without the queue's lock. */
struct xp_source_process {
	/*
	 * A process begins, perhaps as a copy of one whose threads held locks.
	 * No other thread runs here yet.
	 */
	void (*begin)(void);
	/*
	 * The program is about to close this descriptor, and every queue has
	 * forgotten it: wait until the source no longer uses it.  Optional.
	 */
	void (*unused)(int fd);
};

struct xp_source_ops {
	int filter;
	enum xp_source_id id;
	const char *name;                 /* as in XPOLL_FILT_NAME */
	const struct xp_note_name *notes; /* NULL: it has none */
	bool bare; /* a change may have fflags without an action, as a trigger */
	uint16_t implied; /* flags every registration gets: XPOLL_CLEAR or 0 */
	uint32_t fflags;  /* the bits a change may have */
	size_t size;      /* of its registrations, struct xp_registration first */

	/* The ident is a descriptor's: the registration ends when that is closed. */
	bool of_fd;

	/*
	 * Find out what has happened, because it matters for what is about to be
	 * done.  Called only if there is a state.  Optional.
	 */
	void (*refresh)(struct xpoll *queue, enum xp_step before);
	/*
	 * A change is about to create a registration: 0, or -EINVAL ...
	 * NULL: this system has no such source.
	 */
	int (*attach)(struct xpoll *queue, struct xp_registration *reg,
	              const struct xpoll_event *change);
	/*
	 * A change of an existing registration; may alter fflags and data.  -ESTALE: its
	 * ident is something else now; it ends, and an ADD makes a new one.
	 */
	int (*touch)(struct xpoll *queue, struct xp_registration *reg,
	             const struct xpoll_event *change);
	/* The registration ends; the queue frees its memory.  Optional. */
	void (*detach)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * Fill in fflags and data of the event; reset them if CLEAR.  The result is
	 * 0 or XPOLL_EOF; or -EAGAIN: its condition does not hold any more, so the
	 * source has deactivated it, and stored nothing.
	 */
	int (*collect)(struct xpoll *queue, struct xp_registration *reg,
	               struct xpoll_event *event);

	/*
	 * Changes of this registration come soon: prefetch what they read of the source's.
	 * It may change before they come, and may be gone.  Optional.
	 */
	void (*prefetch)(struct xpoll *queue, const struct xp_registration *reg);

	/*
	 * If an ident can become something else, as a descriptor can: is it still
	 * what was registered?  0, -EBADF (it is nothing now), or -ENOENT (it is
	 * something else).  Called before DELETE and before delivery; on an error the
	 * registration ends.  -EBUSY: it cannot be deleted now, and stays.
	 * deliver: a look since the present xp_host.wait_generation began need not be repeated.
	 * Optional.
	 */
	int (*confirm)(struct xpoll *queue, const struct xp_registration *reg, bool deliver);

	/* Returns true if this system supports all of these fflags.  NULL: it supports `fflags`. */
	bool (*supports)(uint32_t fflags);
	/*
	 * The registration was enabled or disabled, by a change or by DISPATCH: see its flags.
	 * For sources that save work while it is disabled.  Optional.
	 */
	void (*switched)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * The time given to xp_host.set_due has come.  The waiting thread has room for
	 * `room` events; activating many more would only delay all threads.  If some
	 * are left, set the time again, and this is called at once.
	 */
	void (*due)(struct xpoll *queue, int64_t now_ns, int room);

	/*
	 * The queue ends, perhaps in a forked child that has copies of the
	 * kernel's objects: close and free what the registration holds, and
	 * change nothing that the parent shares.  Optional.
	 */
	void (*release)(struct xpoll *queue, struct xp_registration *reg);
	/* The same for the state, after all registrations; may sleep. */
	void (*fini)(struct xpoll *queue, void *state);
	/*
	 * xpoll_reinit in a forked child, after `release` and `fini`: give the
	 * registration kernel objects of the child.  It ends if this fails, or
	 * is NULL.
	 */
	int (*inherit)(struct xpoll *queue, struct xp_registration *reg);
	const struct xp_source_process *process; /* NULL: it has no such part */
};

/* A source that a system lacks has only names: each ADD fails with ENOTSUP. */
#define XP_SOURCE_ABSENT(upper, names)        \
	{                                     \
		.filter = XPOLL_FILT_##upper, \
		.id = XP_SOURCE_##upper,      \
		.name = #upper,               \
		.notes = (names),             \
	}

/* The source of a filter; NULL: there is no such filter. */
const struct xp_source_ops *xp_source_find(int filter);
/* By the number of the filter, which is negative. */
extern const struct xp_source_ops *const xp_source_by_filter[];
/* The source of a registration. */
static inline const struct xp_source_ops *xp_source_of(const struct xp_registration *reg)
{
	return xp_source_by_filter[-reg->filter];
}
/* All of them; ends with NULL. */
extern const struct xp_source_ops *const xp_sources[];

XP_SOURCE_LIST(XP_SOURCE_DECLARATION)

/* A descriptor of a source's own, watched by the queue for being readable. */
struct xp_source_fd {
	int fd;
	/* The descriptor is readable, or was a moment ago; read it without waiting. */
	void (*ready)(struct xpoll *queue, struct xp_source_fd *source_fd);
};

/*
 * In place of a time: `due` is called whenever a thread checks for events.  For a
 * source whose descriptor may not be readable although there is something to report.
 */
#define XP_ON_DEMAND (XP_NEVER - 1)

/* The functions of the queue that sources may call. */
struct xp_host {
	/* The condition began, or ceased, to hold. */
	void (*set_active)(struct xpoll *queue, struct xp_registration *reg, bool active);
	/* A number that changes when a wait begins, and when a thread is back from a sleep. */
	uint64_t (*wait_generation)(const struct xpoll *queue);

	/* A registration of (ident, filter); NULL: there is none. */
	struct xp_registration *(*find)(const struct xpoll *queue, uint64_t ident,
	                                int filter);
	/*
	 * A registration that the source makes itself, as for a tracked child: a
	 * copy of `model` under another ident, without its private part and not
	 * attached.  NULL: there is no memory, or there is such a registration.
	 */
	struct xp_registration *(*spawn)(struct xpoll *queue, const struct xp_registration *model,
	                                 uint64_t ident);
	/* End a registration: detach and free it. */
	void (*end)(struct xpoll *queue, struct xp_registration *reg);

	/* The source's state in this queue, NULL at first; it may be set. */
	void **(*state)(struct xpoll *queue, enum xp_source_id id);
	/*
	 * Call `due` at this time of the monotonic clock, or soon after; XP_NEVER:
	 * not at all.  It is in effect until it is set again, as `due` has to do.
	 */
	void (*set_due)(struct xpoll *queue, enum xp_source_id id,
	                int64_t deadline_ns);
	/*
	 * The monotonic clock, for changes: the first change that asks reads it, for
	 * all changes of the call.
	 */
	int64_t (*now)(struct xpoll *queue);
	/*
	 * Is the queue watched by its descriptor, so that no thread checks it?
	 * Then XP_ON_DEMAND is not enough.  When that begins, `due` is called for
	 * the sources that have it set.
	 */
	bool (*outer_in_use)(const struct xpoll *queue);
	/*
	 * For sources that learn of what happens without a system call: have `refresh` called
	 * before a sleep.  Their descriptors need not be readable while nobody sleeps.
	 */
	void (*set_probed)(struct xpoll *queue);
	/*
	 * Does a thread sleep in the kernel, or is the queue watched by its descriptor?  If
	 * not, nobody does before the next XP_BEFORE_SLEEP.
	 */
	bool (*awaited)(const struct xpoll *queue);
	/* Was the queue opened with XPOLL_VNODE_AS_BSD? */
	bool (*vnode_as_bsd)(const struct xpoll *queue);
	/* An observed signal has lost its handler: count it. */
	void (*unobserved)(struct xpoll *queue);
	/*
	 * Returns true if a wait calls the source, and its sleeps let this signal in although
	 * the thread blocks it now.
	 */
	bool (*lets_in)(const struct xpoll *queue, unsigned number);
	/*
	 * A handler may have run in the sleep of the thread that calls `ready`: if there is no
	 * event for it, its wait ends with EINTR.
	 */
	void (*interrupted)(struct xpoll *queue);

	/*
	 * Watch a descriptor: 0 or a negative errno value.  The source owns the
	 * memory, and calls unwatch before it closes the descriptor.
	 */
	int (*watch)(struct xpoll *queue, struct xp_source_fd *source_fd);
	void (*unwatch)(struct xpoll *queue, struct xp_source_fd *source_fd);
};
extern const struct xp_host xp_host;

#endif
