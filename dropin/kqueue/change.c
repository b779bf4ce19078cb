/* Translates one change from struct kevent to struct xpoll_event. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/numbers.h"
#include "kq.h"

#define KQ_ACTIONS (EV_ADD | EV_DELETE | EV_ENABLE | EV_DISABLE)
#define KQ_MODES   (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)
#define KQ_KNOWN   (KQ_ACTIONS | KQ_MODES | EV_KEEPUDATA)

#define KQ_USER_NOTES  (NOTE_FFCTRLMASK | NOTE_FFLAGSMASK | NOTE_TRIGGER)
#define KQ_VNODE_NOTES 0x7ffu
#define KQ_PROC_NOTES  (NOTE_EXIT | NOTE_FORK | NOTE_EXEC | NOTE_TRACK)
#define KQ_TIMER_NOTES (NOTE_SECONDS | NOTE_MSECONDS | NOTE_USECONDS | \
                        NOTE_NSECONDS | NOTE_ABSTIME)

/*
 * Returns the fflags that a change without EV_ADD sets in an existing registration; 0: unchanged.
 */
static unsigned kq_new_notes(const struct kevent *change)
{
	if (change->flags & (EV_ADD | EV_DELETE))
		return 0;
	return change->filter == EVFILT_VNODE ? change->fflags & KQ_VNODE_NOTES
		: change->filter == EVFILT_PROC ? change->fflags & KQ_PROC_NOTES
		: 0;
}

/*
 * FreeBSD stores the flags of the EV_ADD that makes a USER event without combining
 * them with anything.  Returns true if xpoll, which combines them with 0, would
 * store others.
 */
static bool kq_user_keeps_flags(const struct kevent *change)
{
	unsigned control = change->fflags & NOTE_FFCTRLMASK;

	return change->filter == EVFILT_USER && change->flags & EV_ADD &&
		change->fflags & NOTE_FFLAGSMASK &&
		(control == NOTE_FFNOP || control == NOTE_FFAND);
}

/* Returns true if the record for xpoll depends on the present registration. */
static bool kq_depends(const struct kevent *change)
{
	bool user = change->filter == EVFILT_USER;

	if (user && change->fflags & KQ_USER_NOTES)
		return kq_user_keeps_flags(change);
	return !(change->flags & KQ_ACTIONS) || kq_new_notes(change) ||
		(user && !(change->flags & (EV_ADD | EV_DELETE)));
}

bool kq_is_registered(struct kq *kq, const struct kevent *change)
{
	struct xpoll_event there;

	return xpoll_lookup(kq->queue, change->ident, change->filter, &there) == 0;
}

/*
 * Returns the flags of a change that alters fflags: with EV_ADD, if they differ from the registered
 * ones, because in xpoll only ADD can alter them.
 */
static unsigned kq_flags_of_altered(struct kq *kq, const struct kevent *change,
                                    unsigned flags)
{
	unsigned notes = kq_new_notes(change);
	struct xpoll_event there;

	/* If nothing is registered, xpoll fails with the right errno without EV_ADD. */
	if (xpoll_lookup(kq->queue, change->ident, change->filter, &there) < 0)
		return flags & EV_DISABLE ? flags : flags | EV_ENABLE;
	/* Only an EV_ADD of the program may add modes. */
	if (notes && notes != there.fflags)
		flags = (flags & ~KQ_MODES) | EV_ADD;
	if (!(flags & (EV_ENABLE | EV_DISABLE)))
		flags |= there.flags & XPOLL_DISABLE ? EV_DISABLE : EV_ENABLE;
	return flags;
}

/*
 * Returns the flags for xpoll.  A change without an action keeps the registration enabled or
 * disabled.
 */
static unsigned kq_flags(struct kq *kq, const struct kevent *change)
{
	unsigned flags = change->flags & KQ_KNOWN;

	if (flags & EV_DELETE)
		return EV_DELETE;
	if (flags & EV_ADD)
		return flags;
	/* In FreeBSD each change stores udata, not only ADD. */
	if (!(flags & EV_KEEPUDATA))
		flags |= XPOLL_SETUDATA;
	return kq_depends(change) ? kq_flags_of_altered(kq, change, flags) : flags;
}

/* Returns true if fd is the write end of a pipe without a reader: FreeBSD reports that at once. */
static bool kq_pipe_is_dead(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLOUT};

	return kq_is_pipe(fd) && poll(&probe, 1, 0) == 1 &&
		probe.revents & POLLERR;
}

