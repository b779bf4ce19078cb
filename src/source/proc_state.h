/*
 * The parts of PROC, which share this file; each calls only those below it:
 *
 *   proc.c                     the filter: registrations begin, change and end
 *   linux/proc_TRACER.c        tracers: where reports of forks and execs come from
 *   proc_trace.c               forks, execs and exits of processes, and their children
 *   proc_state.c               one registered process
 *   linux/proc_pidfd.c         a descriptor of a process, and its status
 *
 * A queue has at most one tracer: it is opened with the first registration that needs one, and
 * closed when none does any more.
 *
 * All functions are called with the queue's lock held.
 */
#ifndef XP_SOURCE_PROC_STATE_H
#define XP_SOURCE_PROC_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "source/source.h"

/* Notes that only a tracer can report. */
#define XP_PROC_TRACED \
	(XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC | XPOLL_NOTE_TRACK)

/* One registered process. */
struct xp_proc {
	struct xp_registration reg;
	struct xp_source_fd watch; /* its descriptor; fd -1: the process was gone already */
	struct xp_list traced; /* links the processes that the tracer follows */
	struct xp_list gone;   /* links the processes whose exit is to be reported */
	struct xp_list doubt;  /* links the processes that may have exited */
	struct xp_list polled; /* links the processes whose descriptor is never readable */
	void *scope;           /* the tracer's */
	uint64_t exec_time;    /* the tracer's */
	pid_t parent;          /* the parent of a tracked child */
	int status;            /* the wait status, as in waitpid(2) */
	bool watched;          /* the queue watches the descriptor */
	bool leaving;          /* the exit of its first thread was reported */
	bool early;            /* when the process had not ended */
	bool ended;            /* its exit was recorded */
	bool status_known;     /* `status` is valid */
};

/* The state of this source in a queue. */
struct xp_proc_state {
	struct xp_tracer *tracer; /* NULL: no registration needs it */
	struct xp_list traced;    /* the xp_proc that it follows */
	struct xp_list gone;      /* processes to end after all reports were read */
	struct xp_list doubt;     /* processes to check then, and to watch if they live */
	struct xp_list polled;    /* processes to check from time to time */
	uint32_t process;         /* the process that has this state (sys/process.h) */
	bool busy;                /* the tracer is reporting */
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

struct xp_proc_state *xp_proc_state(struct xpoll *queue);

/* Returns a registered process, or NULL. */
struct xp_proc *xp_proc_find(struct xpoll *queue, pid_t pid);
void xp_proc_note(struct xpoll *queue, struct xp_proc *proc, uint32_t notes);

/* Initialise the members of a new one that are not 0. */
void xp_proc_init(struct xp_proc *proc);
/* Make the queue watch its descriptor, or poll it; after an error it has none. */
int xp_proc_watch(struct xpoll *queue, struct xp_proc *proc);
/* Stop watching its descriptor; harmless if it is not watched. */
void xp_proc_unwatch(struct xpoll *queue, struct xp_proc *proc);
/* Close its descriptor, if it has one. */
void xp_proc_close(struct xpoll *queue, struct xp_proc *proc);
/*
 * Returns 1 if the process has exited and its ID was reused, otherwise 0; -errno if resources for
 * the check are lacking.
 */
int xp_proc_replaced(const struct xp_proc *proc);

/* The exit of a process (linux/proc_pidfd.c, bsd/proc_kqueue.c, windows/proc_handle.c). --- */

/* Open a descriptor of a process; -ESRCH: no such process; -ENOTSUP, -EMFILE ... */
int xp_proc_open(pid_t pid);
/* Returns true if this descriptor is never readable: proc_trace.c polls it. */
bool xp_proc_is_polled(int fd);
/* Close the descriptor.  forked: this is a child of the process that opened it. */
void xp_proc_shut(int fd, bool forked);
bool xp_proc_ended(int fd);
/* Returns true if pid is free again, or was reused. */
bool xp_proc_reaped(int fd, pid_t pid);

enum xp_proc_outcome {
	XP_PROC_LIVES,
	XP_PROC_ENDED, /* exited, with an unknown status */
	XP_PROC_STATUS,
};

/*
 * Returns whether the process has exited, and stores its wait status.  tracked: it is probably not
 * our child.
 */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status);

/* Tracers. --------------------------------------------------------- */

struct xp_tracer {
	const struct xp_tracer_ops *ops;
};

struct xp_tracer_ops {
	const char *name;
	size_t size; /* size of its state, which begins with struct xp_tracer */

	bool (*usable)(void);
	/* Open the tracer.  -ENOTSUP: not supported; -EPERM: no permission; -EMFILE, -ENOMEM ... */
	int (*open)(struct xpoll *queue, struct xp_tracer *tracer);
	/* End the watches of a tracer while the queue continues; `close` follows. */
	void (*stop)(struct xpoll *queue, struct xp_tracer *tracer);
	/* Close the tracer.  forked: in a child, which has copies of the parent's objects. */
	void (*close)(struct xp_tracer *tracer, bool forked);

	/*
	 * Report the process from now on; with XPOLL_NOTE_TRACK in fflags also its children.  It
	 * may be followed already, and still is after an error: -EPERM, -EMFILE ...  NULL, and so
	 * the next two: the tracer reports every process.
	 */
	int (*follow)(struct xp_tracer *tracer, struct xp_proc *proc,
	              uint32_t fflags);
	void (*unfollow)(struct xp_proc *proc);
	/* Follow a child of a followed process, too. */
	void (*inherit)(struct xp_proc *child, const struct xp_proc *parent);

	/*
	 * The tracer's descriptors may not become readable after a poll, although there is more to
	 * report.
	 */
	bool shy;
	/*
	 * Report like xp_trace_drain, by the functions of proc_trace.h.  Without `*all` it need not
	 * find out whether there is more, or whether something was lost; if it has, it sets it.
	 */
	bool (*drain)(struct xpoll *queue, struct xp_tracer *tracer, bool *all);
};

#endif
