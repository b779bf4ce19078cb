/* Registrations of the sources: USER, and what else there is. */
#include "core/registration.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/result.h"
#include "base/time.h"
#include "core/host.h"
#include "os/fdnum.h"
#include "os/sys.h"

#define MODES (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH)

struct xp_registration *xp_registration_find(const struct xpoll *queue, uint64_t ident,
                                             int filter)
{
	struct xp_regmap_item *item =
		xp_regmap_find(&queue->registrations.map, ident, filter);

	return item ? XP_CONTAINER_OF(item, struct xp_registration, item) : NULL;
}

/* The list of active ones holds exactly those that could be delivered. */
static void registration_enlist(struct xpoll *queue, struct xp_registration *reg)
{
	bool listed = !xp_list_empty(&reg->ready);
	bool ready = reg->active && !(reg->flags & XPOLL_DISABLE);

	xp_mutex_assert_held(&queue->lock);
	if (ready && !listed) {
		queue->sourced = true;
		xp_list_append(&queue->registrations.active, &reg->ready);
		queue->recheck_wanted = queue->threads.waiters > 0;
		/* It leaves the table when it is handed out. */
		if (reg->flags & XPOLL_ONESHOT)
			xp_regmap_prefetch_table(
				&queue->registrations.map, xp_regmap_hash(reg->item.ident,
				                                      reg->item.filter));
	} else if (!ready && listed) {
		xp_list_remove(&reg->ready);
	}
}

void xp_registration_activate(struct xpoll *queue, struct xp_registration *reg)
{
	reg->active = true;
	registration_enlist(queue, reg);
}

void xp_registration_deactivate(struct xpoll *queue, struct xp_registration *reg)
{
	reg->active = false;
	registration_enlist(queue, reg);
}

/* A source's own part; the smallest are not worth a call. */
static XP_INLINE void registration_clear(struct xp_registration *reg, size_t size)
{
	uint64_t *words = (uint64_t *)(void *)(reg + 1);

	if (XP_LIKELY(size == 2 * sizeof *words))
		words[0] = words[1] = 0;
	else
		memset(words, 0, size);
}

/* Memory for one of this source, with its part zeroed; NULL: there is none. */
static XP_INLINE struct xp_registration *registration_take(struct xpoll *queue,
                               const struct xp_source_ops *ops, uint64_t ident)
{
	struct xp_pool *pool = &queue->sources[ops->id].pool;
	struct xp_registration *reg;

	pool->size = ops->size;
	reg = xp_pool_take(pool);
	if (!reg)
		return NULL;
	*reg = (struct xp_registration){
		.item = {
			.ident = ident,
			.filter = ops->filter,
			.number = pool->taken,
		},
		.ops = ops,
	};
	registration_clear(reg, ops->size - sizeof *reg);
	xp_list_init(&reg->ready);
	xp_count(&queue->counters.registered);
	return reg;
}

static void registration_give(struct xpoll *queue, struct xp_registration *reg)
{
	xp_count_by(&queue->counters.registered, (uint64_t)-1);
	reg->item.filter = 0; /* No change means it (struct xp_ahead). */
	xp_pool_give(&queue->sources[reg->ops->id].pool, reg->item.number);
}

static XP_INLINE struct xp_registration *registration_make(struct xpoll *queue,
                                                           const struct xp_source_ops *ops,
                                                           uint64_t ident, uint64_t hash)
{
	struct xp_registration *reg = registration_take(queue, ops, ident);

	if (!reg)
		return NULL;
	if (xp_regmap_add_hashed(&queue->registrations.map, hash, &reg->item) < 0) {
		registration_give(queue, reg);
		return NULL;
	}
	return reg;
}

struct xp_registration *xp_registration_make(struct xpoll *queue,
                                             const struct xp_source_ops *ops, uint64_t ident,
                                             uint64_t hash)
{
	return registration_make(queue, ops, ident, hash);
}

