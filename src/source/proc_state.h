/*
 * The parts of PROC, which share this file; each calls functions of those below it, and
 * proc_trace.c also those of a tracer, by struct xp_tracer_ops:
 *
 *   proc.c                     the filter: registrations begin, change and end
 *   linux/proc_TRACER.c        tracers: get reports of forks and execs from the kernel
 *   proc_trace.c               handles reports of forks, execs and exits; tracked children
 *   proc_state.c               a registered process
 *   linux/proc_pidfd.c         a descriptor of a process, and its status
 *
 * A queue has at most one tracer, which is opened with the first registration that needs one, and
 * closed when none does any more.
 *
 * Functions are called with the queue's lock held or, when the queue ends, while no other thread
 * uses it.  But `supports` of PROC, which uses no queue, calls `usable` of tracers, xp_proc_open,
 * xp_proc_is_unpollable and xp_proc_close_fd without a lock.
 */
#ifndef XP_SOURCE_PROC_STATE_H
#define XP_SOURCE_PROC_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "source/source.h"

/* The notes that only a tracer can report. */
#define XP_PROC_TRACED \
	(XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC | XPOLL_NOTE_TRACK)

/* A registration of PROC, and what is known about its process. */
struct xp_proc {
	struct xp_registration reg;
	/* the process's descriptor; fd -1: the process had exited before one could be opened */
	struct xp_source_fd watch;
	/* links the process into `traced` of the state; empty: the tracer does not follow it */
	struct xp_list traced;
	/* links the process into `to_end` of the state: its exit is known, and will be reported */
	struct xp_list to_end;
	/* links the process into `maybe_exited` of the state, until check_exit checks it */
	struct xp_list maybe_exited;
	/* links the process into `polled` of the state: its descriptor never becomes readable */
	struct xp_list polled;
	/*
	 * perf tracer: the perf events of the process (struct scope); NULL: not followed by that
	 * tracer
	 */
	void *scope;
	/* perf tracer: time of the last exec, if the perf events may have ended by it; 0: none */
	uint64_t exec_time;
	pid_t parent;          /* process ID of a tracked child's parent; 0: not tracked */
	int status;            /* the wait status, like that of waitpid(2), if status_known */
	bool watched;          /* the queue watches the descriptor */
	bool main_exited;      /* the tracer has reported the exit of the first thread */
	/* the process lived on after main_exited was set, so `status` may be wrong */
	bool status_suspect;
	bool ended;            /* the exit of the process was recorded */
	/* `status` is valid; if false at the end, the event gets NOTE_STATUS_UNKNOWN */
	bool status_known;
};

/* The state of this source in a queue. */
struct xp_proc_state {
	struct xp_tracer *tracer; /* NULL: no registration needs one */
	struct xp_list traced;    /* the processes that the tracer follows */
	/* processes whose exit is reported after the next reading of the tracer's reports */
	struct xp_list to_end;
	/*
	 * processes to check after the next reading of the tracer's reports, and to watch if they
	 * have not exited
	 */
	struct xp_list maybe_exited;
	/* processes to check at intervals (POLL_EVERY_NS), because no descriptor shows the exit */
	struct xp_list polled;
	uint32_t process;         /* number (sys/process.h) of the process that made this state */
	/* the tracer is calling proc_trace.c with its reports: do not call or close the tracer */
	bool reporting;
};

static inline pid_t xp_proc_pid(const struct xp_proc *proc)
{
	return (pid_t)proc->reg.item.ident;
}

static inline bool xp_proc_is_traced(const struct xp_proc *proc)
{
	return !xp_list_empty(&proc->traced);
}

/* One registered process (proc_state.c). ------------------------------------- */

/* Returns the state of this source in the queue; NULL before the first registration. */
struct xp_proc_state *xp_proc_state(struct xpoll *queue);

/* Returns the registered process with this ID, or NULL. */
struct xp_proc *xp_proc_find(struct xpoll *queue, pid_t pid);
/* Add these notes to the next event of the process, and activate its registration. */
void xp_proc_note(struct xpoll *queue, struct xp_proc *proc, uint32_t notes);

/* Initialise those members of a new struct xp_proc that must not be 0. */
void xp_proc_init(struct xp_proc *proc);
/*
 * Make the queue watch the process's descriptor.  If it is a kind of descriptor that never becomes
 * readable (xp_proc_is_unpollable), have proc_trace.c check the process at intervals
 * (POLL_EVERY_NS) instead.  After an error the descriptor is closed.
 */
