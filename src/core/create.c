/* Creation and destruction of queues, and xpoll_reinit in a forked child. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/result.h"
#include "core/backends.h"
#include "core/due.h"
#include "core/files.h"
#include "core/late.h"
#include "core/lowat.h"
#include "core/process.h"
#include "core/renew.h"
#include "core/source_fd.h"
#include "core/sources.h"
#include "core/threads.h"
#include "core/wait.h"

static void wakefds_close(const struct xp_wakefd wakefds[XP_GROUPS])
{
	for (int i = 0; i < XP_GROUPS; i++)
		xp_wakefd_close(&wakefds[i]);
}

/*
 * Open a back end; if it serves one thread at a time, also the descriptors that wake followers, the
 * threads that wait for their turn.
 */
static int backend_open(const struct xp_backend_ops *ops, const struct xpoll_options *options,
                        struct xp_counters *counters, void **state,
                        struct xp_wakefd wakefds[XP_GROUPS])
{
	int rc;

	for (int i = 0; i < XP_GROUPS; i++)
		wakefds[i] = (struct xp_wakefd){.fd = -1, .write_fd = -1};
	*state = xp_alloc(ops->state_size);
	rc = *state ? xp_backend_open(ops, *state, options, counters) : -ENOMEM;
	for (int i = 0; rc == 0 && !(ops->caps & XP_CAP_CONCURRENT) && i < XP_GROUPS; i++) {
		rc = xp_wakefd_open(&wakefds[i]);
		if (rc < 0)
			ops->close(*state);
	}
	if (rc < 0) {
		wakefds_close(wakefds);
		xp_free(*state);
	}
	return rc;
}

static void backend_close(struct xpoll *queue)
{
	queue->ops->close(queue->backend);
	wakefds_close(queue->turn.wakefds);
	xp_free(queue->backend);
}

/* Initialise a queue whose memory is allocated.  Returns 0 or a negative errno value. */
static int queue_init(struct xpoll *queue, const struct xp_backend_ops *ops,
                      const struct xpoll_options *options)
{
	int rc;

	*queue = (struct xpoll){
		.ops = ops,
		.busy_poll_us = options->busy_poll_us,
		.lazy = !(ops->caps & XP_CAP_FREE_CHANGE),
		.restarts = options->flags & XPOLL_RESTART,
		.vnode_as_bsd = options->flags & XPOLL_VNODE_AS_BSD,
		.report_modes = options->flags & XPOLL_TELL_MODES
			? XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH : 0,
		.ask.always = options->flags & XPOLL_ALL_READY,
		.idle.counted = options->flags & XPOLL_COUNT_IDLE,
	};
	xp_timer_waiter_forget(queue);
	xp_sources_init(queue);
	xp_files_init(queue);
	rc = xp_threads_init(queue);
	if (rc == 0) {
		rc = backend_open(ops, options, &queue->counters, &queue->backend,
		                  queue->turn.wakefds);
		if (rc < 0)
			xp_threads_fini(queue);
	}
	return rc;
}

struct xpoll *xpoll_open(const struct xpoll_options *options)
{
	struct xpoll_options taken = {0};
	const struct xp_backend_ops *ops;
	struct xpoll *queue = NULL;
	int rc = xp_options_take(options, &taken);

	if (rc == 0)
		rc = xp_backend_find(taken.backend, &ops);
	if (rc == 0)
		queue = xp_alloc_lines(sizeof *queue);
	if (rc == 0)
		rc = queue ? queue_init(queue, ops, &taken) : -ENOMEM;
	if (rc < 0) {
		xp_free(queue);
		(void)xp_result(rc);
		return NULL;
	}
	xp_process_add(queue);
	return queue;
}

struct xpoll *xpoll_create(int size_hint)
{
	struct xpoll_options options = {.size = sizeof options, .size_hint = size_hint};

	if (size_hint >= 1)
		return xpoll_open(&options);
	errno = EINVAL;
	return NULL;
}

static void queue_free(struct xpoll *queue)
{
	xp_sources_fini(queue);
	backend_close(queue);
	xp_slots_fini(queue);
	xp_lowat_fini(queue);
	xp_files_fini(queue);
	XP_ASSERT(!xp_has_sleepers(queue) || !xp_process_owns(queue));
	xp_free(queue);
}

void xpoll_destroy(struct xpoll *queue)
{
	int saved = errno;

	if (!queue)
		return;
	if (!xp_process_owns(queue)) {
		/*
		 * In a forked child: if a thread of the parent had the lock during the fork, tables
		 * may be half changed, so only close the back end.
		 */
		if (xp_is_inconsistent(queue))
			queue->ops->close(queue->backend);
		else
			queue_free(queue);
		errno = saved;
		return;
	}
	xp_process_remove(queue);
	xp_threads_await_end(queue);
	xp_threads_fini(queue);
	queue_free(queue);
	errno = saved;
}

/* --- In a forked child --------------------------------------------------------------- */

/* Give all registrations kernel objects of this child.  Returns 0 or the first error. */
static int reinit_registrations(struct xpoll *queue)
{
	int sources_rc, fds_rc;

	xp_lock(queue);
	xp_batch_end(queue);
	xp_late_forget_all(queue);
	xp_source_fds_forget(queue);
	sources_rc = xp_sources_inherit(queue);
	fds_rc = xp_attach_slots(queue, XP_ATTACH_INHERITED);
	xp_unlock(queue);
	return sources_rc < 0 ? sources_rc : fds_rc;
}

int xpoll_reinit(struct xpoll *queue)
{
	struct xpoll_options options = {0};
	struct xp_wakefd wakefds[XP_GROUPS];
	uint32_t parent;
	void *state;
	int rc;

	if (!queue || xp_process_owns(queue))
		return xp_result(-EINVAL);
	if (xp_is_inconsistent(queue))
		return xp_result(-EBUSY);
	options.busy_poll_us = queue->busy_poll_us;
	rc = backend_open(queue->ops, &options, &queue->counters, &state, wakefds);
	if (rc < 0)
		return xp_result(rc);
	backend_close(queue);
	queue->backend = state;
	memcpy(queue->turn.wakefds, wakefds, sizeof wakefds);
	rc = xp_threads_forget(queue);
	if (rc < 0)
		return xp_result(rc);
	parent = queue->process;
	xp_process_add(queue);
	rc = reinit_registrations(queue);
	if (rc < 0) {
		/* The parent owns the queue again, so the program can repeat the call. */
		xp_process_give_back(queue, parent);
	}
	return xp_result(rc);
}
