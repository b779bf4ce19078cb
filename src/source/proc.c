/*
 * PROC: the exit of a process, its forks and execs, and those of its children.
 *
 * A registration holds a descriptor of its process, such as a pidfd, so that a reused process ID is
 * never taken for the same process.  When the descriptor shows that the process has exited, the
 * reports of the tracer, which follows forks and execs, are read first: what a process did last is
 * reported before its exit.
 *
 * As in FreeBSD, a registration ends with its process.  A tracked child has a registration of its
 * own, whose first event has NOTE_CHILD and the parent's ID in `data`.  The event of the exit has
 * the wait status in `data`, so NOTE_CHILD and NOTE_EXIT are never in the same event.
 */
#include "source/proc_trace.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "source/proc_names.h"
#include "sys/process.h"

static struct xp_proc *proc_of(struct xp_registration *reg)
{
	return XP_CONTAINER_OF(reg, struct xp_proc, reg);
}

/*
 * Release all that a registration holds: its part of the tracer, its place in the list `to_end`,
 * and the process's descriptor.
 */
static void proc_close(struct xpoll *queue, struct xp_proc *proc)
{
	xp_trace_end(queue, proc);
	xp_list_remove(&proc->to_end);
	xp_proc_release_fd(queue, proc);
}

/* Begin to watch a process for these fflags.  After an error nothing is watched or open. */
static int proc_begin(struct xpoll *queue, struct xp_proc *proc,
                      uint32_t fflags)
{
	int rc = xp_proc_acquire_fd(proc);

	if (rc == 0)
		rc = xp_proc_watch(queue, proc);
	if (rc < 0)
		return rc;
	if (fflags & XP_PROC_TRACED)
		rc = xp_trace_begin(queue, proc, fflags);
	if (rc < 0)
		proc_close(queue, proc);
	xp_trace_close_if_unused(queue);
	return rc;
}

/* Make the state of this source in the queue, if there is none.  Returns 0 or -ENOMEM. */
static int proc_state_make(struct xpoll *queue)
{
	void **place = xp_host.state(queue, XP_SOURCE_PROC);
	struct xp_proc_state *state;

	if (*place)
		return 0;
	state = xp_zalloc(sizeof *state);
	if (!state)
		return -ENOMEM;
	xp_list_init(&state->traced);
	xp_list_init(&state->to_end);
	xp_list_init(&state->maybe_exited);
	xp_list_init(&state->polled);
	state->process = xp_process_number();
	*place = state;
	return 0;
}

/*
 * Called before each change: handle the tracer's reports, which may show that the ID belongs to
 * another process now, or that the process is a tracked child and so has a registration already.
 */
static void proc_refresh(struct xpoll *queue, enum xp_step before)
{
	if (before == XP_BEFORE_CHANGE)
		(void)xp_trace_drain(queue, true);
}

static int proc_attach(struct xpoll *queue, struct xp_registration *reg,
                       const struct xpoll_event *change)
{
	struct xp_proc *proc = proc_of(reg);
	int rc;

	xp_proc_init(proc);
	if (change->ident == 0 || change->ident > INT_MAX)
		return -ESRCH;
	rc = proc_state_make(queue);
	if (rc == 0)
		rc = proc_begin(queue, proc, change->fflags);
	if (rc < 0)
		return rc;
	reg->fflags = change->fflags;
	return 0;
}

/*
 * An ADD for a registered process changes the requested fflags; other changes have no effect here.
 * -ESTALE: the ID belongs to another process.
 */
static int proc_touch(struct xpoll *queue, struct xp_registration *reg,
                      const struct xpoll_event *change)
{
	struct xp_proc *proc = proc_of(reg);
	uint32_t added = change->fflags & ~reg->fflags;
	int rc;

	if (!(change->flags & XPOLL_ADD))
		return 0;
	/* Check whether the process has exited since the last wait, and its ID was reused. */
	rc = xp_proc_replaced(proc);
	if (rc != 0)
		return rc < 0 ? rc : -ESTALE;
	if (proc->ended) {
		if (added & XPOLL_NOTE_EXIT)
			xp_proc_note(queue, proc, XPOLL_NOTE_EXIT);
	} else if (!(change->fflags & XP_PROC_TRACED)) {
		/*
		 * Keep the tracer if there is no descriptor, because then only the tracer can
		 * report the exit.
		 */
		if (proc->watch.fd >= 0)
			xp_trace_end(queue, proc);
	} else if (!xp_proc_is_traced(proc) || added & XPOLL_NOTE_TRACK) {
		rc = xp_trace_begin(queue, proc, change->fflags);
	}
	xp_trace_close_if_unused(queue);
	if (rc == 0)
		reg->fflags = change->fflags;
	return rc;
}

static void proc_detach(struct xpoll *queue, struct xp_registration *reg)
{
	proc_close(queue, proc_of(reg));
	xp_trace_close_if_unused(queue);
}

/*
 * Store the event.  NOTE_CHILD is delivered without NOTE_EXIT, which stays for the next event,
 * because each needs `data`.  The last event of a process that has exited ends the registration.
 */
static int proc_collect(struct xpoll *queue, struct xp_registration *reg,
                        struct xpoll_event *event)
{
	struct xp_proc *proc = proc_of(reg);
	uint32_t notes = reg->pending_fflags;

	event->data = 0;
	if (notes & XPOLL_NOTE_CHILD) {
		notes &= ~XPOLL_NOTE_EXIT;
		event->data = proc->parent;
	} else if (notes & XPOLL_NOTE_EXIT && proc->status_known) {
		event->data = proc->status;
	}
	reg->pending_fflags &= ~notes;
	if (notes & XPOLL_NOTE_EXIT && !proc->status_known)
		notes |= XPOLL_NOTE_STATUS_UNKNOWN;
	event->fflags = notes;
	if (reg->pending_fflags)
		/*
		 * NOTE_EXIT was held back from the event with NOTE_CHILD, and comes in another
		 * event
		 */
		return 0;
	xp_host.set_active(queue, reg, false);
	if (!proc->ended)
		return 0;
	reg->flags |= XPOLL_ONESHOT;
	return XPOLL_EOF;
}

/*
 * Returns true if this system can report these fflags: a descriptor of a process can be opened and,
 * for fflags that need a tracer, a tracer works here.
 */
static bool proc_supports(uint32_t fflags)
{
	int fd = xp_proc_open(getpid());
	bool polled;

	if (fd < 0)
		return false;
	polled = xp_proc_is_unpollable(fd);
	xp_proc_close_fd(fd, false);
	return !(fflags & XP_PROC_TRACED) || (!polled && xp_trace_usable());
}

static void proc_release(struct xpoll *queue, struct xp_registration *reg)
{
	struct xp_proc *proc = proc_of(reg);

	/*
	 * The queue ends: do not remove the descriptor from the kernel's set, which is the parent's
	 * or is closed next.
	 */
	proc->watched = false;
	proc_close(queue, proc);
}

const struct xp_source_ops xp_source_proc = {
	.filter = XPOLL_FILT_PROC,
	.id = XP_SOURCE_PROC,
	.name = "PROC",
	.notes = proc_names,
	.implied = XPOLL_CLEAR,
	.fflags = XPOLL_NOTE_EXIT | XP_PROC_TRACED,
	.size = sizeof(struct xp_proc),
	.refresh = proc_refresh,
	.attach = proc_attach,
	.touch = proc_touch,
	.detach = proc_detach,
	.collect = proc_collect,
	.supports = proc_supports,
	.due = xp_trace_due,
	.release = proc_release,
	.fini = xp_trace_fini,
};
