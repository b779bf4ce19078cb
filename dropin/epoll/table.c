/*
 * Maps descriptors to the objects (sets, eventfds, timerfds and signalfds) that they refer to: how
 * a call finds and holds the object of a descriptor, and what happens when a descriptor is
 * duplicated or closed and when the process forks.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ep.h"
#include "real.h"

static struct {
	pthread_mutex_t lock;
	struct ep_set *all;   /* the sets that descriptors refer to, linked by set->next */
	atomic_int set_count; /* number of sets in `all` */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local bool ep_inside;
_Atomic pid_t ep_process;
atomic_bool ep_is_child;
/*
 * The functions that ep_add_revival has stored for ep_revive_threads, which calls each in a forked
 * child: one starts the thread of the timers, the other that of the signalfds.
 */
enum { EP_REVIVALS = 2 };
static void (*revivals[EP_REVIVALS])(void);

/*
 * Returns the object of this kind that fd refers to, or NULL.  The caller has no reference, so the
 * object may end at any time.
 */
static struct ep_object *object_of(int fd, enum ep_kind kind)
{
	struct number *number = number_at(fd);
	struct ep_object *object = number
		? atomic_load_explicit(&number->object, memory_order_acquire) : NULL;

	return object && (kind == EP_ANY || object->kind == kind) ? object : NULL;
}

/* --- References -------------------------------------------------------------- */

static bool try_hold(atomic_int *count)
{
	int refs = atomic_load_explicit(count, memory_order_relaxed);

	/* An object whose count is 0 has ended, or ends now: return false. */
	while (refs > 0)
		if (atomic_compare_exchange_weak_explicit(count, &refs, refs + 1,
		                                          memory_order_acquire,
		                                          memory_order_relaxed))
			return true;
	return false;
}

struct ep_object *ep_object_hold(int fd, enum ep_kind kind)
{
	struct ep_object *object = object_of(fd, kind);

	if (!object || !try_hold(&object->refs))
		return NULL;
	/*
	 * Before this call took the reference, the object may have ended, and its memory may have
	 * been reused for another object: check that fd still refers to this object.
	 */
	if (object_of(fd, kind) == object)
		return object;
	ep_object_drop(object);
	return NULL;
}

void ep_object_drop(struct ep_object *object)
{
	if (atomic_fetch_sub(&object->refs, 1) == 1)
		object->end(object);
}

static void drop_object(void *object)
{
	ep_object_drop(object);
}

int ep_sleep(struct ep_object *object, int fd)
{
	enum { RETRY_MS = 10 };
	char byte;
	ssize_t rc;

	pthread_cleanup_push(drop_object, object);
	rc = fd < 0 ? ep_real()->poll(NULL, 0, RETRY_MS) : recv(fd, &byte, 1, MSG_PEEK);
	pthread_cleanup_pop(0);
	return rc < 0 ? -errno : 0;
}

struct ep_set *ep_all_sets(void)
{
	return table.all;
}

bool ep_is_of_set(int fd, const struct ep_set *set)
{
	return object_of(fd, EP_SET) == &set->object;
}

bool ep_any_sets(void)
{
	return atomic_load_explicit(&table.set_count, memory_order_relaxed) > 0;
}

/* --- Descriptors ------------------------------------------------------------------- */

/*
 * Record that fd refers to this object.  Called with the table's lock.  Returns false if fd is out
 * of range, or if there is no memory for the state of fd.
 */
static bool record_fd(struct ep_object *object, int fd)
{
	struct number *number = number_make(fd);

	if (!number)
		return false;
	atomic_store(&number->object, object);
	object->descriptors++;
	return true;
}

int ep_publish(struct ep_object *object, int fd)
{
	pthread_mutex_lock(&table.lock);
	atomic_store(&ep_process, getpid());
	if (!record_fd(object, fd)) {
		pthread_mutex_unlock(&table.lock);
		real_close.close(fd);
		ep_object_drop(object);
		return -ENOMEM;
	}
	if (object->kind == EP_SET) {
		struct ep_set *set = (struct ep_set *)object;

		set->next = table.all;
		table.all = set;
		atomic_fetch_add(&table.set_count, 1);
	}
	pthread_mutex_unlock(&table.lock);
	return fd;
}

void ep_table_lock(void)
{
	pthread_mutex_lock(&table.lock);
}