void xp_registration_free(struct xpoll *queue, struct xp_registration *reg)
{
	xp_attention_over(queue);
	xp_list_remove(&reg->ready);
	xp_regmap_remove(&queue->registrations.map, &reg->item);
	registration_give(queue, reg);
}

void xp_registration_end(struct xpoll *queue, struct xp_registration *reg)
{
	if (reg->ops->detach)
		reg->ops->detach(queue, reg);
	xp_registration_free(queue, reg);
}

static XP_INLINE int registration_add(struct xpoll *queue,
                                      const struct xp_source_ops *ops,
                                      const struct xpoll_event *change, uint64_t hash)
{
	struct xp_registration *reg = registration_make(queue, ops, change->ident, hash);
	int rc;

	if (!reg)
		return -ENOMEM;
	reg->udata = xp_udata_bits(change->udata64);
	reg->flags = (change->flags & (MODES | XPOLL_DISABLE)) | ops->implied;
	rc = ops->attach(queue, reg, change);
	if (rc < 0)
		xp_registration_free(queue, reg);
	return rc;
}

struct xp_registration *xp_registration_spawn(struct xpoll *queue,
                                              const struct xp_registration *model,
                                              uint64_t ident)
{
	struct xp_registration *reg;

	if (xp_registration_find(queue, ident, model->item.filter))
		return NULL;
	reg = xp_registration_make(queue, model->ops, ident,
	               xp_regmap_hash(ident, model->item.filter));
	if (!reg)
		return NULL;
	reg->fflags = model->fflags;
	reg->udata = model->udata;
	reg->flags = model->flags;
	return reg;
}

static int registration_modify(struct xpoll *queue, struct xp_registration *reg,
                               const struct xpoll_event *change)
{
	bool switched = change->flags & (XPOLL_ENABLE | XPOLL_DISABLE);
	bool added = change->flags & XPOLL_ADD;

	if (added || !switched || change->fflags || change->flags & XPOLL_CLEAR) {
		int rc = reg->ops->touch(queue, reg, change);

		if (rc < 0)
			return rc;
	}
	if (added) {
		reg->flags |= change->flags & MODES;
		if (!(change->flags & XPOLL_KEEPUDATA))
			reg->udata = xp_udata_bits(change->udata64);
	} else if (change->flags & XPOLL_SETUDATA) {
		reg->udata = xp_udata_bits(change->udata64);
	}
	if (change->flags & XPOLL_ENABLE)
		reg->flags &= (uint16_t)~XPOLL_DISABLE;
	if (change->flags & XPOLL_DISABLE)
		reg->flags |= XPOLL_DISABLE;
	if (switched && reg->ops->switched)
		reg->ops->switched(queue, reg);
	registration_enlist(queue, reg);
	return 0;
}

/* Nothing is registered: a closed descriptor is the better answer. */
static int registration_not_there(const struct xp_source_ops *ops, uint64_t ident)
{
	int fd = ops->of_fd ? xp_fd_number(ident) : -1;

	return !ops->of_fd || (fd >= 0 && xp_sys_open_flags(fd) >= 0) ? -ENOENT
		: -EBADF;
}

static int registration_delete(struct xpoll *queue, struct xp_registration *reg)
{
	const struct xp_source_ops *ops = reg->ops;
	int rc = ops->confirm ? ops->confirm(queue, reg) : 0;

	if (rc != -EBUSY)
		xp_registration_end(queue, reg);
	return rc;
}

/* The first step: the hashes, and where in the table they lead. */
static void ahead_hash(const struct xpoll *queue, struct xp_ahead *ahead,
                       const struct xpoll_event *changes, int from, int end)
{
	for (int i = from; i < end && i < from + XP_PREFETCH_AHEAD; i++) {
		uint64_t hash = xp_regmap_hash(changes[i].ident,
		                               changes[i].filter);

		ahead[i % XP_PREFETCH_RING] = (struct xp_ahead){.hash = hash};
		xp_regmap_prefetch_table(&queue->registrations.map, hash);
	}
}

