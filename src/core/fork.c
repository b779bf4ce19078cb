/* Taking a queue over in a forked child. */
#include <errno.h>

#include "base/alloc.h"
#include "base/result.h"
#include "core/backends.h"
#include "core/child.h"
#include "core/interest.h"
#include "core/process.h"
#include "core/registration.h"
#include "core/renew.h"
#include "core/source_fd.h"

/* Kernel objects of the child's own, in place of its copies of the parent's. */
static int reinit_kernel(struct xpoll *queue)
{
	void *fresh = xp_alloc(queue->ops->state_size);
	struct xp_places places;
	struct xpoll_options options = {.busy_poll_us = queue->busy_poll_us};
	int rc = fresh ? xp_backend_open(queue->ops, fresh, &options, &queue->counters) : -ENOMEM;

	xp_places_init(&places);
	if (rc == 0 && !(queue->ops->caps & XP_CAP_CONCURRENT)) {
		rc = xp_places_open(&places);
		if (rc < 0)
			queue->ops->close(fresh);
	}
	if (rc < 0) {
		xp_free(fresh);
		return rc;
	}
	queue->ops->close(queue->backend);
	xp_free(queue->backend);
	xp_backend_set(queue, fresh);
	xp_places_close(&queue->turn.places);
	queue->turn.places = places;
	return 0;
}

static int reinit_registrations(struct xpoll *queue)
{
	int registrations_rc;
	int fds_rc;

	xp_mutex_lock(&queue->lock);
	xp_batch_begin(queue, 0);
	xp_source_fd_forget_all(queue);
	registrations_rc = xp_registrations_inherit(queue);
	fds_rc = xp_renew_attach_all(queue, true);
	xp_mutex_unlock(&queue->lock);
	return registrations_rc < 0 ? registrations_rc : fds_rc;
}

int xpoll_reinit(struct xpoll *queue)
{
	uint32_t parent;
	int rc;

	if (!queue || queue->process == xp_process_current())
		return xp_result(-EINVAL);
	if (xp_child_finds_torn(queue))
		return xp_result(-EBUSY);
	rc = reinit_kernel(queue);
	if (rc == 0)
		rc = xp_child_forget_threads(queue);
	if (rc < 0)
		return xp_result(rc);
	parent = queue->process;
	xp_process_add(queue);
	rc = reinit_registrations(queue);
	if (rc < 0) {
		/* As before: it can be tried again. */
		xp_process_give_back(queue, parent);
	}
	return xp_result(rc);
}
