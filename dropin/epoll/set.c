/* Makes and ends sets, makes them pollable, and makes the parent's sets usable in a child. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

static pool_list pool;

/*
 * The function `end` of a set's object (struct ep_object): destroys a set that has no reference any
 * more.
 */
static void end_set(struct ep_object *object)
{
	struct ep_set *set = (struct ep_set *)object;
	bool inside = ep_inside;
	int saved = errno, state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ep_inside = true;
	ep_notifier_close(set);
	xpoll_destroy(set->queue);
	set->queue = NULL;
	ep_entries_free(set);
	pool_give(&pool, &object->free);
	ep_inside = inside;
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

/*
 * Returns a new descriptor for a set: a socket that is never readable, which ep_make_pollable
 * replaces later.  Until then no descriptor of the set's queue is in use, so the queue may keep
 * changes until its next wait, which saves system calls.  Returns -errno on failure.
 */
static int make_placeholder_fd(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0)
		return -errno;
	ep_real()->fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/*
 * The function `detach_from_parent` of a set, called in a forked child: closes the notifier's
 * socket pair.  If the set's descriptors refer to the parent's queue or notifier (is_pollable),
 * makes them duplicates of a new socket.  So the program's descriptors stay open; the next
 * ep_make_pollable replaces the socket.  If no socket can be made, the descriptors still refer to
 * the parent's queue or notifier, or, because a child inherits no kqueue, to the socket of
 * ep_reserve_closed_fds.
 */
static void detach_from_parent(struct ep_set *set)
{
	static const pthread_cond_t no_waiter = PTHREAD_COND_INITIALIZER;
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	struct ep_notifier *notifier = &set->notifier;
	int fd = set->is_pollable ? make_placeholder_fd() : -1;

	set->ready_lock = unlocked;
	atomic_store(&set->waiters, 0);
	if (notifier->fds[0] >= 0) {
		real_close.close(notifier->fds[0]);
		real_close.close(notifier->fds[1]);
	}
	*notifier = (struct ep_notifier){.fds = {-1, -1}, .is_required = notifier->is_required,
	                                 .changed = no_waiter};
	set->is_pollable = false;
	if (fd < 0)
		return;
	(void)ep_replace_fds(&set->object, fd);
	real_close.close(fd);
}

/* Returns the memory of an ended set, or new memory; NULL: there is no memory. */
static struct ep_set *allocate(void)
{
	struct ep_set *set = pool_take(&pool);

	if (set)
		return set;
	set = calloc(1, sizeof *set);
	if (!set)
		return NULL;
	set->object.kind = EP_SET;
	set->object.end = end_set;
	set->detach_from_parent = detach_from_parent;
	pthread_mutex_init(&set->lock, NULL);
	pthread_mutex_init(&set->ready_lock, NULL);
	pthread_cond_init(&set->notifier.changed, NULL);
	return set;
}

/* Make the set's queue.  Returns the set's first descriptor or -errno. */
static int open_queue(struct ep_set *set)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.flags = XPOLL_ALL_READY;
	set->queue = xpoll_open(&options);
	return set->queue ? make_placeholder_fd() : -errno;
}

int ep_begin(struct ep_set **begun)
{
	struct ep_set *set = allocate();
	bool inside = ep_inside;
	int fd;

	if (!set)
		return -ENOMEM;
	ep_inside = true;
	set->notifier.fds[0] = set->notifier.fds[1] = -1;
	/*
	 * If the memory is reused from a set that ended in a forked child, is_required may still be
	 * true from the parent, because detach_from_parent keeps it: set it to false.
	 */
	set->notifier.is_required = false;
	set->object.descriptors = 0;
	set->is_pollable = false;
	fd = open_queue(set);
	ep_inside = inside;
	atomic_store(&set->process, getpid());
	atomic_store(&set->object.refs, 1);
	if (fd < 0)
		ep_drop(set);
	else
		*begun = set;
	return fd;
}

