/* Makes and ends sets, and makes the parent's sets usable in a forked child. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

static pool_list pool;

/* object->end: end a set that has no reference any more. */
static void end_set(struct ep_object *object)
{
	struct ep_set *set = (struct ep_set *)object;
	bool inside = ep_inside;
	int saved = errno, state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ep_inside = true;
	ep_bell_end(set);
	xpoll_destroy(set->queue);
	set->queue = NULL;
	ep_entries_free(set);
	pool_give(&pool, &object->free);
	ep_inside = inside;
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

/*
 * Returns a new descriptor that stands for a set until ep_expose: a socket that is never readable.
 * While no descriptor of the queue is in use, the queue can keep its changes until the next wait,
 * and pass them to the kernel then.
 */
static int make_fd(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0)
		return -errno;
	ep_real()->fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/*
 * set->fork: in a forked child, if ep_expose has made the set's descriptors those of the parent's
 * queue or of its bell (a socket), replace them by duplicates of a new socket.  So the set's
 * descriptors stay open, as the program expects, until the next ep_expose.  If no socket can be
 * made, the descriptors stay shared with the parent.
 */
static void fork_set(struct ep_set *set)
{
	static const pthread_cond_t no_waiter = PTHREAD_COND_INITIALIZER;
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	struct ep_bell *bell = &set->bell;
	int fd = set->is_exposed ? make_fd() : -1;

	set->ready_lock = unlocked;
	atomic_store(&set->waiters, 0);
	if (bell->fds[0] >= 0) {
		real_close.close(bell->fds[0]);
		real_close.close(bell->fds[1]);
	}
	*bell = (struct ep_bell){.fds = {-1, -1}, .stays = bell->stays, .changed = no_waiter};
	set->is_exposed = false;
	if (fd < 0)
		return;
	(void)ep_replace_fds(&set->object, fd);
	real_close.close(fd);
}

/* Returns the memory of an ended set, or new memory; NULL: none. */
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
	set->fork = fork_set;
	pthread_mutex_init(&set->lock, NULL);
	pthread_mutex_init(&set->ready_lock, NULL);
	pthread_cond_init(&set->bell.changed, NULL);
	return set;
}

/* Make the queue.  Returns the set's first descriptor or -errno. */
static int open_queue(struct ep_set *set)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.flags = XPOLL_ALL_READY;
	set->queue = xpoll_open(&options);
	return set->queue ? make_fd() : -errno;
}

int ep_begin(struct ep_set **begun)
{
	struct ep_set *set = allocate();
	bool inside = ep_inside;
	int fd;

	if (!set)
		return -ENOMEM;
	ep_inside = true;
	set->bell.fds[0] = set->bell.fds[1] = -1;
	set->bell.stays = false; /* true in memory of a set that has ended in a forked child */
	set->object.descriptors = 0;
	set->is_exposed = false;
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
 * Make the set's descriptors duplicates of the queue's descriptor or, if the kernel or the back end
 * rules that out, of a socket that a thread keeps readable while the set has events (struct
 * ep_bell).  Called with the locks of the table and of the set.
 */
static int expose(struct ep_set *set)
{
	int fd = set->bell.stays ? -1 : xpoll_fd(set->queue);
	int rc;

	/*
	 * Use a bell, a socket instead of the queue's descriptor, if the back end has no descriptor
	 * (ENOTSUP), if the kernel allows no further level of queues (ELOOP), or if ep_use_bell has
	 * set bell.stays.  After another error fail.
	 */
	if (fd < 0 && !set->bell.stays && errno != ENOTSUP && errno != ELOOP)
		return -errno;
	if (fd < 0) {
		/*
		 * If an earlier ep_replace_fds has failed, there is a socket pair already: use that
		 * one.
		 */
		rc = set->bell.fds[0] < 0 ? ep_bell_make(&set->bell) : 0;
		if (rc < 0)
			return rc;
		fd = set->bell.fds[0];
	}
	rc = ep_replace_fds(&set->object, fd);
	set->is_exposed = rc == 0;
	return rc;
}

static bool is_exposed(struct ep_set *set)
{
	bool exposed;

	pthread_mutex_lock(&set->lock);
	exposed = set->is_exposed;
	pthread_mutex_unlock(&set->lock);
	return exposed;
}

int ep_expose(struct ep_set *set)
{
	bool inside = ep_inside;
	int saved = errno, rc = 0;

	if (is_exposed(set))
		return 0;
	ep_inside = true;
	ep_table_lock();
	pthread_mutex_lock(&set->lock);
	if (!set->is_exposed)
		rc = expose(set);
	pthread_mutex_unlock(&set->lock);
	ep_table_unlock();
	ep_inside = inside;
	errno = saved;
	return rc;
}

int ep_use_bell(struct ep_set *set)
{
	int rc;

	ep_table_lock();
	pthread_mutex_lock(&set->lock);
	rc = set->bell.fds[0] < 0 ? ep_bell_make(&set->bell) : 0;
	set->bell.stays |= rc == 0;
	pthread_mutex_unlock(&set->lock);
	if (rc == 0)
		rc = ep_replace_fds(&set->object, set->bell.fds[0]);
	ep_table_unlock();
	ep_renew_watchers(set);
	return rc;
}

/* --- Fork ------------------------------------------------------------------------------ */

/*
 * Called with the set's lock, in a forked child: fork_set has replaced the descriptors of the
 * nested sets by other files, so register these descriptors again.
 */
static void renew_nested(struct ep_set *set)
{
	for (int fd = 0; fd < (int)numbers_end(); fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		if (entry && entry->is_nested)
			ep_register_again(set, fd, entry);
	}
}

/*
 * Make a set of the parent usable in this forked child: give the set's queue new kernel objects.
 * The set's descriptors stay as fork_set has left them, until ep_expose.  Called with the set's
 * lock.  Returns 0 or -errno.
 */
static int adopt_locked(struct ep_set *set)
{
	if (xpoll_reinit(set->queue) < 0)
		return -errno;
	if (atomic_load(&set->nested) > 0)
		renew_nested(set);
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
