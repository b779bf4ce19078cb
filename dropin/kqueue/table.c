/*
 * The queues that descriptors refer to: how they are found, held, closed and left behind by a fork.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/numbers.h"
#include "kq.h"

enum { KQ_SWEEP_FEW = 16 };

static struct {
	pthread_mutex_t lock;
	struct kq *all;       /* [t] queues that a descriptor refers to */
	uint64_t serial;      /* [t] */
	int len;              /* [t] of `all` */
	int sweep_at;         /* [t] length at which kq_sweep runs again */
	atomic_int mark_fd;   /* [a] an entry of each queue's epoll instance: see kq_is_one */
	_Atomic pid_t process; /* [a] the process whose descriptors these are */
} kq_table = {.lock = PTHREAD_MUTEX_INITIALIZER, .mark_fd = -1};

/* --- References -------------------------------------------------------------- */

/* Change the count without an atomic operation, for the only thread of a process. */
static inline int kq_count(struct kq *kq, int change)
{
	int refs = atomic_load_explicit(&kq->refs, memory_order_relaxed);

	atomic_store_explicit(&kq->refs, refs + change, memory_order_relaxed);
	return refs;
}

static bool kq_try_hold(struct kq *kq)
{
	int refs = atomic_load_explicit(&kq->refs, memory_order_relaxed);

	/* A queue without references has ended, and must not be held. */
	while (refs > 0)
		if (atomic_compare_exchange_weak_explicit(
			    &kq->refs, &refs, refs + 1, memory_order_acquire,
			    memory_order_relaxed))
			return true;
	return false;
}

void kq_drop(struct kq *kq)
{
	int refs = xp_single_threaded() ? kq_count(kq, -1)
		: atomic_fetch_sub(&kq->refs, 1);

	if (XP_UNLIKELY(refs == 1))
		kq_end(kq);
}

/* Called with the lock: remove a queue from the list, because no descriptor refers to it. */
static void kq_unlist(struct kq *kq)
{
	struct kq **link = &kq_table.all;

	while (*link != kq)
		link = &(*link)->next;
	*link = kq->next;
	kq_table.len--;
	if (!kq_table.all) {
		real_close.close(kq_table.mark_fd);
		kq_table.mark_fd = -1;
	}
}

/* Queries to the kernel about a descriptor */

/*
 * Returns true if fd is a queue of this library: adding the mark fails, because it is there
 * already.  This uses raw system calls: fd may be a descriptor that another thread is just making,
 * and a sanitizer must not report that as a race.
 */
static bool kq_is_one(int fd)
{
	struct epoll_event event = {.events = 0};
	int saved = errno;
	int mark = kq_table.mark_fd;
	long rc = syscall(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, mark, &event);
	bool is = rc < 0 && errno == EEXIST;

	if (rc == 0) /* an epoll instance of the program */
		syscall(SYS_epoll_ctl, fd, EPOLL_CTL_DEL, mark, &event);
	errno = saved;
	return is;
}

/* Called with the lock: record that fd refers to the queue, too. */
static bool kq_number_add(struct kq *kq, int fd)
{
	struct number *number = number_make(fd);

	if (!number || atomic_load(&number->object))
		return false;
	atomic_store(&number->object, kq);
	kq->numbers++;
	return true;
}

/*
 * Called with the lock, when the last known descriptor of a queue is gone: look for duplicates in
 * /proc/self/fd.  Without /proc they are not found.
 */
static void kq_find_duplicates(struct kq *kq)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int fd = atoi(entry->d_name);
		struct number *number;

		if (entry->d_name[0] == '.' || fd == kq->watch_fd ||
		    fd == dirfd(folder))
			continue;
		number = number_at(fd);
		if (number && atomic_load(&number->object))
			continue;
		if (kq_is_one(fd) && kq_read_serial(fd, kq_table.mark_fd) == kq->serial)
			kq_number_add(kq, fd);
	}
	if (folder)
		closedir(folder);
}

/*
 * Called with the lock, when a descriptor does not refer to the queue any more.  Returns true if
 * the caller has to drop the queue, because no other descriptor does.
 */
