/* Making and releasing a queue. */
#include "core/enter.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "core/backends.h"
#include "core/child.h"
#include "core/lowat.h"
#include "core/process.h"
#include "core/registration.h"
#include "core/sleep.h"
#include "core/sources.h"
#include "core/unpollable.h"

static int queue_init(struct xpoll *queue, const struct xp_backend_ops *ops,
                      const struct xpoll_options *options)
{
	int rc;

	memset(queue, 0, sizeof *queue);
	queue->ops = ops;
	queue->lazy = !(ops->caps & XP_CAP_FREE_CHANGE);
	queue->fired_most = ops->fired_most ? ops->fired_most : XP_FIRED_MOST;
	queue->vain = xp_mask_is_free(queue) ? 1 : 0;
	xp_places_init(&queue->turn.places);
	queue->due_ns = XP_NEVER;
	queue->timer.until_ns = XP_NEVER;
	for (int i = 0; i < XP_SOURCES; i++)
		queue->sources[i].due_ns = XP_NEVER;
	xp_list_init(&queue->registrations.active);
	xp_list_init(&queue->unpollable.awake);
	xp_list_init(&queue->unpollable.asleep);
	xp_backend_set(queue, xp_alloc(ops->state_size));
	/* Not zeroed: pages that no wait fills take no memory. */
	queue->alone.fired = xp_realloc(NULL, (size_t)queue->fired_most * sizeof(struct xp_fired));
	rc = -ENOMEM;
	if (!queue->backend || !queue->alone.fired)
		goto free_backend;
	queue->busy_poll_us = options->busy_poll_us;
	rc = xp_backend_open(ops, queue->backend, options, &queue->counters);
	if (rc < 0)
		goto free_backend;
	if (!(ops->caps & XP_CAP_CONCURRENT)) {
		rc = xp_places_open(&queue->turn.places);
		if (rc < 0)
			goto close_backend;
	}
	rc = xp_mutex_init(&queue->lock);
	if (rc < 0)
		goto close_turn;
	rc = -pthread_cond_init(&queue->thread_left, NULL);
	if (rc < 0)
		goto fini_lock;
	return 0;

fini_lock:
	xp_mutex_fini(&queue->lock);
close_turn:
	xp_places_close(&queue->turn.places);
close_backend:
	ops->close(queue->backend);
free_backend:
	xp_free(queue->alone.fired);
	xp_free(queue->backend);
	return rc;
}

struct xpoll *xpoll_open(const struct xpoll_options *options)
{
	struct xpoll_options taken = {0};
	const struct xp_backend_ops *ops;
	struct xpoll *queue;
	int rc = xp_options_take(options, &taken);

	if (rc == 0)
		rc = xp_backend_find(taken.backend, &ops);
	queue = rc == 0 ? xp_alloc_lines(sizeof *queue) : NULL;
	if (rc == 0 && !queue)
		rc = -ENOMEM;
	if (rc == 0)
		rc = queue_init(queue, ops, &taken);
	if (!queue || rc < 0) {
		xp_free(queue);
		errno = -rc;
		return NULL;
	}
	if (taken.flags & XPOLL_TELL_MODES)
		queue->report_modes = XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH;
	queue->vnode_as_bsd = taken.flags & XPOLL_VNODE_AS_BSD;
	queue->ask.always = taken.flags & XPOLL_ALL_READY;
	queue->idle.counted = taken.flags & XPOLL_COUNT_IDLE;
	xp_process_add(queue);
	return queue;
}

struct xpoll *xpoll_create(int size_hint)
{
	struct xpoll_options options = {
		.size = sizeof options,
		.size_hint = size_hint,
	};

	if (size_hint < 1) {
		errno = EINVAL;
		return NULL;
	}
	return xpoll_open(&options);
}

static void queue_free(struct xpoll *queue)
{
	xp_registrations_fini(queue);
	queue->ops->close(queue->backend);
	xp_places_close(&queue->turn.places);
	xp_slots_fini(&queue->slots);
	xp_lowat_fini(queue);
	xp_unpollable_fini(queue);
	xp_free(queue->alone.fired);
	xp_free(queue->backend);
	xp_free(queue);
}

/*
 * In a forked child: no thread of the parent is here to be waited for.  If
 * one was inside, the tables may be half changed and are left alone.
 */
static void destroy_inherited(struct xpoll *queue)
{
	if (xp_child_finds_torn(queue))
		queue->ops->close(queue->backend);
	else
		queue_free(queue);
}

void xpoll_destroy(struct xpoll *queue)
{
	int saved = errno;

	if (!queue)
		return;
	if (queue->process != xp_process_current()) {
		destroy_inherited(queue);
		errno = saved;
		return;
	}
	xp_process_remove(queue);
	xp_mutex_lock(&queue->lock);
	queue->threads.dying = true;
	queue->awaited = true;
	xp_kick_all(queue);
	xp_kick_due(queue);
	while (queue->threads.inside > 0)
		xp_mutex_wait(&queue->lock, &queue->thread_left);
	xp_mutex_unlock(&queue->lock);
	xp_wake_await_writers(queue);
	pthread_cond_destroy(&queue->thread_left);
	xp_mutex_fini(&queue->lock);
	queue_free(queue);
	errno = saved;
}

static int expose(struct xpoll *queue)
{
	int fd;

	if (!queue->ops->outer)
		return -ENOTSUP;
	fd = queue->ops->outer->fd(queue->backend);
	if (fd < 0 || queue->exposed)
		return fd;
	queue->exposed = true;
	if (queue->on_demand)
		xp_sources_run_due(queue, XP_BATCH_CAP);
	xp_sources_settle(queue, XP_BEFORE_SLEEP);
	return fd;
}

int xpoll_fd(struct xpoll *queue)
{
	int rc = queue ? xp_enter_change(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	rc = expose(queue);
	xp_leave(queue);
	return xp_result(rc);
}
