/*
 * Handles forks, execs and exits of processes, which the queue's tracer reports, and makes the
 * registrations of tracked children.
 *
 * A tracer identifies processes by ID, and reports events late.  When it reports a fork, the child
 * may have been reaped: then only the tracer shows its exit.  Or the child's ID may have been
 * reused: then the tracer reports that fork, too.
 */
#include "source/proc_trace.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sys/procfs.h"
#include "sys/process.h"
#include "sys/sys.h"
#include "sys/system.h"

/* The interval at which an `on_demand` tracer is read while the program polls xpoll_fd. */
#define ASK_EVERY_NS (20 * XP_NS_PER_MS)
/* The interval at which processes are checked whose descriptors never become readable. */
#define POLL_EVERY_NS (100 * XP_NS_PER_MS)

/* Returns true if $XPOLL_PROC allows this tracer; an unknown name allows none. */
static bool trace_allowed(const struct xp_tracer_ops *ops)
{
	const char *name = xp_sys_getenv("XPOLL_PROC");

	return !name || !*name || strcmp(name, ops->name) == 0;
}

bool xp_trace_usable(void)
{
	for (size_t i = 0; xp_system.tracers[i]; i++)
		if (trace_allowed(xp_system.tracers[i]) && xp_system.tracers[i]->usable())
			return true;
	return false;
}

/*
 * Schedule the next reading of an `on_demand` tracer: at the next poll for events, or after
 * ASK_EVERY_NS if the program polls xpoll_fd.
 */
static void trace_schedule_read(struct xpoll *queue, int64_t now_ns)
{
	int64_t next_ns = xp_host.outer_in_use(queue) ? now_ns + ASK_EVERY_NS
		: XP_ON_DEMAND;

	xp_host.set_due(queue, XP_SOURCE_PROC, next_ns);
}

static int tracer_open(struct xpoll *queue, struct xp_proc_state *state,
                       const struct xp_tracer_ops *ops)
{
	struct xp_tracer *tracer = xp_zalloc(ops->size);
	int rc;

	if (!tracer)
		return -ENOMEM;
	tracer->ops = ops;
	rc = ops->open(queue, tracer);
	if (rc < 0) {
		xp_free(tracer);
		return rc;
	}
	state->tracer = tracer;
	if (ops->on_demand)
		trace_schedule_read(queue, xp_sys_now());
	return 0;
}

static int tracer_choose(struct xpoll *queue, struct xp_proc_state *state)
{
	int refused = -ENOTSUP;

	for (size_t i = 0; !state->tracer && xp_system.tracers[i]; i++) {
		int rc = !trace_allowed(xp_system.tracers[i]) ? -ENOTSUP
			: tracer_open(queue, state, xp_system.tracers[i]);

		if (rc == -EPERM)
			refused = rc;
		else if (rc < 0 && rc != -ENOTSUP)
			return rc;
	}
	return state->tracer ? 0 : refused;
}

int xp_trace_begin(struct xpoll *queue, struct xp_proc *proc, uint32_t fflags)
{
	struct xp_proc_state *state = xp_proc_state(queue);
	int rc = xp_proc_is_unpollable(proc->watch.fd) ? -ENOTSUP : tracer_choose(queue, state);

	if (rc == 0 && state->tracer->ops->follow)
		rc = state->tracer->ops->follow(state->tracer, proc, fflags);
	if (rc == 0 && !xp_proc_is_traced(proc))
		xp_list_append(&state->traced, &proc->traced);
	return rc;
}

void xp_trace_end(struct xpoll *queue, struct xp_proc *proc)
{
	const struct xp_tracer *tracer = xp_proc_state(queue)->tracer;

	if (!xp_proc_is_traced(proc))
		return;
	xp_list_remove(&proc->traced);
	if (tracer->ops->unfollow)
		tracer->ops->unfollow(proc);
}

/*
 * Returns true if the descriptor shows that the process has exited, and stores the status if it is
 * known.  Returns false for an exited process if another process had its ID when the descriptor was
 * opened.
 */
static bool proc_query_exit(struct xp_proc *proc)
{
	int status;

	switch (xp_proc_outcome(proc->watch.fd, xp_proc_pid(proc), proc->parent != 0, &status)) {
	case XP_PROC_LIVES:
		return false;
	case XP_PROC_ENDED:
		if (proc->status_suspect)
			proc->status_known = false;
		return true;
	default:
		proc->status = status;
		proc->status_known = true;
		return true;
	}
}

