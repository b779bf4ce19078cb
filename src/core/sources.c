/* Registrations of filters other than READ, WRITE and EXCEPT, and calls of their sources. */
#include "core/sources.h"

#include <string.h>

#include "base/result.h"
#include "core/count.h"
#include "core/due.h"
#include "core/report.h"
#include "sys/fdnum.h"
#include "sys/sys.h"

#define REGISTRATION_MODES (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH)

static struct xp_registration *registration_of(struct xp_regmap_item *item)
{
	return item ? XP_CONTAINER_OF(item, struct xp_registration, item) : NULL;
}

struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident, int filter)
{
	return registration_of(xp_regmap_find(&queue->registrations.map, ident, filter));
}

/*
 * Put the registration at the end of the list from which events are delivered, if the registration
 * is active and enabled and not in that list, and have a sleeping thread woken, which delivers the
 * event.  Remove the registration from the list if it is not active, or is disabled.
 */
static void registration_update_list(struct xpoll *queue, struct xp_registration *reg)
{
	bool ready = reg->active && !(reg->flags & XPOLL_DISABLE);

	if (ready && xp_list_empty(&reg->ready)) {
		xp_list_append(&queue->registrations.active, &reg->ready);
		xp_kick_request(queue);
	} else if (!ready) {
		xp_list_remove(&reg->ready);
	}
}

void xp_registration_set_active(struct xpoll *queue, struct xp_registration *reg, bool active)
{
	reg->active = active ? 1 : 0;
	registration_update_list(queue, reg);
}

/*
 * Allocate a registration and add it to the table.  slot: the free slot that xp_regmap_find_slot
 * has returned, or NULL.  Returns NULL if there is no memory.
 */
static XP_INLINE struct xp_registration *
registration_put(struct xpoll *queue, const struct xp_source_ops *ops, uint64_t ident,
                 union xp_udata udata, unsigned flags, struct xp_regmap_slot *slot)
{
	struct xp_regmap *map = &queue->registrations.map;
	struct xp_registration *reg;
	unsigned place;

	if (XP_UNLIKELY(map->count >= map->most))
		slot = NULL;
	if (!slot && xp_regmap_reserve(map, map->count + 1) < 0)
		return NULL;
	reg = xp_pool_take(&queue->sources[ops->id].pool, ops->size, &place);
	if (!reg)
		return NULL;
	*reg = (struct xp_registration){
		.item = {ident}, .filter = (int8_t)ops->filter, .pool_index = place & 63,
		.flags = (uint16_t)flags, .ready = {&reg->ready, &reg->ready}, .udata = udata,
	};
	if (ops->size > sizeof *reg)
		memset(reg + 1, 0, ops->size - sizeof *reg);
	xp_regmap_put(map, slot ? slot : xp_regmap_find_slot(map, ident, ops->filter), &reg->item);
	queue->stats.registered++;
	return reg;
}

struct xp_registration *xp_registration_make(struct xpoll *queue, const struct xp_source_ops *ops,
                                             uint64_t ident, union xp_udata udata, unsigned flags)
{
	return xp_registration_find(queue, ident, ops->filter) ? NULL
		: registration_put(queue, ops, ident, udata, flags, NULL);
}

void xp_registration_free(struct xpoll *queue, struct xp_registration *reg)
{
	const struct xp_source_ops *ops = xp_source_of(reg);

	xp_outer_set_grace(queue, 0);
	xp_list_remove(&reg->ready);
	xp_regmap_remove(&queue->registrations.map, &reg->item, ops->filter);
	queue->stats.registered--;
	xp_pool_give(&queue->sources[ops->id].pool, ops->size, reg, reg->pool_index);
}

void xp_registration_end(struct xpoll *queue, struct xp_registration *reg)
{
	if (xp_source_of(reg)->detach)
		xp_source_of(reg)->detach(queue, reg);
	xp_registration_free(queue, reg);
}

struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model, uint64_t ident)
{
	struct xp_registration *reg = xp_registration_make(queue, xp_source_of(model), ident,
	                                                   model->udata, model->flags);

	if (reg)
		reg->fflags = model->fflags;
	return reg;
}

/* --- Changes ---------------------------------------------------------------------- */

