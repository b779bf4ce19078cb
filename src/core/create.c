/*
 * The queues of a process: choice of their back ends, creation, destruction, and xpoll_reinit in a
 * forked child.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/result.h"
#include "core/count.h"
#include "core/create.h"
#include "core/due.h"
#include "core/files.h"
#include "core/renew.h"
#include "core/sources.h"
#include "core/threads.h"
#include "core/wait.h"
#include "sys/system.h"

/* --- The list of the queues of this process --------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xp_list queues;

/*
 * Called once in each process, also in a forked child, where list and lock are copies of the
 * parent's: initialises both, and calls `begin` of each source.
 */
static void process_begin_once(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	list_lock = unlocked;
	xp_list_init(&queues);
	for (size_t i = 0; xp_sources[i]; i++)
		if (xp_sources[i]->process)
			xp_sources[i]->process->begin();
}

/* Add the queue to the list, and make this process the owner of the queue. */
static void process_add(struct xpoll *queue)
{
	xp_process_once(process_begin_once);
	pthread_mutex_lock(&list_lock);
	queue->process = xp_process_number();
	xp_list_append(&queues, &queue->queues);
	pthread_mutex_unlock(&list_lock);
}

/*
 * Remove the queue from the list: xpoll_close_fd and xpoll_forget_fd do not find the queue any
 * more.
 */
static void process_remove(struct xpoll *queue)
{
	XP_ASSERT(xp_process_owns(queue));
	pthread_mutex_lock(&list_lock);
	xp_list_remove(&queue->queues);
	pthread_mutex_unlock(&list_lock);
}

void xp_process_each(void (*function)(struct xpoll *queue, int fd), int fd)
{
	XP_ASSERT(fd >= 0);
	xp_process_once(process_begin_once);
	pthread_mutex_lock(&list_lock);
	for (struct xp_list *item = queues.next; item != &queues; item = item->next)
		function(XP_CONTAINER_OF(item, struct xpoll, queues), fd);
	pthread_mutex_unlock(&list_lock);
}

/* --- Options and back ends -------------------------------------------------------------- */

/* All flags of xpoll_open: XPOLL_RESTART is the highest one. */
enum { OPEN_FLAGS = 2 * XPOLL_RESTART - 1 };

/*
 * Check the options of xpoll_open and copy them to `taken`.  Members that the caller's older,
 * shorter structure lacks keep their values in `taken`; options NULL: copy nothing.  Returns 0,
 * -EINVAL, or -E2BIG if a newer program sets an option that this library lacks.
 */
static int options_copy(const struct xpoll_options *options, struct xpoll_options *taken)
{
	const unsigned char *bytes = (const unsigned char *)options;

	if (!options)
		return 0;
	if (options->size < offsetof(struct xpoll_options, size_hint) + sizeof options->size_hint)
		return -EINVAL;
	/* Refuse options of a newer program that this library does not know, unless they are 0. */
	for (size_t i = sizeof *options; i < options->size; i++)
		if (bytes[i])
			return -E2BIG;
	memcpy(taken, options, options->size < sizeof *taken ? options->size : sizeof *taken);
	if (taken->flags & ~(uint32_t)OPEN_FLAGS || taken->size_hint < 0)
		return -EINVAL;
	return taken->busy_poll_us > INT32_MAX || taken->reserved ? -EINVAL : 0;
}

/*
 * Returns true if the kernel supports the back end.  The test opens the back end, because version
 * numbers are no proof.
 */
static bool usable(const struct xp_backend_ops *ops)
{
	struct xp_counters counters = {0};
	void *state = xp_zalloc(ops->state_size);
	int rc = state ? ops->open(state, 0, &counters) : -ENOMEM;

	if (rc == 0)
		ops->close(state);
	xp_free(state);
	/*
	 * A lack of descriptors or memory proves nothing about the kernel: then the back end counts
	 * as usable.
	 */
	return rc != -ENOSYS && rc != -EPERM && rc != -EACCES && rc != -EINVAL && rc != -ENOTSUP;
}

/*
 * Returns the first back end from index *at on that works here, and sets *at to the index after it;
 * NULL: none.  name: skip back ends of another name; NULL: skip none.
 */
static const struct xp_backend_ops *next_usable(const char *name, size_t *at)
{
	const struct xp_backend_ops *ops;

	while ((ops = xp_system.backends[*at])) {
		++*at;
		if ((!name || strcmp(name, ops->name) == 0) && usable(ops))
			return ops;
	}
	return NULL;
}