/* Record and, if requested, report the exit of a process.  The registration may be freed. */
static void proc_record_exit(struct xpoll *queue, struct xp_proc *proc)
{
	struct xp_registration *reg = &proc->reg;

	XP_ASSERT(!proc->ended);
	proc->ended = true;
	xp_list_remove(&proc->maybe_exited);
	xp_list_remove(&proc->to_end);
	/* Keep the descriptor, now readable for ever, open for xp_proc_replaced. */
	proc->watch.ready = NULL;
	xp_proc_unwatch(queue, proc);
	xp_trace_end(queue, proc);
	if (reg->fflags & XPOLL_NOTE_EXIT) {
		/*
		 * Move the registration to the end of the active ones: the exit is delivered after
		 * events of children, even if another event of the process is pending.
		 */
		xp_host.set_active(queue, reg, false);
		xp_proc_note(queue, proc, XPOLL_NOTE_EXIT);
	} else if (reg->pending_fflags == 0) {
		xp_host.end(queue, reg);
	}
}

void xp_trace_report_trackerr(struct xpoll *queue, struct xp_proc *proc)
{
	xp_proc_note(queue, proc, XPOLL_NOTE_TRACKERR);
}

/*
 * Check a process that was just forked or is exiting, after the tracer's reports were read.  Most
 * short-lived processes have exited by then, and need no watch of their descriptor.
 */
static void check_exit(struct xpoll *queue, struct xp_proc *proc)
{
	if (proc->main_exited && proc_query_exit(proc)) {
		xp_list_append(&xp_proc_state(queue)->to_end, &proc->to_end);
		return;
	}
	proc->status_suspect = proc->main_exited;
	if (!proc->watched && xp_proc_watch(queue, proc) < 0) {
		struct xp_proc *parent = xp_proc_find(queue, proc->parent);

		xp_host.end(queue, &proc->reg);
		if (parent)
			xp_trace_report_trackerr(queue, parent);
	}
}

/* Check all processes in maybe_exited (just forked, or exiting), and empty that list. */
static void check_exits(struct xpoll *queue)
{
	struct xp_list *item;

	while ((item = xp_list_take(&xp_proc_state(queue)->maybe_exited)))
		check_exit(queue, XP_CONTAINER_OF(item, struct xp_proc, maybe_exited));
}

/*
 * Read the tracer's reports.  Then report the exit of the processes that were in `to_end` before,
 * so that the last actions of a process are reported before its exit.  all, or if there are such
 * processes: read until the kernel has no more reports.  Returns false if reports are left; then
 * the processes stay in `to_end`.
 */
static bool trace_report(struct xpoll *queue, struct xp_proc_state *state, bool all)
{
	struct xp_list ended, *item;
	bool all_read;

	xp_list_init(&ended);
	xp_list_move(&state->to_end, &ended);
	all = all || !xp_list_empty(&ended);
	all_read = state->tracer->ops->drain(queue, state->tracer, &all);
	check_exits(queue);
	while (all_read && (item = xp_list_take(&ended)))
		proc_record_exit(queue, XP_CONTAINER_OF(item, struct xp_proc, to_end));
	xp_list_move(&ended, &state->to_end);
	return all_read;
}

bool xp_trace_drain(struct xpoll *queue, bool all)
{
	struct xp_proc_state *state = xp_proc_state(queue);
	bool all_read;

	if (!state->tracer || state->reporting)
		return true;
	state->reporting = true;
	all_read = trace_report(queue, state, all);
	if (all_read && !xp_list_empty(&state->to_end))
		all_read = trace_report(queue, state, true);
	/* Have `due` read again at once: this ends the processes whose exit was found just now. */
	if (!xp_list_empty(&state->to_end))
		xp_host.set_due(queue, XP_SOURCE_PROC, xp_sys_now());
	state->reporting = false;
	return all_read;
}

/* Check the processes whose descriptors never become readable. */
static void check_polled(struct xpoll *queue, struct xp_proc_state *state, int64_t now_ns)
{
	struct xp_list todo, *item;

	xp_list_init(&todo);
	xp_list_move(&state->polled, &todo);
	while ((item = xp_list_take(&todo))) {
		struct xp_proc *proc = XP_CONTAINER_OF(item, struct xp_proc, polled);

		XP_ASSERT(!proc->ended && proc->watch.fd >= 0);
		xp_list_append(&state->polled, &proc->polled);
		if (proc_query_exit(proc))
			proc_record_exit(queue, proc);
	}
	if (!xp_list_empty(&state->polled))
		xp_host.set_due(queue, XP_SOURCE_PROC, now_ns + POLL_EVERY_NS);
}