/*
 * Make the set's descriptors duplicates of the queue's descriptor or of a notifier's socket (struct
 * ep_notifier).  Called with the locks of the table and of the set.  Returns 0 or -errno.
 */
static int make_pollable(struct ep_set *set)
{
	int fd = set->notifier.is_required ? -1 : xpoll_fd(set->queue);
	int rc;

	/*
	 * Use a notifier in three cases: the back end has no descriptor (ENOTSUP), the kernel
	 * allows no further level of queues in queues (ELOOP), or ep_use_notifier has set
	 * notifier.is_required.  Return any other error of xpoll_fd to the caller.
	 */
	if (fd < 0 && !set->notifier.is_required && errno != ENOTSUP && errno != ELOOP)
		return -errno;
	if (fd < 0) {
		/*
		 * If an earlier call has failed in ep_replace_fds, the socket pair exists already:
		 * use that pair.
		 */
		rc = set->notifier.fds[0] < 0 ? ep_notifier_open(&set->notifier) : 0;
		if (rc < 0)
			return rc;
		fd = set->notifier.fds[0];
	}
	rc = ep_replace_fds(&set->object, fd);
	set->is_pollable = rc == 0;
	return rc;
}

static bool is_pollable(struct ep_set *set)
{
	bool exposed;

	pthread_mutex_lock(&set->lock);
	exposed = set->is_pollable;
	pthread_mutex_unlock(&set->lock);
	return exposed;
}

int ep_make_pollable(struct ep_set *set)
{
	bool inside = ep_inside;
	int saved = errno, rc = 0;

	if (is_pollable(set))
		return 0;
	ep_inside = true;
	ep_table_lock();
	pthread_mutex_lock(&set->lock);
	if (!set->is_pollable)
		rc = make_pollable(set);
	pthread_mutex_unlock(&set->lock);
	ep_table_unlock();
	ep_inside = inside;
	errno = saved;
	return rc;
}

int ep_use_notifier(struct ep_set *set)
{
	int rc;

	ep_table_lock();
	pthread_mutex_lock(&set->lock);
	rc = set->notifier.fds[0] < 0 ? ep_notifier_open(&set->notifier) : 0;
	set->notifier.is_required |= rc == 0;
	pthread_mutex_unlock(&set->lock);
	if (rc == 0)
		rc = ep_replace_fds(&set->object, set->notifier.fds[0]);
	ep_table_unlock();
	ep_renew_watchers(set);
	return rc;
}

/* --- Fork ------------------------------------------------------------------------------ */

/*
 * In a forked child: register the descriptors of the nested sets again, because detach_from_parent
 * has replaced them by other files.  Called with the set's lock.
 */
static void register_nested_again(struct ep_set *set)
{
	for (int fd = 0; fd < (int)numbers_end(); fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		if (entry && entry->is_nested)
			ep_register_again(set, fd, entry);
	}
}

/*
 * Make a set of the parent usable in this forked child: give the set's queue new kernel objects,
 * and register nested sets again.  Does not change the set's own descriptors: they refer to a
 * socket that is never readable, until ep_make_pollable replaces it.  Called with the set's lock.
 * Returns 0 or -errno.
 */
static int adopt_locked(struct ep_set *set)
{
	if (xpoll_reinit(set->queue) < 0)
		return -errno;
	if (atomic_load(&set->nested_entries) > 0)
		register_nested_again(set);
	atomic_store(&set->process, atomic_load(&ep_process));
	return 0;
}

int ep_adopt(struct ep_set *set)
{
	int saved = errno;
	int rc = 0;

	if (XP_LIKELY(atomic_load(&set->process) == atomic_load(&ep_process)))
		return 0;
	pthread_mutex_lock(&set->lock);
	if (atomic_load(&set->process) != atomic_load(&ep_process))
		rc = adopt_locked(set);
	pthread_mutex_unlock(&set->lock);
	errno = saved;
	return rc;
}