/* The second step, when that part of the table has come. */
static void ahead_find(const struct xpoll *queue, struct xp_ahead *ahead, int from,
                       int end)
{
	for (int i = from; i < end && i < from + XP_PREFETCH_AHEAD; i++) {
		struct xp_ahead *one = &ahead[i % XP_PREFETCH_RING];
		struct xp_regmap_item *item =
			xp_regmap_guess(&queue->registrations.map, one->hash);

		if (!item)
			continue;
		/* It is longer than a line. */
		xp_prefetch(item);
		xp_prefetch((const char *)item + XP_CACHE_LINE);
		one->guess = XP_CONTAINER_OF(item, struct xp_registration, item);
	}
}

/* The third step, when the registration has come. */
static void ahead_source(struct xpoll *queue, const struct xp_ahead *ahead, int from,
                         int end)
{
	for (int i = from; i < end && i < from + XP_PREFETCH_AHEAD; i++) {
		const struct xp_registration *reg = ahead[i % XP_PREFETCH_RING].guess;

		if (reg && reg->ops->prefetch)
			reg->ops->prefetch(queue, reg);
	}
}

void xp_registration_prefetch(struct xpoll *queue, struct xp_ahead *ahead,
                              const struct xpoll_event *changes, int i, int nchanges)
{
	XP_ASSERT(i % XP_PREFETCH_AHEAD == 0 && i < nchanges);
	if (i == 0) {
		ahead_hash(queue, ahead, changes, 0, nchanges);
		if (nchanges == 1)
			return;
		ahead_hash(queue, ahead, changes, XP_PREFETCH_AHEAD, nchanges);
		ahead_find(queue, ahead, 0, nchanges);
	}
	ahead_source(queue, ahead, i, nchanges);
	ahead_find(queue, ahead, i + XP_PREFETCH_AHEAD, nchanges);
	ahead_hash(queue, ahead, changes, i + 2 * XP_PREFETCH_AHEAD, nchanges);
}

void xp_registrations_settle(struct xpoll *queue, const struct xp_source_ops *ops,
                             enum xp_settle before)
{
	if (ops->settle && *xp_source_state(queue, ops->id))
		ops->settle(queue, before);
}

/* The one that a change is of; NULL: there is none. */
static XP_INLINE struct xp_registration *registration_meant(const struct xpoll *queue,
                                                  const struct xpoll_event *change,
                                                  const struct xp_ahead *ahead)
{
	struct xp_registration *guess = ahead->guess;
	struct xp_regmap_item *item;

	if (guess && guess->item.ident == change->ident &&
	    guess->item.filter == change->filter)
		return guess;
	if (xp_regmap_lacks(&queue->registrations.map, ahead->hash))
		return NULL;
	item = xp_regmap_find_hashed(&queue->registrations.map, ahead->hash, change->ident,
	                             change->filter);
	return item ? XP_CONTAINER_OF(item, struct xp_registration, item) : NULL;
}

int xp_registration_change(struct xpoll *queue, const struct xpoll_event *change,
                           const struct xp_ahead *ahead)
{
	const struct xp_source_ops *ops = xp_source_find(change->filter);
	struct xp_registration *reg;
	int rc;

	if (!ops)
		return -EINVAL;
	if (!ops->attach)
		return -ENOTSUP;
	if (change->fflags & ~ops->fflags)
		return -EINVAL;
	xp_registrations_settle(queue, ops, XP_BEFORE_CHANGE);
	reg = registration_meant(queue, change, ahead);
	if (reg && change->flags & XPOLL_DELETE)
		return registration_delete(queue, reg);
	if (reg) {
		rc = registration_modify(queue, reg, change);
		if (rc != -ESTALE)
			return rc;
		xp_registration_end(queue, reg);
	}
	if (change->flags & XPOLL_ADD)
		return registration_add(queue, ops, change, ahead->hash);
	return registration_not_there(ops, change->ident);
}

