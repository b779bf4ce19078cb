/*
 * The queues that descriptors refer to: how a call finds the queue of a descriptor and holds it,
 * and what happens when a descriptor is closed and when the process forks.
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

enum { KQ_SWEEP_ALWAYS_MOST = 16 /* with at most this many queues, each new one runs kq_sweep */ };

static struct {
	pthread_mutex_t lock;
	struct kq *all;       /* [t] queues that a descriptor refers to, linked by next */
	uint64_t serial;      /* [t] serial of the last queue that was made */
	int len;              /* [t] number of queues in `all` */
	/*
	 * [t] kq_sweep, which ends queues that were closed unnoticed, runs again at this value of
	 * len
	 */
	int sweep_at;
	/*
	 * [a] an eventfd with an entry in each queue's epoll instance, by which a descriptor of a
	 * queue is recognised (kq_mark); -1: none
	 */
	atomic_int mark_fd;
	_Atomic pid_t process; /* [a] the process that the queues belong to: see kq_close_begin */
} kq_table = {.lock = PTHREAD_MUTEX_INITIALIZER, .mark_fd = -1};

/* --- References -------------------------------------------------------------- */

/*
 * Add `change` to the count of references, in a process with one thread only: a load and a store
 * cost less than an atomic operation.  Returns the count before.
 */
static inline int kq_add_refs_nonatomic(struct kq *kq, int change)
{
	int refs = atomic_load_explicit(&kq->refs, memory_order_relaxed);

	atomic_store_explicit(&kq->refs, refs + change, memory_order_relaxed);
	return refs;
}

/*
 * Add a reference.  Returns false if there is none: then the queue has ended, and must not be held.
 */
static bool kq_try_hold(struct kq *kq)
{
	int refs = atomic_load_explicit(&kq->refs, memory_order_relaxed);

	while (refs > 0)
		if (atomic_compare_exchange_weak_explicit(
			    &kq->refs, &refs, refs + 1, memory_order_acquire,
			    memory_order_relaxed))
			return true;
	return false;
}

void kq_drop(struct kq *kq)
{
	int refs = xp_single_threaded() ? kq_add_refs_nonatomic(kq, -1)
		: atomic_fetch_sub(&kq->refs, 1);

	if (XP_UNLIKELY(refs == 1))
		kq_end(kq);
}

/*
 * Called with the lock: remove a queue from the list, because no descriptor refers to it.  With the
 * last queue the eventfd mark_fd is closed.
 */
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

/* --- Queries to the kernel about a descriptor ------------------------------------ */

/*
 * Returns true if fd refers to a queue of this library: adding mark_fd to its epoll instance fails
 * with EEXIST, because kq_mark has added it.  The system calls are made by syscall(2): fd may be a
 * descriptor that another thread is just making, and a sanitizer must not report that as a race.
 */
static bool kq_is_queue(int fd)
{
	struct epoll_event event = {.events = 0};
	int saved = errno;
	int mark = kq_table.mark_fd;
	long rc = syscall(SYS_epoll_ctl, fd, EPOLL_CTL_ADD, mark, &event);
	bool is = rc < 0 && errno == EEXIST;

	if (rc == 0) /* an epoll instance of the program: remove the entry again */
		syscall(SYS_epoll_ctl, fd, EPOLL_CTL_DEL, mark, &event);
	errno = saved;
	return is;
}

/*
 * Called with the lock: record that fd refers to the queue.  Returns false without memory, or if a
 * queue is recorded for fd already.
 */
static bool kq_add_fd(struct kq *kq, int fd)
{
	struct number *number = number_make(fd);

	if (!number || atomic_load(&number->object))
		return false;
	atomic_store(&number->object, kq);
	kq->descriptors++;
	return true;
}

/*
 * Called with the lock, when the last known descriptor of a queue was closed: find duplicates of
 * that descriptor, made by dup(2) or fcntl(2), in /proc/self/fd, and record them.  Without /proc
 * none is found.
 */
static void kq_find_duplicates(struct kq *kq)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int fd = atoi(entry->d_name);
		struct number *number;

		if (entry->d_name[0] == '.' || fd == kq->queue_fd ||
		    fd == dirfd(folder))
			continue;
		number = number_at(fd);
		if (number && atomic_load(&number->object))
			continue;
		if (kq_is_queue(fd) && kq_read_serial(fd, kq_table.mark_fd) == kq->serial)
			kq_add_fd(kq, fd);
	}
	if (folder)
		closedir(folder);
}

/*
 * Called with the lock, when a descriptor does not refer to the queue any more: decrement the
 * number of the queue's descriptors.  At 0, look for unrecorded duplicates (kq_find_duplicates).
 * If there is none, remove the queue from the list and return true: then the caller has to call
 * kq_drop, which ends the queue.
 */
static bool kq_uncount_fd(struct kq *kq)
{
	if (--kq->descriptors > 0)
		return false;
	kq_find_duplicates(kq);
	if (kq->descriptors > 0)
		return false;
	kq_unlist(kq);
	return true;
}

/* --- Holding -------------------------------------------------------------------- */

/*
 * Called if no queue is recorded for fd, which may be a duplicate that dup(2) has made of a queue's
 * descriptor: then record fd, and hold and return the queue.  Returns NULL if fd is no such
 * duplicate.
 */
static XP_COLD struct kq *kq_hold_unknown(int fd)
{
	struct kq *kq = NULL;

	pthread_mutex_lock(&kq_table.lock);
	if (kq_table.all && kq_is_queue(fd)) {
		uint64_t serial = kq_read_serial(fd, kq_table.mark_fd);

		for (kq = kq_table.all; kq && kq->serial != serial;)
			kq = kq->next;
		if (kq && (!kq_add_fd(kq, fd) || !kq_try_hold(kq)))
			kq = NULL;
	}
	pthread_mutex_unlock(&kq_table.lock);
	return kq;
}

