/*
 * State that xpoll does not keep for a registration: process descriptors, signals that have to be
 * registered again, and the `ext` fields.  In a program without process descriptors and `ext`,
 * kq->extras_len is 0, and no event needs this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/numbers.h"
#include "kq.h"

/* --- Process descriptors: pidfds -------------------------------------------------- */

/*
 * The argument of PIDFD_GET_INFO (Linux 6.13), with exit_code and its bit in the mask (6.15), like
 * in linux/pidfd.h, which older systems lack.
 */
struct kq_pidfd_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ids[8];
	int32_t exit_code;
};

enum { KQ_P_PIDFD = 3 /* P_PIDFD of waitid(2), which older headers lack */ };

#define KQ_PIDFD_GET_INFO  _IOWR(0xff, 11, struct kq_pidfd_info)
#define KQ_PIDFD_INFO_EXIT UINT64_C(8)

_Static_assert(sizeof(struct kq_pidfd_info) == 64, "the kernel's layout");

/* Returns the index of fd in kq->procdescs, or -1.  Called with the lock `extras_lock`. */
static int kq_procdesc_index(const struct kq *kq, int fd)
{
	for (int i = 0; i < kq->procdescs_len; i++)
		if (kq->procdescs[i] == fd)
			return i;
	return -1;
}

/*
 * Record that fd has an EVFILT_PROCDESC registration (there), or that it has none any more.
 * Returns 0 or -ENOMEM.
 */
static int kq_procdesc_set_present(struct kq *kq, int fd, bool there)
{
	int *grown = kq->procdescs;
	int index, rc = 0;

	pthread_mutex_lock(&kq->extras_lock);
	index = kq_procdesc_index(kq, fd);
	if (!there && index >= 0) {
		kq->procdescs[index] = kq->procdescs[--kq->procdescs_len];
		atomic_fetch_sub(&kq->extras_len, 1);
	} else if (there && index < 0) {
		grown = realloc(grown, (size_t)(kq->procdescs_len + 1) *
		                sizeof *grown);
		if (grown) {
			kq->procdescs = grown;
			grown[kq->procdescs_len++] = fd;
			atomic_fetch_add(&kq->extras_len, 1);
		}
		rc = grown ? 0 : -ENOMEM;
	}
	pthread_mutex_unlock(&kq->extras_lock);
	return rc;
}

/* Returns true if fd is a pidfd, which has "Pid:" in its fdinfo. */
static bool kq_is_procdesc(int fd)
{
	char text[1024];

	return kq_read_info(fd, text, sizeof text) == 0 &&
		strstr(text, "\nPid:");
}

/* Returns true if fd has an EVFILT_PROCDESC registration; fd may refer to another file by now. */
static bool kq_procdesc_is_present(struct kq *kq, int fd)
{
	bool there;

	pthread_mutex_lock(&kq->extras_lock);
	there = kq_procdesc_index(kq, fd) >= 0;
	pthread_mutex_unlock(&kq->extras_lock);
	return there;
}

int kq_procdesc_check_read(struct kq *kq, uint64_t ident)
{
	int fd = ident > INT_MAX ? -1 : (int)ident;

	if (!kq_procdesc_is_present(kq, fd))
		return 0;
	/*
	 * EVFILT_PROCDESC is registered in xpoll as READ of the process descriptor, so the
	 * program's own READ of that descriptor is refused.  If fd is another file by now, the
	 * process descriptor was closed: remove the record of its EVFILT_PROCDESC.
	 */
	return kq_is_procdesc(fd) ? -EINVAL : kq_procdesc_set_present(kq, fd, false);
}

