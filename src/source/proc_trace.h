/* Forks, execs and exits of processes, which a tracer reports. */
#ifndef XP_SOURCE_PROC_TRACE_H
#define XP_SOURCE_PROC_TRACE_H

#include "source/proc_state.h"

enum {
	/* Most reports that are read at a time, so that many forks cannot keep a thread. */
	XP_TRACE_DRAIN_MOST = 65536,
};

/*
 * Follow a process, or change how it is followed by fflags.  -ENOTSUP: no tracer works here;
 * -EPERM: none is permitted; -EMFILE, -ENOMEM ...
 */
int xp_trace_begin(struct xpoll *queue, struct xp_proc *proc, uint32_t fflags);
void xp_trace_end(struct xpoll *queue, struct xp_proc *proc);

/* Open a descriptor of a process. */
int xp_proc_hold(struct xp_proc *proc);

/*
 * Read the reports up to now.  Returns false if there were too many to read at a time.  Only with
 * `all` it is certain that none is left.
 */
bool xp_trace_drain(struct xpoll *queue, bool all);

/* Close the tracer if no registration needs it, because every fork costs it work. */
void xp_trace_trim(struct xpoll *queue);

/* Returns true if a tracer works here. */
bool xp_trace_usable(void);

/*
 * Implementations of functions of the source; due also reads the reports of a tracer that is `shy`.
 */
void xp_trace_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_trace_fini(struct xpoll *queue, void *state);

/* Calls by a tracer, in the order of events. */

/* A process has forked (not made a thread). */
void xp_trace_forked(struct xpoll *queue, pid_t parent, pid_t child);
void xp_trace_execed(struct xpoll *queue, pid_t pid);
/*
 * The first thread of a process has exited, and so has the process, unless other threads live or
 * one calls exec.  status: its wait status, or NULL; at_ns: the time, on the monotonic clock, if
 * the tracer does not report other processes that get the ID, otherwise XP_NEVER.
 */
void xp_trace_leaving(struct xpoll *queue, pid_t pid, const int *status,
                      int64_t at_ns);
/* Reports about this process may have been lost. */
void xp_trace_missed(struct xpoll *queue, struct xp_proc *proc);
/* The same for all followed processes. */
void xp_trace_lost(struct xpoll *queue);

/* Returns a followed process; NULL: it is not followed. */
struct xp_proc *xp_trace_find(struct xpoll *queue, pid_t pid);

#endif