bool xp_registration_confirm(struct xpoll *queue, struct xp_registration *reg)
{
	if (!reg->ops->confirm || reg->confirmed == xp_moment(queue) ||
	    reg->ops->confirm(queue, reg) == 0)
		return true;
	xp_registration_end(queue, reg);
	return false;
}

bool xp_registration_deliver(struct xpoll *queue, struct xp_registration *reg,
                             uint32_t wait_epoch, struct xpoll_event *event)
{
	int flags = reg->ops->collect(queue, reg, event);

	if (XP_UNLIKELY(flags < 0))
		return false;
	reg->wait_epoch = wait_epoch;
	event->ident = reg->item.ident;
	event->filter = (int16_t)reg->item.filter;
	event->flags = (uint16_t)((unsigned)flags | (reg->flags & queue->report_modes));
	event->udata64 = reg->udata.bits;
	if (reg->flags & XPOLL_ONESHOT) {
		xp_registration_end(queue, reg);
		return true;
	}
	if (reg->flags & XPOLL_DISPATCH) {
		reg->flags |= XPOLL_DISABLE;
		if (reg->ops->switched)
			reg->ops->switched(queue, reg);
	}
	/* To the end of the list, behind those that were not served yet. */
	xp_list_remove(&reg->ready);
	if (reg->active && !(reg->flags & XPOLL_DISABLE))
		xp_list_append(&queue->registrations.active, &reg->ready);
	return true;
}

/* Release all of them, and then the states. */
static void registrations_release(struct xpoll *queue)
{
	xp_list_init(&queue->registrations.active);
	for (size_t i = 0; xp_sources[i]; i++) {
		const struct xp_source_ops *ops = xp_sources[i];
		struct xp_pool *pool = &queue->sources[ops->id].pool;
		struct xp_registration *reg;

		for (uint32_t n = 0; ops->release &&
		     (reg = xp_pool_walk(pool, &n));) {
			xp_list_init(&reg->ready);
			reg->active = false;
			if (!reg->orphan)
				ops->release(queue, reg);
		}
	}
	for (size_t i = 0; xp_sources[i]; i++) {
		void **state = xp_source_state(queue, xp_sources[i]->id);

		if (*state && xp_sources[i]->fini)
			xp_sources[i]->fini(queue, *state);
		*state = NULL;
		xp_source_set_due(queue, xp_sources[i]->id, XP_NEVER);
	}
	queue->probed = false;
	XP_ASSERT(xp_list_empty(&queue->registrations.active));
}

void xp_registrations_fini(struct xpoll *queue)
{
	registrations_release(queue);
	for (int i = 0; i < XP_SOURCES; i++)
		xp_pool_fini(&queue->sources[i].pool);
	xp_regmap_fini(&queue->registrations.map);
}

/* It is dropped if it cannot be inherited, but not for lack of memory. */
static int registration_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	int rc;

	reg->active = false;
	xp_list_init(&reg->ready);
	rc = reg->ops->inherit ? reg->ops->inherit(queue, reg) : -ENOTSUP;
	reg->orphan = xp_is_lack(rc);
	if (reg->orphan)
		return rc;
	if (rc < 0)
		xp_registration_free(queue, reg);
	return 0;
}

int xp_registrations_inherit(struct xpoll *queue)
{
	int first = 0;

	registrations_release(queue);
	for (size_t i = 0; xp_sources[i]; i++) {
		struct xp_pool *pool = &queue->sources[xp_sources[i]->id].pool;
		struct xp_registration *reg;

		for (uint32_t n = 0; (reg = xp_pool_walk(pool, &n));) {
			int rc = registration_inherit(queue, reg);

			if (first == 0)
				first = rc;
		}
	}
	return first;
}
