/*
 * Inside PROC.  Five parts share this; each calls those below it:
 *
 *   proc.c                     the filter: registrations begin, change and end
 *   linux/proc_TRACER.c        where forks and execs come from
 *   proc_trace.c               what processes do while they live, their children,
 *                              and their end
 *   proc_state.c               one registered process
 *   linux/proc_pidfd.c      a descriptor for a process, and its status
 *
 * A queue has at most one tracer: it is opened when the first registration asks
 * for what only a tracer can report, and closed when none does any more.
 *
 * All with the queue's lock held.
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
	struct xp_source_fd watch; /* its descriptor; fd -1: it is gone already */
	struct xp_list traced; /* in the list of those the tracer follows */
	struct xp_list gone;   /* in the list of those whose end is to be noted */
	struct xp_list doubt;  /* in the list of those that may have ended */
	struct xp_list polled; /* in the list of those without a descriptor to watch */
	void *scope;           /* the tracer's */
	uint64_t exec_time;    /* the tracer's */
	pid_t parent;          /* of a tracked child */
	int status;            /* as waitpid(2) gives it */
	bool watched;          /* the queue watches the descriptor */
	bool leaving;          /* the end of its first thread was reported */
	bool early;            /* when the process had not ended */
	bool ended;            /* its end was noted */
	bool status_known;     /* else `status` has no meaning */
};

/* The state of this source in a queue. */
struct xp_proc_state {
	struct xp_tracer *tracer; /* NULL: nobody asks for what it reports */
	struct xp_list traced;    /* the xp_proc that it follows */
	struct xp_list gone;      /* those to end when all has been reported */
	struct xp_list doubt;     /* those to look at then, and to watch if they live */
	struct xp_list polled;    /* those to look at from time to time */
	uint32_t process;         /* whose state this is (sys/process.h) */
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

/* NULL: not registered. */
struct xp_proc *xp_proc_find(struct xpoll *queue, pid_t pid);
void xp_proc_note(struct xpoll *queue, struct xp_proc *proc, uint32_t notes);

/* The fields of a new one that are not 0. */
void xp_proc_init(struct xp_proc *proc);
/* Have the queue watch its descriptor, or look at it; on failure it has none. */
int xp_proc_watch(struct xpoll *queue, struct xp_proc *proc);
/* The queue watches its descriptor no more; harmless if it did not. */
void xp_proc_unwatch(struct xpoll *queue, struct xp_proc *proc);
/* Close its descriptor, if there is one: have none. */
void xp_proc_close(struct xpoll *queue, struct xp_proc *proc);
/*
 * 1: the process has ended, noted or not, and its number is another's now; else 0.
 * -errno if the system lacks what it takes to find out.
 */
int xp_proc_replaced(const struct xp_proc *proc);

/* The end of a process (linux/proc_pidfd.c, bsd/proc_kqueue.c, windows/proc_handle.c). ---- */

/* A descriptor for it; -ESRCH: no such process; -ENOTSUP, -EMFILE ... */
int xp_proc_open(pid_t pid);
/* Returns true if this descriptor is never readable: proc_trace.c polls it. */
bool xp_proc_is_polled(int fd);
/* forked: this is a child of the process that has opened it. */
void xp_proc_shut(int fd, bool forked);
bool xp_proc_ended(int fd);
/* Returns true if pid is free again, or another process by now. */
bool xp_proc_reaped(int fd, pid_t pid);

enum xp_proc_outcome {
	XP_PROC_LIVES,
	XP_PROC_ENDED, /* and the system does not say how */
	XP_PROC_STATUS,
};

/* Has it ended, and with which wait status?  tracked: it is not likely to be our child. */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status);

/* Tracers. --------------------------------------------------------- */

struct xp_tracer {
	const struct xp_tracer_ops *ops;
};

struct xp_tracer_ops {
	const char *name;
	size_t size; /* of its state, struct xp_tracer first */

	bool (*usable)(void);
	/* -ENOTSUP: not here; -EPERM: no permission; -EMFILE, -ENOMEM ... */
	int (*open)(struct xpoll *queue, struct xp_tracer *tracer);
	/* The queue goes on without it: its watches end.  `close` comes next. */
	void (*stop)(struct xpoll *queue, struct xp_tracer *tracer);
	/* `forked`: in a child, whose copies are the parent's objects. */
	void (*close)(struct xp_tracer *tracer, bool forked);

	/*
	 * Report what the process does from now on; with XPOLL_NOTE_TRACK in
	 * fflags what its children do, too.  It may be followed already, and still is on
	 * failure: -EPERM, -EMFILE ...  NULL, and so the next two: it hears of everybody.
	 */
	int (*follow)(struct xp_tracer *tracer, struct xp_proc *proc,
	              uint32_t fflags);
	void (*unfollow)(struct xp_proc *proc);
	/* A child of a followed process is followed as well. */
	void (*inherit)(struct xp_proc *child, const struct xp_proc *parent);

	/*
	 * The tracer's descriptors may be silent after a look, though there is more to
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