int xpoll_backends(const char **names, int cap)
{
	const struct xp_backend_ops *ops;
	size_t at = 0;
	int count = 0;

	if (cap < 0 || (cap > 0 && !names))
		return xp_public_result(-EINVAL);
	for (; (ops = next_usable(NULL, &at)); count++)
		if (count < cap)
			names[count] = ops->name;
	return count;
}

/*
 * Returns the back end of this name, if it works here; name NULL: the one that $XPOLL_BACKEND
 * names, or the best one that works here.  Returns NULL if there is none.
 */
static const struct xp_backend_ops *backend_find(const char *name)
{
	const char *chosen = name ? NULL : xp_sys_getenv("XPOLL_BACKEND");
	size_t at = 0;

	return next_usable(chosen && *chosen ? chosen : name, &at);
}

static void wakefds_close(const struct xp_wakefd wakefds[XP_GROUPS])
{
	for (int i = 0; i < XP_GROUPS; i++)
		xp_wakefd_close(&wakefds[i]);
}

/*
 * Open a back end by the options; if it serves one thread at a time, also the descriptors that wake
 * followers, the threads that wait for their turn.  Returns 0 or a negative errno value: -ENOTSUP
 * also if the back end does not support one of the options.
 */
static int backend_open(const struct xp_backend_ops *ops, const struct xpoll_options *options,
                        struct xp_counters *counters, void **state,
                        struct xp_wakefd wakefds[XP_GROUPS])
{
	bool opened;
	int rc;

	XP_ASSERT(ops->fired_most <= XP_FIRED_ALONE && !ops->has_pending == !ops->flush);
	for (int i = 0; i < XP_GROUPS; i++)
		wakefds[i] = (struct xp_wakefd){.fd = -1, .write_fd = -1};
	*state = xp_zalloc(ops->state_size);
	rc = *state ? ops->open(*state, options->size_hint, counters) : -ENOMEM;
	opened = rc >= 0;
	if (opened && options->busy_poll_us)
		rc = ops->busy_poll ? ops->busy_poll(*state, options->busy_poll_us) : -ENOTSUP;
	for (int i = 0; rc >= 0 && !(ops->caps & XP_CAP_CONCURRENT) && i < XP_GROUPS; i++)
		rc = xp_wakefd_open(&wakefds[i]);
	if (rc >= 0)
		return 0;
	if (opened)
		ops->close(*state);
	wakefds_close(wakefds);
	xp_free(*state);
	return rc;
}

static void backend_close(struct xpoll *queue)
{
	queue->ops->close(queue->backend);
	wakefds_close(queue->turn_wakefds);
	xp_free(queue->backend);
}

/* --- Open and destroy ------------------------------------------------------------------ */

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
		                  queue->turn_wakefds);
		if (rc < 0)
			xp_threads_fini(queue);
	}
	return rc;
}

struct xpoll *xpoll_open(const struct xpoll_options *options)
{
	struct xpoll_options taken = {0};
	const struct xp_backend_ops *ops = NULL;
	struct xpoll *queue = NULL;
	int rc = options_copy(options, &taken);

	if (rc == 0 && !(ops = backend_find(taken.backend)))
		rc = -ENOTSUP;
	if (rc == 0)
		queue = xp_alloc_aligned(sizeof *queue);
	if (rc == 0)
		rc = queue ? queue_init(queue, ops, &taken) : -ENOMEM;
	if (rc < 0) {
		xp_free(queue);
		(void)xp_public_result(rc);
		return NULL;
	}
	process_add(queue);
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
	process_remove(queue);
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
		return xp_public_result(-EINVAL);
	if (xp_is_inconsistent(queue))
		return xp_public_result(-EBUSY);
	options.busy_poll_us = queue->busy_poll_us;
	rc = backend_open(queue->ops, &options, &queue->counters, &state, wakefds);
	if (rc < 0)
		return xp_public_result(rc);
	backend_close(queue);
	queue->backend = state;
	memcpy(queue->turn_wakefds, wakefds, sizeof wakefds);
	rc = xp_threads_forget(queue);
	if (rc < 0)
		return xp_public_result(rc);
	parent = queue->process;
	process_add(queue);
	rc = reinit_registrations(queue);
	if (rc < 0) {
		/*
		 * Record the parent as the owner again, so that the program can call xpoll_reinit
		 * again.
		 */
		process_remove(queue);
		queue->process = parent;
	}
	return xp_public_result(rc);
}