static bool kq_number_remove(struct kq *kq)
{
	if (--kq->numbers > 0)
		return false;
	kq_find_duplicates(kq);
	if (kq->numbers > 0)
		return false;
	kq_unlist(kq);
	return true;
}

/* --- Holding -------------------------------------------------------------------- */

/*
 * Hold the queue that an unknown descriptor refers to, if it is a duplicate of a queue's; else
 * NULL.
 */
static XP_COLD struct kq *kq_hold_unknown(int fd)
{
	struct kq *kq = NULL;

	pthread_mutex_lock(&kq_table.lock);
	if (kq_table.all && kq_is_one(fd)) {
		uint64_t serial = kq_read_serial(fd, kq_table.mark_fd);

		for (kq = kq_table.all; kq && kq->serial != serial;)
			kq = kq->next;
		if (kq && (!kq_number_add(kq, fd) || !kq_try_hold(kq)))
			kq = NULL;
	}
	pthread_mutex_unlock(&kq_table.lock);
	return kq;
}

/* Returns true if fd still refers to its queue; needed if this library does not see closes. */
static XP_COLD bool kq_still_one(int fd)
{
	struct number *number = number_at(fd);
	struct kq *kq, *ended = NULL;

	if (kq_is_one(fd))
		return true;
	pthread_mutex_lock(&kq_table.lock);
	kq = atomic_load(&number->object);
	if (kq && !kq_is_one(fd)) {
		atomic_store(&number->object, NULL);
		if (kq_number_remove(kq))
			ended = kq;
	}
	pthread_mutex_unlock(&kq_table.lock);
	if (ended)
		kq_drop(ended);
	return false;
}

/*
 * Hold a queue while other threads may close it.  kq: the queue that fd has just referred to, or
 * NULL.
 */
static XP_NOINLINE struct kq *kq_hold_among_others(int fd, struct kq *kq)
{
	if (XP_UNLIKELY(!kq))
		kq = kq_hold_unknown(fd);
	else if (XP_UNLIKELY(!kq_real.seen) && !kq_still_one(fd))
		kq = NULL;
	else if (!kq_try_hold(kq))
		kq = NULL;
	if (XP_UNLIKELY(!kq)) {
		errno = EBADF;
		return NULL;
	}
	/* The queue may have ended, and even been reused, since fd was looked up. */
	if (XP_UNLIKELY(kq_of_number(fd) != kq)) {
		kq_drop(kq);
		errno = EBADF;
		return NULL;
	}
	return kq;
}

struct kq *kq_hold(int fd)
{
	struct number *number = number_at(fd);
	struct kq *kq = number ? atomic_load_explicit(&number->object,
	                                              memory_order_acquire)
		: NULL;

	if (XP_UNLIKELY(!kq || !kq_real.seen || !xp_single_threaded()))
		return kq_hold_among_others(fd, kq);
	/* No other thread can end the queue meanwhile. */
	kq_count(kq, 1);
	return kq;
}

/* --- A new one ------------------------------------------------------------------- */

/*
 * Called with the lock: end queues whose close this library did not see, which bounds the memory
 * that they keep.  A call checks a few queues, or many if their number has doubled.
 */
static struct kq *kq_sweep(void)
{
	struct kq *ended = NULL;
	unsigned end = numbers_end();

	if (kq_table.len == 0 ||
	    (kq_table.len > KQ_SWEEP_FEW && kq_table.len < kq_table.sweep_at))
		return NULL;
	for (unsigned fd = 0; fd < end; fd++) {
		struct number *number = number_at((int)fd);
		struct kq *kq = number ? atomic_load(&number->object) : NULL;

		if (!kq || kq_is_one((int)fd))
			continue;
		atomic_store(&number->object, NULL);
		if (kq_number_remove(kq)) {
			kq->next = ended;
			ended = kq;
		}
	}
	kq_table.sweep_at = 2 * kq_table.len;
	return ended;
}

static int kq_mark(struct kq *kq)
{
	struct epoll_event event = {.events = 0};

	if (kq_table.mark_fd < 0)
		kq_table.mark_fd = eventfd(0, EFD_CLOEXEC);
	if (kq_table.mark_fd < 0)
		return -errno;
	kq->serial = ++kq_table.serial;
	event.data.u64 = kq->serial;
	return epoll_ctl(kq->watch_fd, EPOLL_CTL_ADD, kq_table.mark_fd,
	                 &event) < 0 ? -errno : 0;
}