static int registration_add(struct xpoll *queue, const struct xp_source_ops *ops,
                            const struct xpoll_event *change, struct xp_regmap_slot *slot)
{
	unsigned flags = (change->flags & (REGISTRATION_MODES | XPOLL_DISABLE)) | ops->implied;
	struct xp_registration *reg = registration_put(
		queue, ops, change->ident, (union xp_udata){.bits = change->udata64}, flags, slot);
	int rc;

	if (!reg)
		return -ENOMEM;
	rc = ops->attach(queue, reg, change);
	XP_ASSERT(rc <= 0);
	if (rc < 0)
		xp_registration_free(queue, reg);
	return rc;
}

/* Apply a change to a registration.  Returns -ESTALE if its ident refers to another object now. */
static int registration_modify(struct xpoll *queue, const struct xp_source_ops *ops,
                               struct xp_registration *reg, const struct xpoll_event *change)
{
	bool switched = change->flags & (XPOLL_ENABLE | XPOLL_DISABLE);
	bool added = change->flags & XPOLL_ADD;
	int rc = 0;

	if (added || !switched || change->fflags || change->flags & XPOLL_CLEAR)
		rc = ops->touch(queue, reg, change);
	if (rc < 0)
		return rc;
	if (added)
		reg->flags |= change->flags & REGISTRATION_MODES;
	if ((added && !(change->flags & XPOLL_KEEPUDATA)) || change->flags & XPOLL_SETUDATA)
		reg->udata.bits = change->udata64;
	if (switched)
		reg->flags = (uint16_t)((reg->flags & ~XPOLL_DISABLE) |
		                        (change->flags & XPOLL_DISABLE));
	if (switched && ops->switched)
		ops->switched(queue, reg);
	registration_update_list(queue, reg);
	return 0;
}

/*
 * Delete the registration, unless `verify_ident` returns -EBUSY because the source is still using
 * the registration.  If `verify_ident` returns another error, such as -EBADF, the registration
 * ends, and the error is returned.
 */
static int registration_delete(struct xpoll *queue, const struct xp_source_ops *ops,
                               struct xp_registration *reg)
{
	int rc = ops->verify_ident ? ops->verify_ident(queue, reg, false) : 0;

	if (rc != -EBUSY)
		xp_registration_end(queue, reg);
	return rc;
}

/*
 * Returns the error of a change without a registration: -EBADF if ident is a closed descriptor, or
 * -ENOENT.
 */
static int registration_missing(const struct xp_source_ops *ops, uint64_t ident)
{
	int fd = ops->of_fd ? xp_fd_number(ident) : -1;

	return !ops->of_fd || (fd >= 0 && xp_sys_open_flags(fd) >= 0) ? -ENOENT : -EBADF;
}

int xp_registration_change(struct xpoll *queue, const struct xp_source_ops *ops,
                           const struct xpoll_event *change)
{
	const struct xp_regmap *map = &queue->registrations.map;
	struct xp_registration *reg;
	struct xp_regmap_slot *slot;
	int rc;

	if (!ops->attach)
		return -ENOTSUP;
	if (change->fflags & ~ops->fflags)
		return -EINVAL;
	xp_source_refresh(queue, ops, XP_BEFORE_CHANGE);
	slot = map->len ? xp_regmap_find_slot(map, change->ident, change->filter) : NULL;
	reg = slot ? registration_of(slot->item) : NULL;
	if (reg && change->flags & XPOLL_DELETE)
		return registration_delete(queue, ops, reg);
	if (reg) {
		rc = registration_modify(queue, ops, reg, change);
		if (rc != -ESTALE)
			return rc;
		xp_registration_end(queue, reg);
		slot = NULL;
	}
	if (change->flags & XPOLL_ADD)
		return registration_add(queue, ops, change, slot);
	return registration_missing(ops, change->ident);
}

