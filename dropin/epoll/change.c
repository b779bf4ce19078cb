/*
 * epoll_ctl(2): checks fd, op and event in the same order as Linux, and adds, changes or deletes
 * the entry (struct ep_entry) of fd in a set.
 */
#include <errno.h>
#include <sys/stat.h>

#include "ep.h"

/* The EPOLL* bits that may be combined with EPOLLEXCLUSIVE. */
#define EP_EXCLUSIVE_OK (EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | \
                         EPOLLEXCLUSIVE)

/*
 * Returns false for files that Linux's epoll_ctl(2) refuses with EPERM, because they have no poll
 * operation on Linux: regular files, directories, block devices, and three character devices.
 */
static bool can_poll(const struct stat *status)
{
	static const char *const plain[] = {"/dev/null", "/dev/zero", "/dev/full"};
	struct stat device;

	if (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) || S_ISBLK(status->st_mode))
		return false;
	if (!S_ISCHR(status->st_mode))
		return true;
	for (int i = 0; i < 3; i++)
		if (stat(plain[i], &device) == 0 && S_ISCHR(device.st_mode) &&
		    device.st_rdev == status->st_rdev)
			return false;
	return true;
}

/*
 * Returns true if `status`, the fstat(2) of a registered descriptor, is of another file than the
 * entry has recorded.  In this case the program has closed the registered descriptor without a call
 * of this library, for example by a bare system call, and has reused its number.  On Linux the
 * entry is one of the old file, and is not found by the new one.
 */
static bool is_stale(const struct ep_entry *entry, const struct stat *status)
{
	return entry->device != status->st_dev || entry->inode != status->st_ino;
}

/*
 * Do an EPOLL_CTL_ADD.  is_nested: fd refers to a set.  Called with the set's lock.  Returns 0 or a
 * negative errno value.
 */
static int add_entry(struct ep_set *set, int fd, const struct epoll_event *event,
                     const struct stat *status, bool is_nested)
{
	struct ep_entry *entry = ep_entry_make(set, fd);
	int rc;

	if (!entry)
		return -ENOMEM;
	if (entry->is_live && !is_stale(entry, status))
		return -EEXIST;
	if (entry->is_live) {
		ep_unregister(set, fd, entry);
		ep_entry_end(set, entry);
	}
	*entry = (struct ep_entry){
		.is_nested = is_nested,
		.is_socket = S_ISSOCK(status->st_mode),
		.events = event->events,
		.data = event->data.u64,
		.serial = ++set->last_serial,
		.device = status->st_dev,
		.inode = status->st_ino,
	};
	number_mark_registered(fd);
	rc = ep_register(set, fd, entry);
	if (rc == 0) {
		entry->is_live = true;
		atomic_fetch_add(&set->live_entries, 1);
		atomic_fetch_add(&set->nested_entries, is_nested);
	}
	return rc;
}

/*
 * Do an ADD, MOD or DEL whose arguments are valid.  is_nested: fd refers to a set.  Called with the
 * set's lock.  Returns 0 or a negative errno value.
 */
static int change_entry(struct ep_set *set, int op, int fd, const struct epoll_event *event,
                        const struct stat *status, bool is_nested)
{
	struct ep_entry *entry = ep_entry_find(set, fd);

	if (op == EPOLL_CTL_ADD)
		return add_entry(set, fd, event, status, is_nested);
	if (!entry || is_stale(entry, status))
		return -ENOENT;
	if (op == EPOLL_CTL_MOD)
		return entry->events & EPOLLEXCLUSIVE ? -EINVAL
		                                      : ep_modify(set, fd, entry, event);
	ep_unregister(set, fd, entry);
	ep_entry_end(set, entry);
	return 0;
}

/* Returns -EINVAL if EPOLLEXCLUSIVE is used where Linux does not allow it, else 0. */
static int check_exclusive(int op, uint32_t events, bool is_nested)
{
	if (!(events & EPOLLEXCLUSIVE))
		return 0;
	if (op == EPOLL_CTL_MOD || is_nested || events & ~EP_EXCLUSIVE_OK)
		return -EINVAL;
	return 0;
}

static int lock_and_change(struct ep_set *set, int op, int fd, const struct epoll_event *event,
                           const struct stat *status, bool is_nested)
{
	bool is_paused;
	int rc;

	/*
	 * If the set has a notifier, keep the notifier's thread, which also waits in the queue, out
	 * of the queue during the change.  If the thread took a report just before the change, and
	 * passed the report on just after the change, the program would get an event for this
	 * report in addition to the event for the changed entry.
	 */
	is_paused = ep_notifier_pause(set);
	pthread_mutex_lock(&set->lock);
	rc = change_entry(set, op, fd, event, status, is_nested);
	pthread_mutex_unlock(&set->lock);
	if (is_paused)
		ep_notifier_resume(set);
	return rc;
}

/*
 * Add the set `inner`, which fd refers to, to `set`.  The registration fails with ELOOP if the
 * kernel does not allow another level of queues in queues.  In that case give `inner` a notifier,
 * and try again: the descriptors of `inner` now refer to the notifier's socket (struct
 * ep_notifier), which the kernel does not count as a queue.
 */
static int add_nested(struct ep_set *set, struct ep_set *inner, int fd,
                      const struct epoll_event *event)
{
	struct stat status;
	int rc = ep_notifier_start(inner);

	if (rc < 0)
		return rc;
	/*
	 * ep_notifier_start may have replaced the file that fd refers to: get the new file's inode.
	 */
	if (fstat(fd, &status) < 0)
		return -EBADF;
	rc = lock_and_change(set, EPOLL_CTL_ADD, fd, event, &status, true);
	if (rc != -ELOOP || atomic_load(&inner->notifier.fds[0]) >= 0)
		return rc;
	if (ep_use_notifier(inner) < 0 || ep_notifier_start(inner) < 0 || fstat(fd, &status) < 0)
		return -ELOOP;
	return lock_and_change(set, EPOLL_CTL_ADD, fd, event, &status, true);
}

/*
 * Check op and event, and do the change.  inner: the set that fd refers to; NULL: fd refers to no
 * set.  Returns 0 or a negative errno value.
 */
static int check_and_change(struct ep_set *set, struct ep_set *inner, int op, int fd,
                            const struct epoll_event *event, const struct stat *status)
{
	bool nests = inner && op == EPOLL_CTL_ADD;
	int rc = check_exclusive(op, event->events, inner);

	if (inner == set || op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD)
		rc = -EINVAL;
	if (nests) {
		pthread_mutex_lock(&ep_nest_lock);
		if (rc == 0)
			rc = ep_nest_check(set, inner);
		if (rc == 0)
			rc = ep_adopt_with_nested(inner);
	}
	if (rc == 0)
		rc = nests ? add_nested(set, inner, fd, event)
		           : lock_and_change(set, op, fd, event, status, inner);
	if (nests)
		pthread_mutex_unlock(&ep_nest_lock);
	return rc;
}

int ep_ctl(struct ep_set *set, int op, int fd, const struct epoll_event *event)
{
	struct stat status;
	struct ep_set *inner;
	int saved = errno;
	int rc;

	if (fstat(fd, &status) < 0)
		rc = -EBADF;
	else if (!can_poll(&status))
		rc = -EPERM;
	else if (!set)
		rc = -EINVAL;
	else {
		inner = ep_hold(fd);
		rc = check_and_change(set, inner, op, fd, event, &status);
		if (inner)
			ep_drop(inner);
	}
	errno = saved;
	return rc;
}
