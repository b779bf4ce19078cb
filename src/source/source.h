/*
 * The interface between the queue and its sources, which report events other than readiness: one
 * table of functions per filter.
 *
 * A registration of such a filter is a struct xp_registration, found by (ident, filter).  The queue
 * owns it; the source's private part follows it in memory.  The source reports through xp_host, at
 * the end of this file.  A new kind of event is a new source; the queue does not change.
 *
 * A source has a state for each queue (xp_host.state), allocated with its first registration.  The
 * queue watches descriptors for the source, such as an inotify instance or a pidfd.
 *
 * All functions are called with the queue's lock held, and only `fini` may sleep.
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
	uint8_t active : 1;  /* the condition is true */
	uint8_t orphan : 1;  /* in a forked child: not inherited yet */
	uint16_t flags;      /* XPOLL_CLEAR, ONESHOT, DISPATCH, DISABLE */
	uint32_t fflags;     /* requested fflags */
	struct xp_list ready; /* links it into the queue's list of active registrations */
	int64_t data;
	union xp_udata udata;
	uint32_t wait_epoch; /* the last wait that delivered it */
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

/* Indexes into a queue's table of states. */
enum xp_source_id {
	XP_SOURCE_LIST(XP_SOURCE_ID)
	XP_SOURCE_NONE, /* not a source: due times of the queue itself */
	XP_SOURCES,
};

/* The name of a bit of fflags; a list ends with bit 0. */
struct xp_note_name {
	uint32_t bit;
	const char *name;
};

/* The step before which `refresh` is called. */
enum xp_step {
	XP_BEFORE_CHANGE, /* a change is applied, or a registration is looked up */
	/*
	 * A wait is about to return EINTR, because a signal handler ran on its thread.  If
	 * `refresh` activates a registration, the wait returns that event instead.
	 */
	XP_BEFORE_EINTR,
	/*
	 * A thread is about to poll the kernel, and may sleep.  From now on each event of the
	 * source must make a watched descriptor readable, as long as xp_host.awaited.  Only after
	 * xp_host.set_probed.
	 */
	XP_BEFORE_SLEEP,
	XP_BEFORE_COUNTERS, /* the counters are read: update those that need a check */
};

/* Functions of a source for the whole process.  Called without the queue's lock. */
struct xp_source_process {
	/*
	 * Initialise in a new process, perhaps a copy of one whose threads held locks.  No other
	 * thread runs yet.
	 */
	void (*begin)(void);
	/*
	 * The program is about to close this descriptor, which no queue has any more: wait until
	 * the source does not use it.  Optional.
	 */
	void (*unused)(int fd);
};

struct xp_source_ops {
	int filter;
	enum xp_source_id id;
	const char *name;                 /* the name in XPOLL_FILT_NAME */
	const struct xp_note_name *notes; /* names of its fflags; NULL: none */
	bool bare; /* a change may have fflags without an action, as a trigger */
	uint16_t implied; /* flags that every registration gets: XPOLL_CLEAR or 0 */
	uint32_t fflags;  /* the fflags that a change may have */
	size_t size;      /* of its registrations, struct xp_registration first */

	/* The ident is a descriptor; a registration ends when it is closed. */
	bool of_fd;

	/*
	 * Find out which conditions are true now, before this step.  Called only if there is a
	 * state.  Optional.
	 */
	void (*refresh)(struct xpoll *queue, enum xp_step before);
	/*
	 * Begin a new registration.  Returns 0, or -EINVAL ...  NULL: this system lacks the source.
	 */
	int (*attach)(struct xpoll *queue, struct xp_registration *reg,
	              const struct xpoll_event *change);
	/*
	 * Change an existing registration; may alter fflags and data.  -ESTALE: its ident refers to
	 * another object now; it ends, and an ADD makes a new one.
	 */
	int (*touch)(struct xpoll *queue, struct xp_registration *reg,
	             const struct xpoll_event *change);
	/* The registration ends; the queue frees its memory.  Optional. */
	void (*detach)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * Store fflags and data of the event; reset them if CLEAR.  Returns 0 or XPOLL_EOF; or
	 * -EAGAIN: the condition is not true any more, so the source has deactivated the
	 * registration and stored nothing.
	 */
	int (*collect)(struct xpoll *queue, struct xp_registration *reg,
	               struct xpoll_event *event);

	/*
	 * Prefetch memory of the source that changes of this registration will use soon.  The
	 * registration may change or end before.  Optional.
	 */
	void (*prefetch)(struct xpoll *queue, const struct xp_registration *reg);

	/*
	 * For idents that can be reused, such as descriptors: verify that the ident still refers to
	 * the registered object.  Returns 0; -EBADF: it refers to nothing; -ENOENT: to another
	 * object; -EBUSY: it cannot be deleted now, and stays.  Called before DELETE and before
	 * delivery, unless the source has just verified it; after an error except -EBUSY the
	 * registration ends.  Optional.
	 */
	int (*confirm)(struct xpoll *queue, const struct xp_registration *reg, bool deliver);

	/* Returns true if this system supports all of these fflags.  NULL: it supports `fflags`. */
	bool (*supports)(uint32_t fflags);
	/*
	 * The registration was enabled or disabled, by a change or by DISPATCH: see its flags.  For
	 * sources that save work for disabled registrations.  Optional.
	 */
	void (*switched)(struct xpoll *queue, struct xp_registration *reg);
	/*
	 * The time passed to xp_host.set_due has come.  The waiting thread has room for `room`
	 * events; activating many more would only delay all threads.  If some are left, set the
	 * time again, and this is called at once.
	 */
	void (*due)(struct xpoll *queue, int64_t now_ns, int room);