void ep_table_unlock(void)
{
	pthread_mutex_unlock(&table.lock);
}

/*
 * Make `duplicate` a duplicate of fd again, because ep_replace_fds may have replaced the file of fd
 * after the program has duplicated fd.  Called with the table's lock.
 */
static void refresh_duplicate(int fd, int duplicate)
{
	int flags = ep_real()->fcntl(duplicate, F_GETFD);

	if (flags >= 0 && real_close.dup2(fd, duplicate) >= 0)
		ep_real()->fcntl(duplicate, F_SETFD, flags & FD_CLOEXEC);
}

void ep_duplicated(int fd, int duplicate)
{
	struct number *number = number_at(fd);
	struct ep_object *object;
	int saved = errno;

	/*
	 * Do nothing in a child of vfork(2), which shares the parent's memory, but has its own
	 * descriptors.
	 */
	if (!number || !atomic_load(&number->object) || duplicate < 0 ||
	    atomic_load(&ep_process) != getpid())
		return;
	pthread_mutex_lock(&table.lock);
	object = atomic_load(&number->object);
	if (object)
		(void)record_fd(object, duplicate);
	if (object && object->kind == EP_SET)
		refresh_duplicate(fd, duplicate);
	pthread_mutex_unlock(&table.lock);
	errno = saved;
}

/*
 * Remove a set, whose last descriptor was closed, from the list of all sets.  Called with the
 * table's lock.
 */
static void unlist_set(struct ep_set *set)
{
	struct ep_set **link = &table.all;

	while (*link != set)
		link = &(*link)->next;
	*link = set->next;
	atomic_fetch_sub(&table.set_count, 1);
}

/*
 * End the entries of fd in all sets.  Called after xpoll_forget_fd, which has ended fd's
 * registrations in all queues.
 */
static void forget_entries(int fd)
{
	pthread_mutex_lock(&table.lock);
	for (struct ep_set *set = table.all; set; set = set->next)
		if (atomic_load(&set->live_entries) > 0)
			ep_forget(set, fd);
	pthread_mutex_unlock(&table.lock);
}

struct ep_object *ep_close_begin(int fd)
{
	struct number *number = number_at(fd);
	struct ep_object *object = NULL;
	int saved = errno;

	/*
	 * Do nothing in a child of vfork(2), which shares the parent's memory, but closes only its
	 * own descriptors.
	 */
	if (XP_LIKELY(!number_needs_close_hook(fd)) || atomic_load(&ep_process) != getpid())
		return NULL;
	if (atomic_exchange(&number->may_be_registered, false)) {
		xpoll_forget_fd(fd);
		forget_entries(fd);
	}
	if (atomic_load(&number->object)) {
		pthread_mutex_lock(&table.lock);
		object = atomic_exchange(&number->object, NULL);
		pthread_mutex_unlock(&table.lock);
	}
	errno = saved;
	return object;
}

void ep_close_end(struct ep_object *object)
{
	int saved = errno;
	bool last;

	pthread_mutex_lock(&table.lock);
	last = --object->descriptors == 0;
	if (last && object->kind == EP_SET)
		unlist_set((struct ep_set *)object);
	pthread_mutex_unlock(&table.lock);
	if (last)
		ep_object_drop(object);
	errno = saved;
}