int kq_procdesc_apply(struct kq *kq, const struct kevent *change, unsigned flags)
{
	int fd = change->ident > INT_MAX ? -1 : (int)change->ident;
	struct xpoll_event record;
	bool there = kq_procdesc_is_present(kq, fd);

	if (fd < 0 || (!there && fcntl(fd, F_GETFD) < 0))
		return -EBADF;
	if (!there && !(change->flags & EV_ADD))
		return -ENOENT;
	xpoll_set(&record, (uint64_t)fd, XPOLL_FILT_READ, (int)flags, 0, 0,
	          change->udata);
	if (change->flags & EV_ADD) {
		/* Add ONESHOT: a process ends once, so its event is returned once. */
		record.flags |= EV_ONESHOT;
		if (!kq_is_procdesc(fd))
			return fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
		/*
		 * EVFILT_PROCDESC reports NOTE_EXIT only: refuse other fflags, which could never be
		 * reported.
		 */
		if (change->fflags != NOTE_EXIT)
			return change->fflags ? -ENOTSUP : -EINVAL;
		number_mark_registered(fd);
		if (kq_procdesc_set_present(kq, fd, true) < 0)
			return -ENOMEM;
	}
	if (xpoll_event(kq->queue, &record, 1, NULL, 0, 0) < 0) {
		int rc = -errno;

		if (!there || rc == -ENOENT || rc == -EBADF)
			kq_procdesc_set_present(kq, fd, false);
		return rc;
	}
	if (change->flags & EV_DELETE)
		kq_procdesc_set_present(kq, fd, false);
	return 0;
}

/*
 * Returns the wait status of the process of a pidfd, like wait(2); -1: unknown.  waitid(2) works
 * for children that were not waited for, PIDFD_GET_INFO for other processes, from Linux 6.15 on.
 */
