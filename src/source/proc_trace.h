/*
 * The functions of proc_trace.c: for the filter, and for a tracer to report forks, execs and exits.
 */
#ifndef XP_SOURCE_PROC_TRACE_H
#define XP_SOURCE_PROC_TRACE_H

#include "source/proc_state.h"

enum {
	/*
	 * The most reports that one call of a tracer's `drain` reads, so that many forks cannot
	 * keep a thread in that call.
	 */
	XP_TRACE_DRAIN_MOST = 65536,
};

/*
 * Have the tracer follow a process, or change which of its events are reported, as fflags require;
 * opens a tracer if there is none.  -ENOTSUP: no tracer works here; -EPERM: none is permitted;
 * -EMFILE, -ENOMEM ...
 */
int xp_trace_begin(struct xpoll *queue, struct xp_proc *proc, uint32_t fflags);
/* Make the tracer stop following the process; harmless if the process is not followed. */
void xp_trace_end(struct xpoll *queue, struct xp_proc *proc);

/* Open a descriptor of the process, and store it in proc->watch.  Returns 0 or an error. */
int xp_proc_acquire_fd(struct xp_proc *proc);

/*
 * Read and handle the tracer's reports.  all: read until the kernel has no more; if false, may
 * leave reports to the next wait.  Returns false if there were too many for one call
 * (XP_TRACE_DRAIN_MOST), so that some are left.
 */
bool xp_trace_drain(struct xpoll *queue, bool all);

/* Close the tracer if no registration needs it: an open one costs work at every fork. */
void xp_trace_close_if_unused(struct xpoll *queue);

/* Returns true if a tracer that $XPOLL_PROC allows works on this system. */
bool xp_trace_usable(void);

/*
 * The functions `due` and `fini` of PROC.  xp_trace_due also reads the reports of an `on_demand`
 * tracer, whose descriptor may stay unreadable.
 */
void xp_trace_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_trace_fini(struct xpoll *queue, void *state);

/* The tracer calls these functions, in the order of the events. */

/* A process has forked (a new thread is not reported). */
void xp_trace_forked(struct xpoll *queue, pid_t parent, pid_t child);
/* A process has executed another program. */
void xp_trace_execed(struct xpoll *queue, pid_t pid);
/*
 * The first thread of a process has exited; so has the process, unless other threads of it live or
 * one of them calls exec.  status: the wait status, or NULL if the tracer does not know it.  at_ns:
 * the time of the exit, on the monotonic clock: if the process that has the ID now started later,
 * the ID was reused.  XP_NEVER: not needed, because the tracer also reports the fork of such a
 * process.
 */
void xp_trace_leaving(struct xpoll *queue, pid_t pid, const int *status,
                      int64_t at_ns);
/* Reports about this process may have been lost: report TRACKERR. */
void xp_trace_report_trackerr(struct xpoll *queue, struct xp_proc *proc);
/*
 * Reports about all followed processes may have been lost: report TRACKERR for each, and register
 * the living children of those with XPOLL_NOTE_TRACK.
 */
void xp_trace_lost(struct xpoll *queue);

/* Returns the process with this ID if the tracer follows it, otherwise NULL. */
struct xp_proc *xp_trace_find(struct xpoll *queue, pid_t pid);

#endif
