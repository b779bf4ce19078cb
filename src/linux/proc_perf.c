/*
 * A tracer of processes by perf_event_open(2): the kernel writes records of forks, execs and exits.
 * The kernel gives a process the records of another only if the process may read the other's memory
 * and /proc/sys/kernel/perf_event_paranoid allows it.
 *
 * A registered process costs one descriptor for each pair of a thread and a processor; new threads
 * inherit the event, and children, too, if the process is tracked.  Each queue also has one event
 * per processor.  Peculiarities:
 * - Events belong to threads.  Threads are listed until no new one is found, at most PASSES_MOST
 *   times; if a process still makes threads in the last pass, some may have no event.
 * - A new thread is reported like a fork, with the process as its own parent.
 * - When a process executes a program that the user may not read, such as a set-user-ID program,
 *   the kernel drops the events, and reports that like the exit of the thread.
 * - If a ring is full, records are lost.
 * - Before Linux 5.13 children always inherit the event; records of those not tracked are ignored.
 */
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/table.h"
#include "linux/proc_perf.h"
#include "linux/sys_perf.h"
#include "linux/system.h"
#include "source/proc_trace.h"
#include "sys/procfs.h"
#include "sys/sys.h"

enum {
	/* Most passes over a process's list of threads, while threads make new ones. */
	PASSES_MOST = 8,
	/*
	 * An exec can end the perf events of a process that runs on; the kernel reports that like
	 * an exit of the process.  If such a report comes sooner than this after an exec, assume
	 * that only the events have ended: a program hardly runs for such a short time.
	 */
	DROP_NS = 100000,
};

struct perf {
	struct xp_tracer tracer;
	struct xp_perf_rings rings;
};

/* The events of a registered process; its tracked children share the structure. */
struct scope {
	int users; /* number of processes that share this scope */
	bool deep; /* children are to be reported, too (XPOLL_NOTE_TRACK) */
	int len; /* number of events */
	int cap;
	struct scope_event {
		pid_t thread;
		int fd;
	} *events;
};

static struct perf *perf_of(struct xp_tracer *tracer)
{
	return (struct perf *)tracer;
}

/* Events of a process ------------------------------------------------------ */

static void scope_free(struct scope *scope)
{
	for (int i = 0; i < scope->len; i++)
		xp_sys_close(scope->events[i].fd);
	xp_free(scope->events);
	xp_free(scope);
}

/*
 * Open the event of a thread on one processor; the kernel writes its records into that processor's
 * ring.
 */
static int event_open(const struct scope *scope, pid_t thread,
                      const struct xp_perf_ring *ring)
{
	struct perf_event_attr attr;
	int fd;
	int rc;

	xp_perf_common(&attr);
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.inherit = 1;
	xp_sys_perf_threads_only(&attr, !scope->deep);
	fd = xp_sys_perf_open(&attr, thread, ring->cpu);
	if (fd == -EINVAL && !scope->deep) {
		/*
		 * EINVAL: Linux before 5.13, where children always inherit the event; their records
		 * are ignored.
		 */
		xp_sys_perf_threads_only(&attr, false);
		fd = xp_sys_perf_open(&attr, thread, ring->cpu);
	}
	if (fd < 0)
		return fd;
	rc = xp_sys_perf_redirect(fd, ring->watch.fd);
	if (rc < 0) {
		xp_sys_close(fd);
		return rc;
	}
	return fd;
}

struct attaching {
	const struct xp_perf_rings *rings;
	struct scope *scope;
	bool found; /* this pass over the threads has found one without a perf event */
	int rc;
};

static bool is_attached(const struct scope *scope, pid_t thread)
{
	for (int i = 0; i < scope->len; i++)
		if (scope->events[i].thread == thread)
			return true;
	return false;
}

/*
 * Open events of a thread on all processors; called with each thread of the process.  Returns
 * false, and sets rc, after an error.
 */