void xp_trace_due(struct xpoll *queue, int64_t now_ns, int room)
{
	struct xp_tracer *tracer = xp_proc_state(queue)->tracer;

	(void)room; /* all reports before an exit have to be read, however many there are */
	xp_host.set_due(queue, XP_SOURCE_PROC, XP_NEVER);
	if (tracer && tracer->ops->on_demand)
		trace_schedule_read(queue, now_ns);
	(void)xp_trace_drain(queue, true);
	xp_trace_close_if_unused(queue);
	check_polled(queue, xp_proc_state(queue), now_ns);
}

void xp_trace_close_if_unused(struct xpoll *queue)
{
	struct xp_proc_state *state = xp_proc_state(queue);
	struct xp_tracer *tracer = state->tracer;

	if (!tracer || state->reporting || !xp_list_empty(&state->traced))
		return;
	state->tracer = NULL;
	xp_host.set_due(queue, XP_SOURCE_PROC,
	                xp_list_empty(&state->polled) ? XP_NEVER : xp_sys_now());
	tracer->ops->unwatch(queue, tracer);
	tracer->ops->close(tracer, false);
	xp_free(tracer);
}

static void proc_ready(struct xpoll *queue, struct xp_source_fd *watch)
{
	pid_t pid = xp_proc_pid(XP_CONTAINER_OF(watch, struct xp_proc, watch));
	/* First report earlier events of the process. */
	bool all_read = xp_trace_drain(queue, true);
	struct xp_proc *proc = xp_proc_find(queue, pid);

	if (proc && &proc->watch == watch && proc->watched) {
		if (all_read && proc_query_exit(proc))
			proc_record_exit(queue, proc);
		else /* reports are unread, or the exit is not known: request the next report */
			(void)xp_host.watch(queue, watch);
	}
	xp_trace_close_if_unused(queue);
}

int xp_proc_acquire_fd(struct xp_proc *proc)
{
	int fd = xp_proc_open(xp_proc_pid(proc));

	if (fd < 0)
		return fd;
	proc->watch = (struct xp_source_fd){.fd = fd, .once = true, .ready = proc_ready};
	return 0;
}

void xp_trace_fini(struct xpoll *queue, void *opaque)
{
	struct xp_proc_state *state = opaque;
	bool forked = state->process != xp_process_number();

	(void)queue;
	XP_ASSERT(xp_list_empty(&state->traced));
	if (state->tracer)
		state->tracer->ops->close(state->tracer, forked);
	xp_free(state->tracer);
	xp_free(state);
}

struct xp_proc *xp_trace_find(struct xpoll *queue, pid_t pid)
{
	struct xp_proc *proc = xp_proc_find(queue, pid);

	return proc && xp_proc_is_traced(proc) ? proc : NULL;
}

/* Make a registration for a new child of a tracked process. */
static void child_add(struct xpoll *queue, struct xp_proc *parent, pid_t pid)
{
	struct xp_proc_state *state = xp_proc_state(queue);
	struct xp_registration *reg =
		xp_host.spawn(queue, &parent->reg, (uint64_t)pid);
	struct xp_proc *child;
	int rc;

	if (!reg) {
		xp_trace_report_trackerr(queue, parent);
		return;
	}
	child = XP_CONTAINER_OF(reg, struct xp_proc, reg);
	xp_proc_init(child);
	child->parent = xp_proc_pid(parent);
	reg->flags &= (uint16_t)~XPOLL_DISABLE;
	rc = xp_proc_acquire_fd(child);
	/* ESRCH: the process was reaped, and the tracer will report its exit. */
	if (rc < 0 && rc != -ESRCH) {
		xp_host.end(queue, reg);
		xp_trace_report_trackerr(queue, parent);
		return;
	}
	if (rc == 0)
		xp_list_append(&state->maybe_exited, &child->maybe_exited);
	if (state->tracer->ops->inherit)
		state->tracer->ops->inherit(child, parent);
	xp_list_append(&state->traced, &child->traced);
	xp_proc_note(queue, child, XPOLL_NOTE_CHILD);
}

/*
 * The ID of a process that was just forked is registered, as `child`.  Returns true if `child` is
 * that process; if not, reports the exit of the registered process, unless it was reported before.
 */
static bool child_check_registered(struct xpoll *queue, struct xp_proc *child, pid_t parent_pid)
{
	const struct xp_proc *parent;

	if (child->ended)
		return false;
	/*
	 * `child` has exited if the tracer has reported that, or if its descriptor shows it (for
	 * the case that the tracer does not follow the process, or has lost the report).
	 */
	if (child->main_exited || xp_proc_replaced(child) != 0) {
		xp_list_remove(&child->to_end);
		xp_list_remove(&child->maybe_exited);
		/* First check the others: their parent, perhaps `child`, may get TRACKERR. */
		check_exits(queue);
		if (child->watch.fd >= 0)
			(void)proc_query_exit(child);
		proc_record_exit(queue, child);
		return false;
	}
	/* The fork is reported after `child` was registered: if the parent has TRACK, add CHILD. */
	parent = xp_trace_find(queue, parent_pid);
	if (parent && !child->parent &&
	    parent->reg.fflags & XPOLL_NOTE_TRACK) {
		child->parent = parent_pid;
		xp_proc_note(queue, child, XPOLL_NOTE_CHILD);
	}
	return true;
}

