/* The public calls that neither change a registration nor wait. */
#include <string.h>

#include "core/count.h"
#include "core/create.h"
#include "core/entry.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "source/aio.h"
#include "source/signal.h"
#include "sys/fdnum.h"

/* --- Waking ------------------------------------------------------------------------ */

/* This call must be async-signal-safe, so it takes no lock. */
int xpoll_wake(struct xpoll *queue)
{
	if (!queue || !xp_process_owns(queue))
		return xp_public_result(queue ? -EBADF : -EINVAL);
	if (xp_wake_begin(queue)) {
		queue->ops->wake(queue->backend);
		/*
		 * xp_queue_unpin is the last access to the queue, which the woken thread may
		 * destroy afterwards.
		 */
		xp_queue_unpin(queue);
	}
	return 0;
}

int xpoll_wake_all(struct xpoll *queue)
{
	int rc = xp_enter(queue);

	if (rc < 0)
		return xp_public_result(rc);
	queue->wake.all++;
	xp_kick_all(queue);
	return xp_leave_with(queue, 0);
}

/* --- Descriptors -------------------------------------------------------------------- */

int xpoll_fd(struct xpoll *queue)
{
	int rc = xp_enter_change(queue);

	return rc < 0 ? xp_public_result(rc) : xp_leave_with(queue, xp_outer_open(queue));
}

/* End all registrations of the descriptor in this queue. */
static void end_fd_registrations(struct xpoll *queue, int fd)
{
	struct xp_registration *reg;
	struct xp_slot *slot;

	if (xp_enter(queue) < 0)
		return;
	/* Do not disturb sleeping threads for a descriptor that is not registered in this queue. */
	if (xp_entry_find(queue, fd) || xp_registration_of_fd(queue, fd)) {
		xp_quiesce(queue);
		slot = xp_entry_find(queue, fd);
		if (slot)
			(void)xp_entry_end(queue, fd, slot, false);
		while ((reg = xp_registration_of_fd(queue, fd)))
			xp_registration_end(queue, reg);
	}
	xp_leave(queue);
}

int xpoll_forget_fd(xpoll_fd_t fd)
{
	int number = xp_fd_of(fd);

	if (number < 0)
		return xp_public_result(-EBADF);
	xp_process_each(end_fd_registrations, number);
	xp_sources_await_unused(number);
	return 0;
}

int xpoll_close_fd(xpoll_fd_t fd)
{
	int rc = xpoll_forget_fd(fd);

	return rc < 0 ? rc : xp_public_result(xp_sys_close(xp_fd_of(fd)));
}

/* --- Asynchronous I/O ------------------------------------------------------------------ */

/*
 * Make a registration for the operation, and start the operation.  Returns 0 or a negative errno
 * value.
 */
static int aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	uint64_t ident = (uint64_t)(uintptr_t)aio;
	struct xp_registration *reg;
	int rc;

	if (xp_registration_find(queue, ident, XPOLL_FILT_AIO))
		return -EBUSY;
	reg = xp_registration_make(queue, &xp_source_aio, ident, xp_udata_pointer(aio->udata),
	                           xp_source_aio.implied);
	if (!reg)
		return -ENOMEM;
	rc = xp_aio_submit(queue, reg, aio);
	if (rc < 0)
		xp_registration_free(queue, reg);
	return rc;
}

int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	int rc = aio ? xp_enter_change(queue) : -EINVAL;

	return rc < 0 ? xp_public_result(rc) : xp_leave_with(queue, aio_submit(queue, aio));
}

int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio)
{
	struct xp_registration *reg;
	int rc = aio ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_public_result(rc);
	reg = xp_registration_find(queue, (uint64_t)(uintptr_t)aio, XPOLL_FILT_AIO);
	if (reg)
		xp_aio_cancel_registration(reg);
	return xp_leave_with(queue, reg ? 0 : -ENOENT);
}

/* --- Queries --------------------------------------------------------------------------- */

int64_t xpoll_next_timeout(struct xpoll *queue)
{
	int64_t left_ns;
	int rc = xp_enter(queue);

	if (rc < 0)
		return xp_public_result(rc);
	if (xp_sources_active(queue)) {
		left_ns = 0;
	} else if (xp_due(queue) >= XP_ON_DEMAND) {
		left_ns = -1;
	} else {
		left_ns = xp_due(queue) - xp_sys_now();
		left_ns = left_ns < 0 ? 0 : left_ns;
	}
	xp_leave(queue);
	return left_ns;
}

/*
 * Store the registration of the descriptor and filter that `found` names in `found`; or return
 * -ENOENT.
 */