static bool attach_thread(void *opaque, pid_t thread)
{
	struct attaching *to = opaque;
	struct scope *scope = to->scope;

	if (is_attached(scope, thread))
		return true;
	to->rc = XP_TABLE_RESERVE(&scope->events, &scope->cap, scope->len + to->rings->len);
	for (int i = 0; i < to->rings->len && to->rc == 0; i++) {
		const struct xp_perf_ring *ring = &to->rings->rings[i];
		int fd;

		if (ring->watch.fd < 0)
			continue;
		fd = event_open(scope, thread, ring);
		if (fd < 0 && fd != -ENODEV)
			to->rc = fd;
		if (fd >= 0)
			scope->events[scope->len++] =
				(struct scope_event){thread, fd};
	}
	if (to->rc == -ESRCH)
		to->rc = 0; /* the thread has just ended: skip it */
	else
		to->found = true;
	return to->rc == 0;
}

/* Open events of all threads of a process. */
static int scope_attach(const struct perf *perf, struct scope *scope, pid_t pid)
{
	struct attaching to = {
		.rings = &perf->rings,
		.scope = scope,
		.found = true,
	};

	for (int i = 0; i < PASSES_MOST && to.found && to.rc == 0; i++) {
		int rc;

		to.found = false;
		rc = xp_procfs_threads(pid, attach_thread, &to);
		if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
			return rc;
		/* Without /proc, attach to the first thread, which may be the only one. */
		if (rc < 0 && i == 0)
			(void)attach_thread(&to, pid);
	}
	return to.rc;
}

static void perf_unfollow(struct xp_proc *proc)
{
	struct scope *scope = proc->scope;

	XP_ASSERT(scope && scope->users > 0);
	proc->scope = NULL;
	if (--scope->users == 0)
		scope_free(scope);
}

/*
 * Open events of all threads of a process, and close those that the process had.  After an error
 * the process keeps the old events.
 */
static int perf_follow(struct xp_tracer *tracer, struct xp_proc *proc,
                       uint32_t fflags)
{
	struct scope *scope = xp_zalloc(sizeof *scope);
	int rc;

	if (!scope)
		return -ENOMEM;
	scope->users = 1;
	scope->deep = fflags & XPOLL_NOTE_TRACK;
	rc = scope_attach(perf_of(tracer), scope, xp_proc_pid(proc));
	if (rc < 0) {
		scope_free(scope);
		return rc;
	}
	if (proc->scope)
		perf_unfollow(proc);
	proc->scope = scope;
	return 0;
}

/*
 * Have a tracked child share its parent's perf events (struct scope), which stay open until no
 * process uses them any more.
 */
static void perf_inherit(struct xp_proc *child, const struct xp_proc *parent)
{
	struct scope *scope = parent->scope;

	scope->users++;
	child->scope = scope;
}

/* Handling of records ---------------------------------------------------------- */

/*
 * Report a fork.  dropped_by_exec later uses proc->exec_time to find out whether an exec has ended
 * the process's perf events.  A fork that is reported after the exec proves that the perf events
 * live on, so clear the time.
 */
static void report_fork(struct xpoll *queue, const struct xp_perf_record *record)
{
	pid_t parent = (pid_t)record->u.task.ppid;
	struct xp_proc *proc = xp_trace_find(queue, parent);

	if (proc)
		proc->exec_time = 0;
	/* A record with the same process ID twice is of a new thread: report no fork. */
	if (record->u.task.pid != record->u.task.ppid)
		xp_trace_forked(queue, parent, (pid_t)record->u.task.pid);
}

static void report_exec(struct xpoll *queue, const struct xp_perf_record *record)
{
	pid_t pid = (pid_t)record->u.comm.pid;
	struct xp_proc *proc = xp_trace_find(queue, pid);

	if (proc)
		proc->exec_time = record->time;
	xp_trace_execed(queue, pid);
}

/*
 * Called when the kernel's events of the process have ended.  Returns true if an exec has dropped
 * them and the process runs on.  That is so if the last report was an exec and one of three holds:
 * perf_event_open(2) succeeds for the process; that call fails with EPERM, for example because the
 * process belongs to another user now; less than DROP_NS has passed since the exec, too little for
 * a program to run.
 */
static bool dropped_by_exec(const struct xp_proc *proc, uint64_t end_time)
{
	struct perf_event_attr attr;
	int fd;

	if (!proc->exec_time)
		return false;
	xp_perf_common(&attr);
	attr.disabled = 1;
	fd = xp_sys_perf_open(&attr, xp_proc_pid(proc), -1);
	if (fd >= 0)
		xp_sys_close(fd);
	return fd >= 0 || fd == -EPERM || end_time - proc->exec_time < DROP_NS;
}