void xp_registrations_ahead(struct xpoll *queue, const struct xp_registration **ahead,
                            const struct xpoll_event *changes, int i, int n)
{
	const struct xp_regmap *map = &queue->registrations.map;
	int at[4]; /* borders between the ranges of changes that the three stages below prefetch */

	for (int stage = 0; stage < 4; stage++)
		at[stage] = i + (stage + 1) * XP_AHEAD < n ? i + (stage + 1) * XP_AHEAD : n;
	/*
	 * Prefetch in three stages: for the farthest changes the place in the table, for nearer
	 * ones the registration, for the nearest ones the source's data.  The first call does each
	 * stage also for the changes that are nearer, because no call before has done so.
	 */
	for (int next = i ? at[2] : 0; next < at[3]; next++)
		xp_prefetch(&map->slots[xp_regmap_home(map, xp_regmap_hash(
			changes[next].ident, changes[next].filter))]);
	for (int next = i ? at[1] : 0; next < at[2]; next++) {
		ahead[next & XP_AHEAD_MASK] = registration_of(xp_regmap_find_by_hash(
			map, changes[next].ident, changes[next].filter));
		xp_prefetch(ahead[next & XP_AHEAD_MASK]);
	}
	for (int next = i ? at[0] : 0; next < at[1]; next++) {
		const struct xp_registration *reg = ahead[next & XP_AHEAD_MASK];

		if (reg && xp_source_of(reg)->prefetch)
			xp_source_of(reg)->prefetch(queue, reg);
	}
}

void xp_sources_reset_now(struct xpoll *queue)
{
	queue->change_ns = XP_NOW;
}

int64_t xp_sources_now(struct xpoll *queue)
{
	if (queue->change_ns == XP_NOW)
		queue->change_ns = xp_sys_now();
	return queue->change_ns;
}

/* --- Delivery --------------------------------------------------------------------- */

/*
 * Returns true if ident still refers to the registered object; otherwise ends the registration and
 * returns false.
 */
static bool registration_verify_or_end(struct xpoll *queue, struct xp_registration *reg)
{
	const struct xp_source_ops *ops = xp_source_of(reg);

	if (!ops->verify_ident || ops->verify_ident(queue, reg, true) == 0)
		return true;
	xp_registration_end(queue, reg);
	return false;
}

/*
 * Store the event of an active registration in the array of the wait, and apply the modes of the
 * registration.  Stores nothing if the source finds that the condition does not hold any more.
 */
static void registration_deliver(struct xpoll *queue, struct xp_registration *reg,
                                 struct xp_wait *wait)
{
	const struct xp_source_ops *ops = xp_source_of(reg);
	struct xpoll_event *event = wait->events + wait->len;
	int flags = ops->collect(queue, reg, event);

	if (flags < 0)
		return; /* the condition does not hold any more */
	xp_record_add(wait);
	reg->wait_epoch = wait->epoch;
	event->ident = reg->item.ident;
	event->filter = reg->filter;
	event->flags = (uint16_t)((unsigned)flags | (reg->flags & queue->report_modes));
	event->udata64 = reg->udata.bits;
	if (reg->flags & XPOLL_ONESHOT) {
		xp_registration_end(queue, reg);
		return;
	}
	if (reg->flags & XPOLL_DISPATCH) {
		reg->flags |= XPOLL_DISABLE;
		if (ops->switched)
			ops->switched(queue, reg);
	}
	/*
	 * Move the registration to the end of the list: those that were not delivered yet come
	 * before the next event of this one.
	 */
	xp_list_remove(&reg->ready);
	registration_update_list(queue, reg);
}

void xp_sources_deliver(struct xpoll *queue, struct xp_wait *wait)
{
	struct xp_list *last = queue->registrations.active.prev;
	struct xp_list *item = queue->registrations.active.next;
	bool more = item != &queue->registrations.active;

	while (more && !xp_wait_is_full(wait)) {
		struct xp_registration *reg = XP_CONTAINER_OF(item, struct xp_registration, ready);

		more = item != last;
		item = item->next;
		/*
		 * Skip a registration that this wait has delivered.  Equal epochs may also mean
		 * that 2^32 waits have passed: so skip no registration while this wait has no
		 * record.
		 */
		if ((reg->wait_epoch != wait->epoch || wait->len == 0) &&
		    registration_verify_or_end(queue, reg))
			registration_deliver(queue, reg, wait);
	}
}

/* --- Calls of the sources ----------------------------------------------------------- */

void **xp_source_state(struct xpoll *queue, enum xp_source_id id)
{
	XP_ASSERT(id < XP_SOURCE_NONE);
	return &queue->sources[id].state;
}

void xp_sources_set_probed(struct xpoll *queue)
{
	queue->probed = true;
}

void xp_source_refresh(struct xpoll *queue, const struct xp_source_ops *ops, enum xp_step before)
{
	if (ops->refresh && queue->sources[ops->id].state)
		ops->refresh(queue, before);
}