	/*
	 * The queue ends, perhaps in a forked child, which has copies of the kernel's objects:
	 * close and free what the registration holds, and change nothing that the parent shares.
	 * Optional.
	 */
	void (*release)(struct xpoll *queue, struct xp_registration *reg);
	/* The same for the state, after all registrations; may sleep. */
	void (*fini)(struct xpoll *queue, void *state);
	/*
	 * In xpoll_reinit, after `release` and `fini`: give the registration kernel objects of the
	 * child.  If this fails or is NULL, the registration ends.
	 */
	int (*inherit)(struct xpoll *queue, struct xp_registration *reg);
	const struct xp_source_process *process; /* NULL: the source needs none */
};

/* A source that a system lacks has only names: each ADD fails with ENOTSUP. */
#define XP_SOURCE_ABSENT(upper, names)        \
	{                                     \
		.filter = XPOLL_FILT_##upper, \
		.id = XP_SOURCE_##upper,      \
		.name = #upper,               \
		.notes = (names),             \
	}

/* Returns the source of a filter; NULL: there is no such filter. */
const struct xp_source_ops *xp_source_find(int filter);
/* By the number of the filter, which is negative. */
extern const struct xp_source_ops *const xp_source_by_filter[];
/* The source of a registration. */
static inline const struct xp_source_ops *xp_source_of(const struct xp_registration *reg)
{
	return xp_source_by_filter[-reg->filter];
}
/* All sources; ends with NULL. */
extern const struct xp_source_ops *const xp_sources[];

XP_SOURCE_LIST(XP_SOURCE_DECLARATION)

/* A descriptor of a source that the queue watches for being readable. */
struct xp_source_fd {
	int fd;
	/* The descriptor was reported as readable: read it without blocking. */
	void (*ready)(struct xpoll *queue, struct xp_source_fd *source_fd);
};

/*
 * In place of a time: `due` is called whenever a thread polls for events.  For a source whose
 * descriptor may not be readable although it has something to report.
 */
#define XP_ON_DEMAND (XP_NEVER - 1)

/* The functions of the queue that sources may call. */
struct xp_host {
	/* The condition of a registration has become true, or false. */
	void (*set_active)(struct xpoll *queue, struct xp_registration *reg, bool active);
	/* A number that changes when a wait begins, and when a thread is back from a sleep. */
	uint64_t (*wait_generation)(const struct xpoll *queue);

	/* Returns the registration of (ident, filter); NULL: there is none. */
	struct xp_registration *(*find)(const struct xpoll *queue, uint64_t ident,
	                                int filter);
	/*
	 * Make a registration for the source itself, such as one for a tracked child: a copy of
	 * `model` with another ident, without its private part and not attached.  Returns NULL
	 * without memory, or if there is such a registration.
	 */
	struct xp_registration *(*spawn)(struct xpoll *queue, const struct xp_registration *model,
	                                 uint64_t ident);
	/* Detach and free a registration. */
	void (*end)(struct xpoll *queue, struct xp_registration *reg);

	/* Returns the address of the source's state in this queue, which is NULL at first. */
	void **(*state)(struct xpoll *queue, enum xp_source_id id);
	/*
	 * Call `due` at this time of the monotonic clock, or soon after; XP_NEVER: not at all.  The
	 * time remains set until the source sets another, which `due` has to do.
	 */
	void (*set_due)(struct xpoll *queue, enum xp_source_id id,
	                int64_t deadline_ns);
	/*
	 * Returns the time of the monotonic clock for a change; all changes of a call get the same.
	 */
	int64_t (*now)(struct xpoll *queue);
	/*
	 * Returns true if xpoll_fd was called, so perhaps no thread polls the queue, and
	 * XP_ON_DEMAND is not enough.  When that begins, `due` of sources with XP_ON_DEMAND is
	 * called.
	 */
	bool (*outer_in_use)(const struct xpoll *queue);
	/*
	 * For sources whose conditions change without a system call: have `refresh` called before
	 * each sleep.  Their descriptors need not be readable while no thread sleeps.
	 */
	void (*set_probed)(struct xpoll *queue);
	/*
	 * Returns true if a thread sleeps in the kernel, or if xpoll_fd was called.  If not, no
	 * thread sleeps before the next XP_BEFORE_SLEEP.
	 */
	bool (*awaited)(const struct xpoll *queue);
	/* Returns true if the queue was opened with XPOLL_VNODE_AS_BSD. */
	bool (*vnode_as_bsd)(const struct xpoll *queue);
	/* An observed signal has lost its handler: count it. */
	void (*unobserved)(struct xpoll *queue);
	/*
	 * Returns true if a wait calls the source, and its sleeps unblock this signal, which the
	 * thread blocks now.
	 */
	bool (*lets_in)(const struct xpoll *queue, unsigned number);
	/*
	 * A handler may have run in the sleep of the thread that calls `ready`: if that yields no
	 * event, its wait ends with EINTR.
	 */
	void (*interrupted)(struct xpoll *queue);

	/*
	 * Watch a descriptor.  Returns 0 or a negative errno value.  The source owns the memory,
	 * and calls unwatch before it closes the descriptor.
	 */
	int (*watch)(struct xpoll *queue, struct xp_source_fd *source_fd);
	void (*unwatch)(struct xpoll *queue, struct xp_source_fd *source_fd);
};
extern const struct xp_host xp_host;

#endif