/*
 * A thread's events have ended: it has exited, or an exec has dropped them.  Only the first thread
 * of a followed process counts.  After an exec, report TRACKERR (reports may be missing), and open
 * the events again.  In both cases xp_trace_leaving finds out whether the process has ended.
 */
static void report_exit(struct xpoll *queue, struct perf *perf,
                        const struct xp_perf_record *record)
{
	pid_t pid = (pid_t)record->u.task.pid;
	struct xp_proc *proc = xp_trace_find(queue, pid);

	if (!proc || record->u.task.tid != record->u.task.pid)
		return;
	if (dropped_by_exec(proc, record->time)) {
		xp_trace_report_trackerr(queue, proc);
		/* Open events of the process again, if the kernel permits that now. */
		(void)perf_follow(&perf->tracer, proc, proc->reg.fflags);
	}
	proc->exec_time = 0;
	xp_trace_leaving(queue, pid, NULL, (int64_t)record->time);
}

/*
 * Pass a record of the kernel about a fork, an exec or an exit to PROC.  A loss of records is noted
 * in rings.lost, and perf_drain reports it; other records are dropped.
 */
static void perf_report(struct xpoll *queue, struct perf *perf,
                        const struct xp_perf_record *record)
{
	switch (record->header.type) {
	case PERF_RECORD_FORK:
		report_fork(queue, record);
		break;
	case PERF_RECORD_COMM:
		if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
			report_exec(queue, record);
		break;
	case PERF_RECORD_EXIT:
		report_exit(queue, perf, record);
		break;
	case PERF_RECORD_LOST:
		perf->rings.lost = true;
		break;
	default:
		break;
	}
}

/*
 * Read all records, at most XP_TRACE_DRAIN_MOST.  Returns false if that limit ended the reading, so
 * that more may be left.  *all: see xp_tracer_ops.drain.
 */
static bool perf_drain(struct xpoll *queue, struct xp_tracer *tracer, bool *all)
{
	struct perf *perf = perf_of(tracer);
	int count = 0;

	*all = true;
	while (xp_perf_rings_snapshot(&perf->rings)) {
		struct xp_perf_record record;

		while (xp_perf_rings_next(&perf->rings, &record)) {
			perf_report(queue, perf, &record);
			if (++count == XP_TRACE_DRAIN_MOST)
				return false;
		}
	}
	if (perf->rings.lost) {
		perf->rings.lost = false;
		xp_trace_lost(queue);
	}
	return true;
}

/* Beginning and end ------------------------------------------------------------ */

static void perf_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	xp_perf_ring_renew_owner(queue,
	                         XP_CONTAINER_OF(watch, struct xp_perf_ring, watch));
	(void)xp_trace_drain(queue, true);
	xp_trace_close_if_unused(queue);
}

static bool perf_usable(void)
{
	struct perf_event_attr attr;
	int fd;

	xp_perf_common(&attr);
	attr.task = 1;
	fd = xp_sys_perf_open(&attr, 0, -1);
	if (fd < 0)
		return false;
	xp_sys_close(fd);
	return true;
}

static int perf_open(struct xpoll *queue, struct xp_tracer *tracer)
{
	struct perf *perf = perf_of(tracer);
	int rc = xp_perf_rings_open(&perf->rings);

	if (rc < 0)
		return rc;
	rc = xp_perf_rings_watch(queue, &perf->rings, perf_ready);
	if (rc < 0)
		xp_perf_rings_close(&perf->rings, false);
	return rc;
}

static void perf_stop(struct xpoll *queue, struct xp_tracer *tracer)
{
	xp_perf_rings_unwatch(queue, &perf_of(tracer)->rings);
}

static void perf_close(struct xp_tracer *tracer, bool forked)
{
	xp_perf_rings_close(&perf_of(tracer)->rings, forked);
}

const struct xp_tracer_ops xp_tracer_perf = {
	.name = "perf",
	.size = sizeof(struct perf),
	.on_demand = true,
	.usable = perf_usable,
	.open = perf_open,
	.unwatch = perf_stop,
	.close = perf_close,
	.follow = perf_follow,
	.unfollow = perf_unfollow,
	.inherit = perf_inherit,
	.drain = perf_drain,
};