static int lookup_fd(struct xpoll *queue, struct xpoll_event *found)
{
	int fd = xp_fd_number(found->ident);
	const struct xp_slot *slot = xp_entry_find(queue, fd);
	unsigned index = (unsigned)xp_filter_index(found->filter);
	unsigned bit = XP_BIT(index);

	XP_ASSERT(index < XP_FD_FILTERS);
	if (!slot || !(slot->present & bit))
		return -ENOENT;
	found->flags = (uint16_t)((slot->clear & bit ? XPOLL_CLEAR : 0) |
	                          (slot->oneshot & bit ? XPOLL_ONESHOT : 0) |
	                          (slot->dispatch & bit ? XPOLL_DISPATCH : 0) |
	                          (slot->enabled & bit ? 0 : XPOLL_DISABLE));
	found->fflags = (slot->exclusive & bit ? XPOLL_NOTE_EXCLUSIVE : 0u) |
		(slot->count_filters & bit ? XPOLL_NOTE_COUNT : 0u) |
		(slot->so_error & bit ? XPOLL_NOTE_SOERR : 0u) |
		(slot->lowat & bit ? XPOLL_NOTE_LOWAT : 0u) |
		(index == XP_EXCEPT && slot->requested & XP_REQUEST_OOB ? XPOLL_NOTE_OOB : 0u);
	found->data = slot->lowat & bit ? xp_lowat_get(queue, fd, index) : 0;
	found->udata64 = slot->udata[index].bits;
	return 0;
}

/* Like lookup_fd, but for an ident and a filter of a source. */
static int lookup_source(struct xpoll *queue, const struct xp_source_ops *source,
                         struct xpoll_event *found)
{
	const struct xp_registration *reg;

	xp_source_refresh(queue, source, XP_BEFORE_CHANGE);
	reg = xp_registration_find(queue, found->ident, found->filter);
	if (!reg)
		return -ENOENT;
	found->flags = reg->flags;
	found->fflags = reg->fflags;
	found->data = reg->data;
	found->udata64 = reg->udata.bits;
	return 0;
}

int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter, struct xpoll_event *registration)
{
	struct xpoll_event found = {.ident = ident, .filter = (int16_t)filter};
	const struct xp_source_ops *source = xp_source_find(filter);
	bool known = source || xp_filter_index(filter) >= 0;
	/* Refreshing a source may register descriptors, so enter the queue as for a change. */
	int rc = !registration || !known ? -EINVAL
		: source ? xp_enter_change(queue) : xp_enter(queue);

	if (rc < 0)
		return xp_public_result(rc);
	rc = source ? lookup_source(queue, source, &found) : lookup_fd(queue, &found);
	if (rc == 0)
		*registration = found;
	return xp_leave_with(queue, rc);
}

const char *xpoll_backend(const struct xpoll *queue)
{
	return queue ? queue->ops->name : NULL;
}

int xpoll_supports(const struct xpoll *queue, int filter, uint32_t fflags)
{
	const struct xp_source_ops *source;

	switch (filter) {
	case XPOLL_FILT_READ:
	case XPOLL_FILT_WRITE:
		return !(fflags & ~(XPOLL_NOTE_COUNT | XPOLL_NOTE_SOERR | XPOLL_NOTE_EXCLUSIVE |
		                    XPOLL_NOTE_LOWAT));
	case XPOLL_FILT_EXCEPT:
		return !(queue && !(queue->ops->caps & XP_CAP_EXCEPT)) &&
			!(fflags & ~XPOLL_NOTE_OOB);
	default:
		source = xp_source_find(filter);
		return source && source->attach && !(fflags & ~source->fflags) &&
			(!source->supports || source->supports(fflags));
	}
}

int xpoll_stats(const struct xpoll *queue, struct xpoll_stats *stats, size_t size)
{
	struct xpoll *writable = (struct xpoll *)(uintptr_t)queue;
	struct xpoll_stats copy;
	int rc = stats && size > 0 ? xp_enter(writable) : -EINVAL;

	if (rc < 0)
		return xp_public_result(rc);
	xp_sources_refresh(writable, NULL, XP_BEFORE_COUNTERS);
	copy = writable->stats;
	copy.changes += copy.changes_free;
	copy.syscalls_wait = xp_counter_read(&writable->counters.syscalls_wait);
	copy.syscalls_change = xp_counter_read(&writable->counters.syscalls_change);
	copy.syscalls_check = xp_counter_read(&writable->counters.syscalls_check);
	copy.syscalls_wake = xp_counter_read(&writable->counters.syscalls_wake);
	copy.idle_ns = xp_idle_total(writable);
	xp_leave(writable);
	/*
	 * The structure of a newer program may be longer: zero the members that this library lacks.
	 */
	memset(stats, 0, size);
	memcpy(stats, &copy, size < sizeof copy ? size : sizeof copy);
	return 0;
}

unsigned xpoll_version(void)
{
	return XPOLL_VERSION;
}

/* --- Signal actions, which belong to no queue -------------------------------------------- */

int xpoll_signal_changed(int number)
{
	return xp_public_result(number < 0 ? -EINVAL : xp_signal_reinstall((unsigned)number));
}

int xpoll_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	return xp_public_result(number < 0 ? -EINVAL : xp_signal_action((unsigned)number, action,
	                                                                before));
}
