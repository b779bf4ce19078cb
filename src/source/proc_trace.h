/* Forks, execs and ends of processes, as a tracer reports them. */
#ifndef XP_SOURCE_PROC_TRACE_H
#define XP_SOURCE_PROC_TRACE_H

#include "source/proc_state.h"

enum {
	/* Reports heard in one go, so that a storm cannot hold a thread. */
	XP_TRACE_DRAIN_MOST = 65536,
};

/*
 * Have a process followed, or followed as these fflags want it.  -ENOTSUP: no
 * tracer works here; -EPERM: none may be used; -EMFILE, -ENOMEM ...
 */
int xp_trace_begin(struct xpoll *queue, struct xp_proc *proc, uint32_t fflags);
void xp_trace_end(struct xpoll *queue, struct xp_proc *proc);

/* Open its descriptor. */
int xp_proc_hold(struct xp_proc *proc);

/*
 * Hear what has happened up to now; false: there was too much to take in one go.
 * Only with `all` it is certain that nothing was left, before what comes next.
 */
bool xp_trace_drain(struct xpoll *queue, bool all);

/* Close the tracer if nobody needs it: it works whenever anybody forks. */
void xp_trace_trim(struct xpoll *queue);

/* Would there be a tracer? */
bool xp_trace_usable(void);

/* For the source's functions of these names; due also asks a tracer that is shy. */
void xp_trace_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_trace_fini(struct xpoll *queue, void *state);

/* Calls by a tracer, in the order of events. */

/* A process made a process (not a thread). */
void xp_trace_forked(struct xpoll *queue, pid_t parent, pid_t child);
void xp_trace_execed(struct xpoll *queue, pid_t pid);
/*
 * The first thread of a process has ended.  So has the process, unless other
 * threads live on or one of them execs.  Its status, if it is known; and the
 * moment, on the monotonic clock, where the tracer does not report others that
 * get its number, else XP_NEVER.
 */
void xp_trace_leaving(struct xpoll *queue, pid_t pid, const int *status,
                      int64_t at_ns);
/* Something that this process did may have been missed. */
void xp_trace_missed(struct xpoll *queue, struct xp_proc *proc);
/* The same of all that are followed. */
void xp_trace_lost(struct xpoll *queue);

/* A process that is followed; NULL: it is not. */
struct xp_proc *xp_trace_find(struct xpoll *queue, pid_t pid);

#endif