void xp_trace_forked(struct xpoll *queue, pid_t parent_pid, pid_t pid)
{
	struct xp_proc *child = xp_proc_find(queue, pid);
	bool known = child && child_check_registered(queue, child, parent_pid);
	struct xp_proc *parent = xp_trace_find(queue, parent_pid);

	if (!parent)
		return;
	XP_ASSERT(!parent->ended);
	if (parent->reg.fflags & XPOLL_NOTE_FORK)
		xp_proc_note(queue, parent, XPOLL_NOTE_FORK);
	if (parent->reg.fflags & XPOLL_NOTE_TRACK && !known)
		child_add(queue, parent, pid);
}

void xp_trace_execed(struct xpoll *queue, pid_t pid)
{
	struct xp_proc *proc = xp_trace_find(queue, pid);

	if (proc && proc->reg.fflags & XPOLL_NOTE_EXEC)
		xp_proc_note(queue, proc, XPOLL_NOTE_EXEC);
}

/*
 * Returns true if the ID belongs to a process that started after ended_ns, the time of the
 * registered child's exit: then the child's descriptor, opened at the report of its fork, is not
 * the child's.
 */
static bool id_was_reused(pid_t pid, int64_t ended_ns)
{
	return ended_ns != XP_NEVER && xp_procfs_start_time(pid) > ended_ns;
}

void xp_trace_leaving(struct xpoll *queue, pid_t pid, const int *status,
                      int64_t at_ns)
{
	struct xp_proc *proc = xp_proc_find(queue, pid);

	if (!proc || proc->ended)
		return;
	proc->main_exited = true;
	if (at_ns != XP_NEVER)
		proc->status_suspect = proc->watch.fd >= 0 && !xp_proc_ended(proc->watch.fd);
	else if (proc->watch.fd >= 0 && xp_list_empty(&proc->maybe_exited))
		xp_list_append(&xp_proc_state(queue)->maybe_exited, &proc->maybe_exited);
	if (proc->status_suspect && id_was_reused(pid, at_ns)) {
		xp_proc_release_fd(queue, proc);
		proc->status_suspect = false;
	}
	if (status) {
		proc->status = *status;
		proc->status_known = true;
	}
	/* No descriptor will show the exit: note it after all unread reports, such as an exec's. */
	if (proc->watch.fd < 0 && xp_list_empty(&proc->to_end))
		xp_list_append(&xp_proc_state(queue)->to_end, &proc->to_end);
}

/* Argument of child_search_visit, which appends the children that it registers to `found`. */
struct child_search {
	struct xpoll *queue;
	struct xp_proc *parent;
	struct xp_list *found;
};

static bool child_search_visit(void *opaque, pid_t pid)
{
	struct child_search *search = opaque;
	struct xp_proc *child;

	if (xp_proc_find(search->queue, pid))
		return true;
	child_add(search->queue, search->parent, pid);
	child = xp_trace_find(search->queue, pid);
	if (child) {
		xp_list_remove(&child->traced);
		xp_list_append(search->found, &child->traced);
	}
	return true;
}

/*
 * Called if reports may have been lost: report TRACKERR for all followed processes.  Report the
 * exit of those without a descriptor, because they had exited before one could be opened.  For the
 * others with XPOLL_NOTE_TRACK register living children.
 */
void xp_trace_lost(struct xpoll *queue)
{
	struct xp_proc_state *state = xp_proc_state(queue);
	struct xp_list todo;
	struct xp_list *item;

	xp_list_init(&todo);
	xp_list_move(&state->traced, &todo);
	while ((item = xp_list_take(&todo))) {
		struct xp_proc *proc = XP_CONTAINER_OF(item, struct xp_proc, traced);
		struct child_search search = {queue, proc, &todo};

		xp_list_append(&state->traced, &proc->traced);
		xp_trace_report_trackerr(queue, proc);
		if (proc->watch.fd < 0)
			proc_record_exit(queue, proc);
		else if (proc->reg.fflags & XPOLL_NOTE_TRACK)
			(void)xp_procfs_children(xp_proc_pid(proc), child_search_visit,
			                         &search);
	}
}