/* Called with the lock: make a descriptor for the queue.  Returns it, or -errno. */
static int kq_number_new(struct kq *kq)
{
	int rc = kq_mark(kq);
	int fd = rc < 0 ? rc : fcntl(kq->watch_fd, F_DUPFD_CLOEXEC, 0);

	if (rc == 0 && fd < 0)
		rc = -errno;
	if (rc == 0 && !kq_number_add(kq, fd)) {
		real_close.close(fd);
		rc = -ENOMEM;
	}
	if (rc < 0 && !kq_table.all && kq_table.mark_fd >= 0) {
		real_close.close(kq_table.mark_fd);
		kq_table.mark_fd = -1;
	}
	return rc < 0 ? rc : fd;
}

int kq_publish(struct kq *kq)
{
	struct kq *ended;
	int fd;

	pthread_mutex_lock(&kq_table.lock);
	kq_table.process = getpid();
	ended = kq_sweep();
	fd = kq_number_new(kq);
	if (fd >= 0) {
		kq->next = kq_table.all;
		kq_table.all = kq;
		kq_table.len++;
	}
	pthread_mutex_unlock(&kq_table.lock);
	while (ended) {
		struct kq *next = ended->next;

		kq_drop(ended);
		ended = next;
	}
	return fd;
}

/* --- Closing ------------------------------------------------------------------------ */

struct kq *kq_close_begin(int fd)
{
	struct number *number = number_at(fd);
	int saved = errno;
	struct kq *kq;

	if (XP_UNLIKELY(fd == KQ_PROBE_FD))
		kq_real.seen = true;
	if (!number_concerns(fd))
		return NULL;
	/* A child of vfork(2) shares this memory, but closes descriptors of its own. */
	if (kq_table.process != getpid())
		return NULL;
	if (atomic_exchange(&number->watched, false)) {
		atomic_store(&number->kind, 0);
		xpoll_forget_fd(fd);
	}
	errno = saved;
	if (!atomic_load(&number->object))
		return NULL;
	pthread_mutex_lock(&kq_table.lock);
	kq = atomic_exchange(&number->object, NULL);
	pthread_mutex_unlock(&kq_table.lock);
	return kq;
}

void kq_close_end(struct kq *kq)
{
	int saved = errno;
	bool last;

	pthread_mutex_lock(&kq_table.lock);
	last = kq_number_remove(kq);
	pthread_mutex_unlock(&kq_table.lock);
	if (last)
		kq_drop(kq);
	errno = saved;
}

/* --- Fork ----------------------------------------------------------------------------- */

static void kq_fork_prepare(void)
{
	pthread_mutex_lock(&kq_table.lock);
	kq_aio_fork(KQ_FORK_PREPARE);
}

static void kq_fork_parent(void)
{
	kq_aio_fork(KQ_FORK_PARENT);
	pthread_mutex_unlock(&kq_table.lock);
}

/* In a forked child: forget the parent's queues and descriptors, which the child does not have. */
static void kq_fork_child(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	unsigned end = numbers_end();
	int saved = errno;

	kq_table.lock = unlocked;
	kq_table.process = getpid();
	kq_aio_fork(KQ_FORK_CHILD);
	for (unsigned fd = 0; fd < end; fd++) {
		struct number *number = number_at((int)fd);

		if (!number)
			continue;
		atomic_store(&number->watched, false);
		atomic_store(&number->kind, 0);
		if (atomic_exchange(&number->object, NULL))
			real_close.close((int)fd);
	}
	while (kq_table.all) {
		struct kq *kq = kq_table.all;

		/* Calls of the parent's threads do not exist here. */
		kq_unlist(kq);
		atomic_store(&kq->refs, 0);
		kq_end(kq);
	}
	errno = saved;
}

__attribute__((constructor)) static void kq_fork_watch(void)
{
	pthread_atfork(kq_fork_prepare, kq_fork_parent, kq_fork_child);
}