int ep_replace_fds(struct ep_object *object, int fd)
{
	unsigned end = numbers_end();

	for (unsigned i = 0; i < end; i++) {
		int flags;

		if (object_of((int)i, object->kind) != object)
			continue;
		flags = ep_real()->fcntl((int)i, F_GETFD);
		if (real_close.dup2(fd, (int)i) < 0 ||
		    ep_real()->fcntl((int)i, F_SETFD, flags & FD_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Called by fork handlers in a forked child, so takes no lock: the child has only one thread.  The
 * locks that fork_prepare has locked may still be locked here, because this call may come from a
 * handler that runs before fork_child.
 */
void ep_update_inodes(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return;
	for (struct ep_set *set = table.all; set; set = set->next) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		if (!entry)
			continue;
		entry->device = status.st_dev;
		entry->inode = status.st_ino;
	}
}

void ep_add_revival(void (*start)(void))
{
	int i = 0;

	/*
	 * If the parent is a forked child, too, `start` may be in `revivals` already: do not add it
	 * a second time.
	 */
	while (revivals[i] && revivals[i] != start)
		i++;
	revivals[i] = start;
	atomic_store(&ep_is_child, true);
}

void ep_revive_threads(void)
{
	bool inside = ep_inside;
	int saved = errno;

	ep_inside = true;
	if (atomic_exchange(&ep_is_child, false))
		for (int i = 0; i < EP_REVIVALS; i++)
			if (revivals[i])
				revivals[i]();
	ep_inside = inside;
	errno = saved;
}

/*
 * Register fd again in the queue of each set that has an entry of fd.  Called with the table's
 * lock.
 */
static void register_fd_again(int fd)
{
	for (struct ep_set *set = table.all; set; set = set->next) {
		struct ep_entry *entry;

		pthread_mutex_lock(&set->lock);
		entry = ep_entry_find(set, fd);
		if (entry)
			ep_register_again(set, fd, entry);
		pthread_mutex_unlock(&set->lock);
	}
}

void ep_renew_watchers(struct ep_set *set)
{
	unsigned end = numbers_end();

	pthread_mutex_lock(&table.lock);
	for (unsigned i = 0; i < end; i++)
		if (ep_is_of_set((int)i, set))
			register_fd_again((int)i);
	pthread_mutex_unlock(&table.lock);
}

/* --- Fork ----------------------------------------------------------------------------- */

static void unlock_until(const struct ep_set *end)
{
	for (struct ep_set *set = table.all; set != end; set = set->next)
		pthread_mutex_unlock(&set->lock);
}

/*
 * Try to lock all sets.  Returns NULL if all are locked.  If another thread holds the lock of a
 * set, returns that set, and leaves no set locked.
 */
static struct ep_set *try_lock_all(void)
{
	for (struct ep_set *set = table.all; set; set = set->next) {
		if (pthread_mutex_trylock(&set->lock) == 0)
			continue;
		unlock_until(set);
		return set;
	}
	return NULL;
}

/*
 * Called before a fork: locks ep_nest_lock, the table and all sets, so that the child gets copies
 * that no thread is changing.  A thread that holds the lock of a set may wait for the lock of a
 * nested set, so there is no fixed order in which all sets can be locked.  So try to lock each set.
 * If another thread holds the lock of one, unlock all, wait until that lock is released, and start
 * again.
 */
static void fork_prepare(void)
{
	struct ep_set *busy;

	pthread_mutex_lock(&ep_nest_lock);
	pthread_mutex_lock(&table.lock);
	while ((busy = try_lock_all()) != NULL) {
		pthread_mutex_lock(&busy->lock);
		pthread_mutex_unlock(&busy->lock);
	}
}

static void fork_parent(void)
{
	unlock_until(NULL);
	pthread_mutex_unlock(&table.lock);
	pthread_mutex_unlock(&ep_nest_lock);
}

void ep_reserve_closed_fds(void)
{
	int spare = -1;

	for (unsigned i = 0; i < numbers_end(); i++) {
		if (!object_of((int)i, EP_SET) || ep_real()->fcntl((int)i, F_GETFD) >= 0)
			continue;
		if (spare < 0) {
			spare = socket(AF_UNIX, SOCK_DGRAM, 0);
			ep_real()->fcntl(spare, F_SETFD, FD_CLOEXEC);
		}
		if (spare != (int)i)
			ep_real()->fcntl(spare, F_DUPFD_CLOEXEC, (int)i);
	}
	/* If the socket itself has got the number of a set's descriptor, the socket stays open. */
	if (spare >= 0 && !object_of(spare, EP_SET))
		real_close.close(spare);
}

/*
 * Called in a forked child.  The program's descriptors of the parent's sets stay open.  If the
 * descriptors of a set refer to the parent's queue or notifier (is_pollable),
 * set->detach_from_parent makes them refer to a new socket, unless none can be made.  The
 * descriptors of other sets refer to such a socket already.  When the child first uses one of the
 * sets, ep_adopt gives the set's queue kernel objects of the child.
 */
static void fork_child(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	int saved = errno;

	ep_nest_lock = unlocked;
	table.lock = unlocked;
	atomic_store(&ep_process, getpid());
	ep_inside = false;
	ep_reserve_closed_fds();
	for (struct ep_set *set = table.all; set; set = set->next) {
		set->lock = unlocked;
		set->detach_from_parent(set);
	}
	errno = saved;
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}