static int kq_procdesc_status(int fd)
{
	struct kq_pidfd_info info = {.mask = KQ_PIDFD_INFO_EXIT};
	siginfo_t child;

	child.si_pid = 0;
	if (waitid((idtype_t)KQ_P_PIDFD, (id_t)fd, &child,
	           WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid) {
		if (child.si_code == CLD_EXITED)
			return (child.si_status & 0xff) << 8;
		return child.si_status |
			(child.si_code == CLD_DUMPED ? 0x80 : 0);
	}
	if (ioctl(fd, (int)KQ_PIDFD_GET_INFO, &info) == 0 &&
	    info.mask & KQ_PIDFD_INFO_EXIT)
		return info.exit_code;
	return -1;
}

void kq_procdesc_event(struct kq *kq, struct kevent *event)
{
	int status, saved = errno;

	if (event->filter != EVFILT_READ ||
	    !kq_procdesc_is_present(kq, (int)event->ident))
		return;
	status = kq_procdesc_status((int)event->ident);
	event->filter = EVFILT_PROCDESC;
	event->flags = EV_EOF | EV_ONESHOT | EV_CLEAR;
	event->fflags = NOTE_EXIT | (status < 0 ? NOTE_EXIT_UNKNOWN : 0);
	event->data = status < 0 ? 0 : status;
	kq_procdesc_set_present(kq, (int)event->ident, false);
	errno = saved;
}

/* --- Signals ---------------------------------------------------------------------- */

atomic_uint_least64_t kq_signals_ever;

void kq_signals_set_present(struct kq *kq, int number, bool there)
{
	uint64_t bit = UINT64_C(1) << (number - 1);

	if (there) {
		atomic_fetch_or(&kq->signals, bit);
		/*
		 * When a signal is registered, xpoll reads only the calling thread's mask.  But any
		 * other thread may block the signal, too.  So have each thread register the signals
		 * again, in its next kevent(2) that has room for events.
		 */
		kq_signals_changed();
	} else {
		atomic_fetch_and(&kq->signals, ~bit);
	}
}

/* The definitions in front.c, if front.c is linked, replace this one and the next. */
__attribute__((weak)) uint64_t kq_signals_stamp(void)
{
	return 0;
}

__attribute__((weak)) void kq_signals_changed(void)
{
}

/*
 * A program may register a signal before it sets the signal's action or blocks the signal.  When a
 * signal is registered, xpoll acts on the action and the mask at that time, so this function
 * registers each signal again, which loses no count.  front.c, if it is linked, passes new actions
 * to xpoll itself; then this is needed only after calls that front.c has counted.
 */
void kq_signals_renew(struct kq *kq)
{
	uint64_t left = atomic_load(&kq->signals);
	uint64_t seen = kq_signals_stamp();
	int saved = errno;

	if (seen && atomic_load(&kq->renewed_stamp) == seen)
		return;
	for (int number = 1; left; number++, left >>= 1) {
		struct xpoll_event record;

		if (!(left & 1))
			continue;
		if (xpoll_lookup(kq->queue, (uint64_t)number,
		                 XPOLL_FILT_SIGNAL, &record) < 0) {
			kq_signals_set_present(kq, number, false);
			continue;
		}
		record.flags = XPOLL_ADD | XPOLL_KEEPUDATA;
		record.fflags = XPOLL_NOTE_ACCEPT;
		record.data = 0;
		xpoll_event(kq->queue, &record, 1, NULL, 0, 0);
	}
	atomic_store(&kq->renewed_stamp, seen);
	errno = saved;
}

/* --- ext ---------------------------------------------------------------------------- */

bool kq_has_ext(const struct kevent *change)
{
	return change->ext[0] | change->ext[1] | change->ext[2] | change->ext[3];
}

static int kq_ext_index(const struct kq *kq, uint64_t ident, int filter)
{
	for (int i = 0; i < kq->exts_len; i++)
		if (kq->exts[i].ident == ident && kq->exts[i].filter == filter)
			return i;
	return -1;
}

static int kq_ext_grow(struct kq *kq)
{
	int cap = kq->exts_cap ? 2 * kq->exts_cap : 8;
	struct kq_extra *grown;

	if (kq->exts_len < kq->exts_cap)
		return 0;
	grown = realloc(kq->exts, (size_t)cap * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	kq->exts = grown;
	kq->exts_cap = cap;
	return 0;
}

/*
 * An EV_ADD replaces the `ext` fields that an earlier registration of the same ident and filter has
 * stored.
 */
int kq_ext_store(struct kq *kq, const struct kevent *change)
{
	bool there = kq_has_ext(change);
	int index, rc = 0;

	if (!(change->flags & (EV_ADD | EV_DELETE)) ||
	    (!there && !atomic_load(&kq->extras_len)))
		return 0;
	pthread_mutex_lock(&kq->extras_lock);
	index = kq_ext_index(kq, change->ident, change->filter);
	if (change->flags & EV_DELETE || !there) {
		if (index >= 0) {
			kq->exts[index] = kq->exts[--kq->exts_len];
			atomic_fetch_sub(&kq->extras_len, 1);
		}
	} else if (index >= 0 || (rc = kq_ext_grow(kq)) == 0) {
		if (index < 0) {
			index = kq->exts_len++;
			atomic_fetch_add(&kq->extras_len, 1);
		}
		kq->exts[index].ident = change->ident;
		kq->exts[index].filter = change->filter;
		memcpy(kq->exts[index].ext, change->ext, sizeof change->ext);
	}
	pthread_mutex_unlock(&kq->extras_lock);
	return rc;
}

void kq_ext_fill(struct kq *kq, struct kevent *event)
{
	int index;

	pthread_mutex_lock(&kq->extras_lock);
	index = kq_ext_index(kq, event->ident, event->filter);
	if (index >= 0)
		memcpy(event->ext, kq->exts[index].ext, sizeof event->ext);
	pthread_mutex_unlock(&kq->extras_lock);
}

void kq_extras_free(struct kq *kq)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	/* in a forked child a thread of the parent may have locked it */
	kq->extras_lock = unlocked;
	free(kq->procdescs);
	free(kq->exts);
	kq->procdescs = NULL;
	kq->procdescs_len = 0;
	kq->exts = NULL;
	kq->exts_len = 0;
	kq->exts_cap = 0;
	atomic_store(&kq->extras_len, 0);
	atomic_store(&kq->signals, 0);
}