int xp_proc_watch(struct xpoll *queue, struct xp_proc *proc);
/* Stop watching the process's descriptor; harmless if it is not watched. */
void xp_proc_unwatch(struct xpoll *queue, struct xp_proc *proc);
/* Close the process's descriptor, if there is one. */
void xp_proc_release_fd(struct xpoll *queue, struct xp_proc *proc);
/*
 * Returns 1 if the process has exited and its ID belongs to another one now, otherwise 0; a
 * negative errno value if memory or descriptors for the check are lacking.
 */
int xp_proc_replaced(const struct xp_proc *proc);

/* The exit of a process (linux/proc_pidfd.c, bsd/proc_kqueue.c, windows/proc_handle.c). --- */

/* Open a descriptor of a process; -ESRCH: no such process; -ENOTSUP, -EMFILE ... */
int xp_proc_open(pid_t pid);
/*
 * Returns true if this kind of descriptor never becomes readable (a directory of /proc, in place of
 * a pidfd): proc_trace.c then checks the process at intervals (POLL_EVERY_NS).
 */
bool xp_proc_is_unpollable(int fd);
/* Close the descriptor.  forked: this process is a child of the one that opened it. */
void xp_proc_close_fd(int fd, bool forked);
/* Returns true if the process of the descriptor has exited. */
bool xp_proc_ended(int fd);
/* Returns true if the process was reaped, so that its ID is free or belongs to another one. */
bool xp_proc_reaped(int fd, pid_t pid);

enum xp_proc_outcome {
	XP_PROC_LIVES, /* has not exited; or, without a pidfd, unknown for lack of descriptors */
	XP_PROC_ENDED, /* exited, with an unknown status */
	XP_PROC_STATUS, /* exited, with a known status */
};

/*
 * Returns whether the process has exited, and stores the wait status if it is known.  tracked: the
 * process is a tracked child, so probably not a child of this process.
 */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status);

/* Tracers. --------------------------------------------------------- */

/* The common part of each tracer; the private members of the kind of tracer follow in memory. */
struct xp_tracer {
	const struct xp_tracer_ops *ops;
};

/* A kind of tracer, such as the process connector. */
struct xp_tracer_ops {
	const char *name; /* the value of $XPOLL_PROC that selects this kind */
	size_t size; /* size of a tracer of this kind, which begins with struct xp_tracer */

	/* Returns true if `open` would succeed in this process. */
	bool (*usable)(void);
	/* Open the tracer.  -ENOTSUP: not supported; -EPERM: no permission; -EMFILE, -ENOMEM ... */
	int (*open)(struct xpoll *queue, struct xp_tracer *tracer);
	/*
	 * Called before `close`, unless the queue ends: make the queue stop watching the tracer's
	 * descriptors.
	 */
	void (*unwatch)(struct xpoll *queue, struct xp_tracer *tracer);
	/*
	 * Close the tracer's descriptors.  forked: in a child, where they are copies, and the
	 * kernel objects are the parent's.
	 */
	void (*close)(struct xp_tracer *tracer, bool forked);

	/*
	 * Begin to report forks, execs and the exit of the process; with XPOLL_NOTE_TRACK in fflags
	 * also those of its children.  For a process that is followed already, an error (-EPERM,
	 * -EMFILE ...) changes nothing.  NULL: the tracer always reports every process; then
	 * `unfollow` and `inherit` are NULL, too.
	 */
	int (*follow)(struct xp_tracer *tracer, struct xp_proc *proc,
	              uint32_t fflags);
	/* Stop reporting events of the process. */
	void (*unfollow)(struct xp_proc *proc);
	/*
	 * Record that a child of a followed process is followed as well.  The kernel reports the
	 * child already, because it reports the parent's children.
	 */
	void (*inherit)(struct xp_proc *child, const struct xp_proc *parent);

	/*
	 * The tracer's descriptors may stay unreadable although there is more to report, so
	 * xp_trace_due reads the tracer's reports, too.
	 */
	bool on_demand;
	/*
	 * Read the tracer's reports, and pass them to the functions of proc_trace.h.  If *all is
	 * true, read until the kernel has no more, which also shows whether some were lost; if
	 * false, may stop before that.  Returns false if XP_TRACE_DRAIN_MOST reports were read, so
	 * that others may be left; otherwise true.  A tracer may set *all to true for its own use:
	 * callers ignore the new value.
	 */
	bool (*drain)(struct xpoll *queue, struct xp_tracer *tracer, bool *all);
};

#endif