/*
 * Returns true if NOTE_LOWAT of this change is to be passed to xpoll.  FreeBSD compares it only for
 * sockets.  Datagram sockets, for which xpoll has no mark, are ready with a mark of 1 as without
 * one.
 */
static bool kq_has_lowat(int fd, const struct kevent *change)
{
	struct stat status;
	int type = SOCK_STREAM;
	socklen_t len = sizeof type;

	if (!(change->fflags & NOTE_LOWAT) || change->data <= 0 || fd < 0 ||
	    fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode))
		return false;
	return change->data > 1 ||
		(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
		 type == SOCK_STREAM);
}

/*
 * Returns true if this is NOTE_FILE_POLL of a file: xpoll has no READ that is ready at the end of a
 * file.
 */
static bool kq_has_file_poll(int fd, const struct kevent *change)
{
	struct stat status;

	return change->fflags & NOTE_FILE_POLL && change->filter == EVFILT_READ &&
		fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

static int kq_translate_fd(struct kq *kq, const struct kevent *change,
                           struct xpoll_event *record)
{
	int fd = change->ident > INT_MAX ? -1 : (int)change->ident;

	record->fflags = XPOLL_NOTE_COUNT;
	if (kq_has_lowat(fd, change))
		record->fflags |= XPOLL_NOTE_LOWAT;
	if (!(record->flags & EV_ADD))
		return 0;
	if (fd < 0)
		return -EBADF;
	/* A queue can only be registered for READ. */
	if (kq_of_number(fd) == kq ||
	    (change->filter == EVFILT_WRITE && kq_of_number(fd)) ||
	    kq_has_file_poll(fd, change))
		return -EINVAL;
	number_watch(fd);
	return change->filter == EVFILT_WRITE && kq_pipe_is_dead(fd) &&
		!kq_is_registered(kq, change) ? -EPIPE : 0;
}

/* Returns the fflags of a USER change for xpoll. */
static unsigned kq_user_fflags(struct kq *kq, const struct kevent *change)
{
	unsigned fflags = change->fflags & KQ_USER_NOTES;

	/* In FreeBSD each change stores `data`; xpoll ignores a USER change without fflags. */
	if (!(change->flags & (EV_ADD | EV_DELETE)) && !fflags)
		return NOTE_FFOR;
	if (kq_user_keeps_flags(change) && !kq_is_registered(kq, change))
		return fflags | NOTE_FFCOPY;
	return fflags;
}

/* Translate the other filters: fflags that only ADD may set are left out of other changes. */
static int kq_translate_other(struct kq *kq, const struct kevent *change,
                              struct xpoll_event *record)
{
	switch (change->filter) {
	case EVFILT_VNODE:
		record->fflags &= KQ_VNODE_NOTES;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_watch((int)change->ident);
		return 0;
	case EVFILT_EMPTY:
		record->fflags = 0;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_watch((int)change->ident);
		return 0;
	case EVFILT_PROC:
		record->fflags &= KQ_PROC_NOTES;
		return 0;
	case EVFILT_TIMER:
		if (!(record->flags & EV_ADD))
			record->fflags = 0; /* otherwise the timer would restart */
		return record->fflags & ~KQ_TIMER_NOTES ? -EINVAL : 0;
	case EVFILT_EXCEPT:
		record->fflags &= NOTE_OOB;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_watch((int)change->ident);
		return 0;
	case EVFILT_USER:
		record->fflags = kq_user_fflags(kq, change);
		return 0;
	default:
		return -EINVAL;
	}
}

static int kq_translate_plain(struct kq *kq, const struct kevent *change,
                              struct xpoll_event *record)
{
	unsigned flags = kq_flags(kq, change);

	record->ident = change->ident;
	record->filter = change->filter;
	record->flags = (uint16_t)flags;
	record->fflags = change->fflags;
	record->data = change->data;
	record->udata64 = 0;
	record->udata = change->udata;
	if (change->filter == EVFILT_READ || change->filter == EVFILT_WRITE)
		return kq_translate_fd(kq, change, record);
	return kq_translate_other(kq, change, record);
}

/* Returns true for flags that xpoll refuses in combination; FreeBSD accepts some of these. */
static bool kq_is_odd(const struct kevent *change)
{
	return (change->flags & EV_ADD &&
	        change->flags & (EV_DELETE | EV_KEEPUDATA)) ||
		(change->flags & EV_ENABLE && change->flags & EV_DISABLE) ||
		change->flags & EV_FORCEONESHOT;
}

/*
 * Returns true for EV_FORCEONESHOT, which FreeBSD delivers at once; the EV_ADD that makes a
 * registration ignores it.
 */
static bool kq_is_forced(struct kq *kq, const struct kevent *change)
{
	return change->flags & EV_FORCEONESHOT && !(change->flags & EV_DELETE) &&
		kq_is_registered(kq, change);
}

bool kq_translate(struct kq *kq, const struct kevent *change,
                  struct xpoll_event *record)
{
	switch (change->filter) {
	case EVFILT_READ:
	case EVFILT_WRITE:
	case EVFILT_EXCEPT:
	case EVFILT_VNODE:
	case EVFILT_PROC:
	case EVFILT_TIMER:
	case EVFILT_USER:
		break;
	default:
		return false;
	}
	if (change->flags & EV_RECEIPT || kq_is_odd(change) ||
	    kq_depends(change) || kq_has_ext(change) ||
	    atomic_load_explicit(&kq->special, memory_order_relaxed))
		return false;
	if (kq_translate_plain(kq, change, record) < 0)
		return false;
	/* A status returns all fflags of the change, even those that are not passed to xpoll. */
	return !(change->fflags & ~record->fflags);
}

static int kq_apply(struct kq *kq, const struct xpoll_event *record)
{
	return xpoll_event(kq->queue, record, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

static int kq_change_signal(struct kq *kq, const struct kevent *change)
{
	struct xpoll_event record = {
		.ident = change->ident,
		.filter = EVFILT_SIGNAL,
		.flags = (uint16_t)kq_flags(kq, change),
	};
	int rc;

	record.udata = change->udata;
	/* While a blocked signal is pending, Linux discards the next one; BSD kernels count it. */
	record.fflags = record.flags & EV_ADD ? XPOLL_NOTE_ACCEPT : 0;
	/* From now on front.c passes calls about the action of this signal to xpoll. */
	if (change->ident >= 1 && change->ident <= 64)
		atomic_fetch_or(&kq_signals_ever,
		                UINT64_C(1) << (change->ident - 1));
	rc = kq_apply(kq, &record);
	if (rc == 0)
		kq_signals_note(kq, (int)change->ident,
		                !(record.flags & EV_DELETE));
	return rc;
}

static int kq_change_plain(struct kq *kq, const struct kevent *change)
{
	struct kevent bare = *change;
	struct xpoll_event record;
	int rc = kq_ext_note(kq, change);

	for (int i = 0; i < 4; i++)
		bare.ext[i] = 0;
	if (rc == 0 && change->filter == EVFILT_READ && change->flags & EV_ADD)
		rc = kq_procdesc_yield(kq, change->ident);
	if (rc == 0)
		rc = kq_translate_plain(kq, &bare, &record);
	return rc < 0 ? rc : kq_apply(kq, &record);
}

/* Apply a change of EVFILT_PROCDESC, which is READ of a pidfd. */
static int kq_change_procdesc(struct kq *kq, const struct kevent *change)
{
	struct kevent read = *change;

	read.filter = EVFILT_READ;
	return kq_procdesc_change(kq, change, kq_flags(kq, &read));
}

int kq_change(struct kq *kq, const struct kevent *change)
{
	int rc;

	if (!change->filter)
		return 0;
	if ((change->flags & EV_ADD && change->flags & EV_KEEPUDATA) ||
	    (change->flags & EV_ENABLE && change->flags & EV_DISABLE) ||
	    kq_is_forced(kq, change))
		return -EINVAL;
	/* Delete the registration if it exists, otherwise add it. */
	if (change->flags & EV_ADD && change->flags & EV_DELETE) {
		struct kevent one = *change;

		one.flags = EV_DELETE;
		rc = kq_change(kq, &one);
		one.flags = (uint16_t)(change->flags & ~EV_DELETE);
		return rc == -ENOENT ? kq_change(kq, &one) : rc;
	}
	switch (change->filter) {
	case EVFILT_PROCDESC:
		return kq_change_procdesc(kq, change);
	case EVFILT_AIO:
		return kq_aio_change(kq, change);
	default:
		break;
	}
	if (change->filter == EVFILT_SIGNAL)
		return kq_change_signal(kq, change);
	return kq_change_plain(kq, change);
}