void xp_sources_refresh(struct xpoll *queue, struct xp_wait *wait, enum xp_step before)
{
	xp_source_wait(queue, wait);
	for (int i = 0; xp_sources[i]; i++)
		xp_source_refresh(queue, xp_sources[i], before);
	xp_source_wait(queue, NULL);
}

void xp_sources_run_due(struct xpoll *queue, int room)
{
	int64_t now_ns;

	if (XP_LIKELY(xp_due(queue) == XP_NEVER))
		return;
	now_ns = xp_sys_now();
	for (int i = 0; xp_sources[i]; i++) {
		int64_t due_ns = xp_due_of(queue, xp_sources[i]->id);

		if (due_ns <= now_ns || due_ns == XP_ON_DEMAND)
			xp_sources[i]->due(queue, now_ns, room);
	}
	if (xp_due_of(queue, XP_SOURCE_NONE) <= now_ns)
		xp_lowat_due(queue);
}

struct xp_registration *xp_registration_of_fd(const struct xpoll *queue, int fd)
{
	struct xp_registration *reg = NULL;

	for (int i = 0; queue->registrations.map.count > 0 && !reg && xp_sources[i]; i++)
		if (xp_sources[i]->of_fd)
			reg = xp_registration_find(queue, xp_fd_ident(fd), xp_sources[i]->filter);
	return reg;
}

void xp_sources_await_unused(int fd)
{
	for (int i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->process && xp_sources[i]->process->await_unused)
			xp_sources[i]->process->await_unused(fd);
}

/* --- The beginning and the end ---------------------------------------------------- */

void xp_sources_init(struct xpoll *queue)
{
	xp_list_init(&queue->registrations.active);
	for (int i = 0; i < XP_SOURCES; i++)
		xp_due_set(queue, (enum xp_source_id)i, XP_NEVER);
}

/*
 * Let the sources release what registrations hold, such as descriptors, and free the states of the
 * sources.  The registrations themselves stay in the table.
 */
static void registrations_release(struct xpoll *queue)
{
	struct xp_registration *reg;

	xp_list_init(&queue->registrations.active);
	for (size_t i = 0;
	     (reg = registration_of(xp_regmap_walk(&queue->registrations.map, &i)));) {
		xp_list_init(&reg->ready);
		reg->active = false;
		if (xp_source_of(reg)->release && !reg->inherit_pending)
			xp_source_of(reg)->release(queue, reg);
	}
	for (int i = 0; xp_sources[i]; i++) {
		void **state = &queue->sources[xp_sources[i]->id].state;

		if (*state && xp_sources[i]->fini)
			xp_sources[i]->fini(queue, *state);
		*state = NULL;
		xp_due_set(queue, xp_sources[i]->id, XP_NEVER);
	}
	queue->probed = false;
}

void xp_sources_fini(struct xpoll *queue)
{
	registrations_release(queue);
	for (int i = 0; i < XP_SOURCES; i++)
		xp_pool_fini(&queue->sources[i].pool);
	xp_regmap_fini(&queue->registrations.map);
}

/*
 * Let the source inherit a registration.  Frees a registration that cannot be inherited.  After a
 * lack of memory or descriptors the registration stays for another try, and the error is returned.
 */
static int registration_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	const struct xp_source_ops *ops = xp_source_of(reg);
	int rc = ops->inherit ? ops->inherit(queue, reg) : -ENOTSUP;

	reg->inherit_pending = xp_is_lack(rc) ? 1 : 0;
	if (reg->inherit_pending)
		return rc;
	if (rc < 0)
		xp_registration_free(queue, reg);
	else
		/* deliver the event, if inheriting another registration has activated this one */
		registration_update_list(queue, reg);
	return 0;
}

int xp_sources_inherit(struct xpoll *queue)
{
	struct xp_registration *reg;
	struct xp_list all, *item;
	int first = 0;

	registrations_release(queue);
	/*
	 * Inheriting a registration may end others, so first put all registrations into a list,
	 * from which an ended registration is removed.
	 */
	xp_list_init(&all);
	for (size_t i = 0;
	     (reg = registration_of(xp_regmap_walk(&queue->registrations.map, &i)));)
		xp_list_append(&all, &reg->ready);
	while ((item = xp_list_take(&all))) {
		int rc = registration_inherit(
			queue, XP_CONTAINER_OF(item, struct xp_registration, ready));

		first = first < 0 ? first : rc;
	}
	return first;
}
