/* What can be asked of a queue. */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/result.h"
#include "core/enter.h"
#include "core/interest.h"
#include "core/lowat.h"
#include "core/registration.h"
#include "core/sources.h"
#include "os/fdnum.h"
#include "os/sys.h"

static int64_t next_timeout(const struct xpoll *queue)
{
	int64_t left_ns;

	if (!xp_list_empty(&queue->registrations.active))
		return 0;
	if (queue->due_ns >= XP_ON_DEMAND)
		return -1;
	left_ns = queue->due_ns - xp_sys_now();
	return left_ns < 0 ? 0 : left_ns;
}

int64_t xpoll_next_timeout(struct xpoll *queue)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;
	int64_t left_ns;

	if (rc < 0)
		return xp_result(rc);
	left_ns = next_timeout(queue);
	xp_leave(queue);
	return left_ns;
}

static int lookup_fd(struct xpoll *queue, uint64_t ident, int filter,
                     struct xpoll_event *found)
{
	int fd = xp_fd_number(ident);
	struct xp_slot *slot = xp_entry_find(queue, fd);
	int index = xp_filter_index(filter);
	unsigned bit = XP_BIT(index);

	if (!slot || !(slot->present & bit))
		return -ENOENT;
	*found = (struct xpoll_event){
		.ident = ident,
		.filter = (int16_t)filter,
		.flags = (uint16_t)((slot->modes.clear & bit ? XPOLL_CLEAR : 0) |
		                    (slot->modes.oneshot & bit ? XPOLL_ONESHOT : 0) |
		                    (slot->modes.dispatch & bit ? XPOLL_DISPATCH : 0) |
		                    (slot->enabled & bit ? 0 : XPOLL_DISABLE)),
		.fflags = (slot->modes.exclusive & bit ? XPOLL_NOTE_EXCLUSIVE : 0) |
			(slot->count.filters & bit ? XPOLL_NOTE_COUNT : 0) |
			(slot->count.soerr & bit ? XPOLL_NOTE_SOERR : 0),
	};
	if (slot->lowat.filters & bit) {
		found->fflags |= XPOLL_NOTE_LOWAT;
		found->data = xp_lowat_get(queue, fd, (unsigned)index);
	}
	if (index == XP_EXCEPT && slot->requested & XP_REQUEST_OOB)
		found->fflags |= XPOLL_NOTE_OOB;
	found->udata64 = slot->udata[index].bits;
	return 0;
}

static int lookup_registration(struct xpoll *queue, uint64_t ident, int filter,
                               struct xpoll_event *found)
{
	const struct xp_source_ops *ops = xp_source_find(filter);
	const struct xp_registration *reg;

	if (ops)
		xp_registrations_settle(queue, ops, XP_BEFORE_CHANGE);
	reg = xp_registration_find(queue, ident, filter);
	if (!reg)
		return -ENOENT;
	*found = (struct xpoll_event){
		.ident = ident,
		.filter = (int16_t)filter,
		.flags = reg->flags,
		.fflags = reg->fflags,
		.data = reg->data,
	};
	found->udata64 = reg->udata.bits;
	return 0;
}

int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter,
                 struct xpoll_event *registration)
{
	bool known = xp_filter_index(filter) >= 0 || xp_source_find(filter);
	int rc = queue && registration && known ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	if (xp_filter_index(filter) >= 0)
		rc = lookup_fd(queue, ident, filter, registration);
	else
		rc = lookup_registration(queue, ident, filter, registration);
	xp_leave(queue);
	return xp_result(rc);
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
		return !(fflags & ~(XPOLL_NOTE_COUNT | XPOLL_NOTE_SOERR |
		                    XPOLL_NOTE_EXCLUSIVE | XPOLL_NOTE_LOWAT));
	case XPOLL_FILT_EXCEPT:
		if (queue && !xp_excepts(queue))
			return 0;
		return !(fflags & ~XPOLL_NOTE_OOB);
	default:
		source = xp_source_find(filter);
		return source && source->attach && !(fflags & ~source->fflags) &&
			(!source->supports || source->supports(fflags));
	}
}

/* Sources may find that something has to be counted. */
static int stats_take(struct xpoll *queue, struct xpoll_stats *copy)
{
	const struct xp_counters *counters = &queue->counters;
	int rc = xp_enter(queue);

	if (rc < 0)
		return rc;
	xp_sources_settle(queue, XP_BEFORE_COUNTERS);
	*copy = (struct xpoll_stats){
		.waits = counters->waits,
		.events = counters->events,
		.wakes = counters->wakes,
		.empty_returns = counters->empty_returns,
		.changes = counters->changes + counters->changes_free,
		.changes_free = counters->changes_free,
		.change_errors = counters->change_errors,
		.syscalls_wait = counters->syscalls_wait,
		.syscalls_change = xp_counter_read(&counters->syscalls_change),
		.syscalls_check = xp_counter_read(&counters->syscalls_check),
		.syscalls_wake = xp_counter_read(&counters->syscalls_wake),
		.stale_dropped = counters->stale_dropped,
		.fruitless = counters->fruitless,
		.rebuilds = counters->rebuilds,
		.registered = counters->registered,
		.signals_unobserved = counters->signals_unobserved,
		.idle_ns = xp_idle_total(&queue->idle),
	};
	xp_leave(queue);
	return 0;
}

int xpoll_stats(const struct xpoll *queue, struct xpoll_stats *stats,
                size_t size)
{
	struct xpoll_stats copy;

	_Static_assert(sizeof(struct xp_counters) + sizeof copy.idle_ns == sizeof copy,
	               "all of them are copied");
	if (!queue || !stats || size == 0)
		return xp_result(-EINVAL);
	if (stats_take((struct xpoll *)(uintptr_t)queue, &copy) < 0)
		return xp_result(-EBADF);
	/* A newer program's structure has a tail this library cannot fill. */
	memset(stats, 0, size);
	memcpy(stats, &copy, size < sizeof copy ? size : sizeof copy);
	return 0;
}