/*
 * Returns true if fd still refers to a queue.  Otherwise fd was closed without a call of this
 * library: removes the record, and ends the recorded queue if fd was its last descriptor.
 */
static XP_COLD bool kq_revalidate_fd(int fd)
{
	struct number *number = number_at(fd);
	struct kq *kq, *ended = NULL;

	if (kq_is_queue(fd))
		return true;
	pthread_mutex_lock(&kq_table.lock);
	kq = atomic_load(&number->object);
	if (kq && !kq_is_queue(fd)) {
		atomic_store(&number->object, NULL);
		if (kq_uncount_fd(kq))
			ended = kq;
	}
	pthread_mutex_unlock(&kq_table.lock);
	if (ended)
		kq_drop(ended);
	return false;
}

/*
 * The part of kq_hold for a process with several threads, or if closes are not seen by this library
 * or fd has no recorded queue.  kq: the queue that was recorded for fd just now, or NULL.
 */
static XP_NOINLINE struct kq *kq_hold_slow_path(int fd, struct kq *kq)
{
	if (XP_UNLIKELY(!kq))
		kq = kq_hold_unknown(fd);
	else if (XP_UNLIKELY(!kq_real.sees_closes) && !kq_revalidate_fd(fd))
		kq = NULL;
	else if (!kq_try_hold(kq))
		kq = NULL;
	if (XP_UNLIKELY(!kq)) {
		errno = EBADF;
		return NULL;
	}
	/*
	 * Between the look-up and kq_try_hold the queue may have ended, and its memory may have
	 * been reused for another queue: look up again, and fail if the result is another queue.
	 */
	if (XP_UNLIKELY(kq_of_fd(fd) != kq)) {
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

	if (XP_UNLIKELY(!kq || !kq_real.sees_closes || !xp_single_threaded()))
		return kq_hold_slow_path(fd, kq);
	/*
	 * Only one thread exists, so no other thread can end the queue between the look-up and
	 * kq_add_refs_nonatomic.
	 */
	kq_add_refs_nonatomic(kq, 1);
	return kq;
}

/* --- A new queue ----------------------------------------------------------------- */

/*
 * Called with the lock, before a queue is made: find queues whose descriptors were closed without a
 * call of this library, so that these do not accumulate.  Returns them, linked by next; the caller
 * drops them.  Does nothing if there are more than KQ_SWEEP_ALWAYS_MOST queues and their number has
 * not doubled since the last time.
 */
static struct kq *kq_sweep(void)
{
	struct kq *ended = NULL;
	unsigned end = numbers_end();

	if (kq_table.len == 0 ||
	    (kq_table.len > KQ_SWEEP_ALWAYS_MOST && kq_table.len < kq_table.sweep_at))
		return NULL;
	for (unsigned fd = 0; fd < end; fd++) {
		struct number *number = number_at((int)fd);
		struct kq *kq = number ? atomic_load(&number->object) : NULL;

		if (!kq || kq_is_queue((int)fd))
			continue;
		atomic_store(&number->object, NULL);
		if (kq_uncount_fd(kq)) {
			kq->next = ended;
			ended = kq;
		}
	}
	kq_table.sweep_at = 2 * kq_table.len;
	return ended;
}

/*
 * Called with the lock: give the queue a serial, and add the eventfd mark_fd to its epoll instance,
 * with no events and the serial as data.  The entry shows that a descriptor refers to a queue
 * (kq_is_queue) and to which one (kq_read_serial).  Returns 0 or -errno.
 */
static int kq_mark(struct kq *kq)
{
	struct epoll_event event = {.events = 0};

	if (kq_table.mark_fd < 0)
		kq_table.mark_fd = eventfd(0, EFD_CLOEXEC);
	if (kq_table.mark_fd < 0)
		return -errno;
	kq->serial = ++kq_table.serial;
	event.data.u64 = kq->serial;
	return epoll_ctl(kq->queue_fd, EPOLL_CTL_ADD, kq_table.mark_fd,
	                 &event) < 0 ? -errno : 0;
}

/*
 * Called with the lock: make the program's first descriptor of the queue.  Returns the descriptor,
 * or -errno.
 */
static int kq_make_first_fd(struct kq *kq)
{
	int rc = kq_mark(kq);
	int fd = rc < 0 ? rc : fcntl(kq->queue_fd, F_DUPFD_CLOEXEC, 0);

	if (rc == 0 && fd < 0)
		rc = -errno;
	if (rc == 0 && !kq_add_fd(kq, fd)) {
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
	fd = kq_make_first_fd(kq);
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
		kq_real.sees_closes = true;
	if (!number_needs_close_hook(fd))
		return NULL;
	/* A child of vfork(2) shares the parent's memory, but closes its own descriptors only. */
	if (kq_table.process != getpid())
		return NULL;
	if (atomic_exchange(&number->may_be_registered, false)) {
		atomic_store(&number->pipe_check_result, 0);
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
	last = kq_uncount_fd(kq);
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

/*
 * In a forked child: close the descriptors of the parent's queues and end the queues, which a child
 * does not inherit in FreeBSD either.
 */
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
		atomic_store(&number->may_be_registered, false);
		atomic_store(&number->pipe_check_result, 0);
		if (atomic_exchange(&number->object, NULL))
			real_close.close((int)fd);
	}
	while (kq_table.all) {
		struct kq *kq = kq_table.all;

		/*
		 * Ignore the references: calls of the parent's threads hold them, and the child
		 * does not have these threads.
		 */
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
