/* A registered process, as the filter (proc.c) and the tracers use it: see proc_state.h. */
#include "source/proc_state.h"

#include "base/assert.h"
#include "base/compiler.h"
#include "base/result.h"
#include "sys/process.h"
#include "sys/sys.h"

struct xp_proc_state *xp_proc_state(struct xpoll *queue)
{
	return *xp_host.state(queue, XP_SOURCE_PROC);
}

struct xp_proc *xp_proc_find(struct xpoll *queue, pid_t pid)
{
	struct xp_registration *reg = xp_host.find(queue, (uint64_t)pid, XPOLL_FILT_PROC);

	return reg ? XP_CONTAINER_OF(reg, struct xp_proc, reg) : NULL;
}

void xp_proc_note(struct xpoll *queue, struct xp_proc *proc, uint32_t notes)
{
	proc->reg.pending_fflags |= notes;
	xp_host.set_active(queue, &proc->reg, true);
}

void xp_proc_init(struct xp_proc *proc)
{
	proc->watch.fd = -1;
	xp_list_init(&proc->traced);
	xp_list_init(&proc->to_end);
	xp_list_init(&proc->maybe_exited);
	xp_list_init(&proc->polled);
}

void xp_proc_unwatch(struct xpoll *queue, struct xp_proc *proc)
{
	if (proc->watched)
		xp_host.unwatch(queue, &proc->watch);
	proc->watched = false;
	xp_list_remove(&proc->polled);
}

void xp_proc_release_fd(struct xpoll *queue, struct xp_proc *proc)
{
	xp_list_remove(&proc->maybe_exited);
	xp_proc_unwatch(queue, proc);
	if (proc->watch.fd >= 0)
		xp_proc_close_fd(proc->watch.fd,
		                 xp_proc_state(queue)->process != xp_process_number());
	proc->watch.fd = -1;
}

int xp_proc_watch(struct xpoll *queue, struct xp_proc *proc)
{
	int rc;

	XP_ASSERT(proc->watch.fd >= 0 && !proc->watched);
	if (xp_proc_is_unpollable(proc->watch.fd)) {
		xp_list_remove(&proc->polled);
		xp_list_append(&xp_proc_state(queue)->polled, &proc->polled);
		xp_host.set_due(queue, XP_SOURCE_PROC, xp_sys_now());
		return 0;
	}
	rc = xp_host.watch(queue, &proc->watch);
	proc->watched = rc == 0;
	if (rc < 0)
		xp_proc_release_fd(queue, proc);
	return rc;
}

int xp_proc_replaced(const struct xp_proc *proc)
{
	int fd = proc->watch.fd;

	/*
	 * If the process runs or was not reaped, no other process can have its ID.  (fd -1: the
	 * process had exited before a descriptor could be opened.)
	 */
	if (fd >= 0 && !proc->ended && !xp_proc_ended(fd))
		return 0;
	if (fd >= 0 && !xp_proc_reaped(fd, xp_proc_pid(proc)))
		return 0;
	fd = xp_proc_open(xp_proc_pid(proc));
	if (fd < 0)
		return xp_is_lack(fd) ? fd : 0;
	xp_proc_close_fd(fd, false);
	return 1;
}
