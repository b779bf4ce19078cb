/*
 * Translates one change of the program (struct kevent) into records for xpoll (struct xpoll_event),
 * and applies the changes that need several steps.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/numbers.h"
#include "kq.h"

#define KQ_ACTIONS (EV_ADD | EV_DELETE | EV_ENABLE | EV_DISABLE)
#define KQ_MODES   (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)
#define KQ_XPOLL_FLAGS   (KQ_ACTIONS | KQ_MODES | EV_KEEPUDATA) /* flags that xpoll has as well */

/* The fflags that each filter accepts. */
#define KQ_USER_NOTES  (NOTE_FFCTRLMASK | NOTE_FFLAGSMASK | NOTE_TRIGGER)
#define KQ_VNODE_NOTES 0x7ffu
#define KQ_PROC_NOTES  (NOTE_EXIT | NOTE_FORK | NOTE_EXEC | NOTE_TRACK)
#define KQ_TIMER_NOTES (NOTE_SECONDS | NOTE_MSECONDS | NOTE_USECONDS | \
                        NOTE_NSECONDS | NOTE_ABSTIME)

/*
 * Returns the fflags that this change stores in an existing registration, if the change has no
 * EV_ADD; 0: the change leaves the fflags as they are.  kq_user_fflags handles the fflags of USER.
 */
static unsigned kq_updated_fflags(const struct kevent *change)
{
	if (change->flags & (EV_ADD | EV_DELETE))
		return 0;
	return change->filter == EVFILT_VNODE ? change->fflags & KQ_VNODE_NOTES
		: change->filter == EVFILT_PROC ? change->fflags & KQ_PROC_NOTES
		: 0;
}

/*
 * Returns true if an EV_ADD that makes a USER registration would store other fflags in xpoll than
 * in FreeBSD.  FreeBSD stores the fflags of this change as they are; xpoll combines them with 0, so
 * that NOTE_FFNOP and NOTE_FFAND give 0.
 */
static bool kq_user_needs_ffcopy(const struct kevent *change)
{
	unsigned control = change->fflags & NOTE_FFCTRLMASK;

	return change->filter == EVFILT_USER && change->flags & EV_ADD &&
		change->fflags & NOTE_FFLAGSMASK &&
		(control == NOTE_FFNOP || control == NOTE_FFAND);
}

/* Returns true if the record for xpoll depends on what is registered at present. */
static bool kq_needs_lookup(const struct kevent *change)
{
	bool user = change->filter == EVFILT_USER;

	if (user && change->fflags & KQ_USER_NOTES)
		return kq_user_needs_ffcopy(change);
	return !(change->flags & KQ_ACTIONS) || kq_updated_fflags(change) ||
		(user && !(change->flags & (EV_ADD | EV_DELETE)));
}

bool kq_is_registered(struct kq *kq, const struct kevent *change)
{
	struct xpoll_event there;

	return xpoll_lookup(kq->queue, change->ident, change->filter, &there) == 0;
}

/*
 * Returns the flags for xpoll of a change without EV_ADD that depends on the registration.  Adds
 * EV_ADD if the change alters fflags, because in xpoll only ADD can alter them.  If the change has
 * neither EV_ENABLE nor EV_DISABLE, adds the one that keeps the registration's state.
 */
static unsigned kq_flags_after_lookup(struct kq *kq, const struct kevent *change,
                                      unsigned flags)
{
	unsigned notes = kq_updated_fflags(change);
	struct xpoll_event there;

	/*
	 * Nothing is registered: without EV_ADD xpoll_event fails with the errno value that FreeBSD
	 * returns.
	 */
	if (xpoll_lookup(kq->queue, change->ident, change->filter, &there) < 0)
		return flags & EV_DISABLE ? flags : flags | EV_ENABLE;
	/*
	 * Add EV_ADD, because in xpoll only an ADD alters fflags.  Drop KQ_MODES, because only an
	 * EV_ADD of the program may set modes, and this one is not the program's.
	 */
	if (notes && notes != there.fflags)
		flags = (flags & ~KQ_MODES) | EV_ADD;
	if (!(flags & (EV_ENABLE | EV_DISABLE)))
		flags |= there.flags & XPOLL_DISABLE ? EV_DISABLE : EV_ENABLE;
	return flags;
}

/* Returns the flags of the change for xpoll. */
static unsigned kq_flags(struct kq *kq, const struct kevent *change)
{
	unsigned flags = change->flags & KQ_XPOLL_FLAGS;

	if (flags & EV_DELETE)
		return EV_DELETE;
	if (flags & EV_ADD)
		return flags;
	/*
	 * In FreeBSD each change stores udata.  xpoll stores udata only in an ADD, or if
	 * XPOLL_SETUDATA is set: set this flag.
	 */
	if (!(flags & EV_KEEPUDATA))
		flags |= XPOLL_SETUDATA;
	return kq_needs_lookup(change) ? kq_flags_after_lookup(kq, change, flags) : flags;
}

/*
 * Returns true if fd is the write end of a pipe without a reader.  An EV_ADD of WRITE then fails
 * with EPIPE, like in FreeBSD.
 */
static bool kq_pipe_has_no_reader(int fd)
{
	struct pollfd probe = {.fd = fd, .events = POLLOUT};

	return kq_is_pipe(fd) && poll(&probe, 1, 0) == 1 &&
		probe.revents & POLLERR;
}

/*
 * Returns true if the low-water mark of this change (NOTE_LOWAT, data) has to be passed to xpoll.
 * FreeBSD ignores it for files that are no sockets.  xpoll refuses it for datagram sockets, which
 * are ready with a mark of 1 as they are without a mark, so a mark of 1 is left out for them.
 */
static bool kq_needs_lowat(int fd, const struct kevent *change)
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
 * Returns true if this is READ of a regular file with NOTE_FILE_POLL, which in FreeBSD is ready at
 * the end of the file, too.  xpoll has no such READ, so the change fails with EINVAL.
 */
static bool kq_has_file_poll(int fd, const struct kevent *change)
{
	struct stat status;

	return change->fflags & NOTE_FILE_POLL && change->filter == EVFILT_READ &&
		fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/*
 * Complete the record of a READ or WRITE change.  Returns 0, or a negative errno value if the
 * change must fail.  FreeBSD refuses these changes, too, except those with NOTE_FILE_POLL, which
 * FreeBSD supports and xpoll does not (kq_has_file_poll).
 */
static int kq_translate_read_write(struct kq *kq, const struct kevent *change,
                                   struct xpoll_event *record)
{
	int fd = change->ident > INT_MAX ? -1 : (int)change->ident;

	record->fflags = XPOLL_NOTE_COUNT;
	if (kq_needs_lowat(fd, change))
		record->fflags |= XPOLL_NOTE_LOWAT;
	if (!(record->flags & EV_ADD))
		return 0;
	if (fd < 0)
		return -EBADF;
	/* A queue can be registered in another queue for READ only. */
	if (kq_of_fd(fd) == kq ||
	    (change->filter == EVFILT_WRITE && kq_of_fd(fd)) ||
	    kq_has_file_poll(fd, change))
		return -EINVAL;
	number_mark_registered(fd);
	return change->filter == EVFILT_WRITE && kq_pipe_has_no_reader(fd) &&
		!kq_is_registered(kq, change) ? -EPIPE : 0;
}

/* Returns the fflags of a USER change for xpoll. */
static unsigned kq_user_fflags(struct kq *kq, const struct kevent *change)
{
	unsigned fflags = change->fflags & KQ_USER_NOTES;

	/*
	 * In FreeBSD each change stores `data`; xpoll stores it only if fflags is not 0, so pass
	 * NOTE_FFOR, which ORs 0 into the flags.
	 */
	if (!(change->flags & (EV_ADD | EV_DELETE)) && !fflags)
		return NOTE_FFOR;
	if (kq_user_needs_ffcopy(change) && !kq_is_registered(kq, change))
		return fflags | NOTE_FFCOPY;
	return fflags;
}

/*
 * Complete the record of a change of VNODE, EMPTY, PROC, TIMER, EXCEPT or USER: drop the fflags
 * that FreeBSD ignores.  Returns 0; -EINVAL: another filter, or fflags that the filter lacks.
 */
static int kq_translate_other(struct kq *kq, const struct kevent *change,
                              struct xpoll_event *record)
{
	switch (change->filter) {
	case EVFILT_VNODE:
		record->fflags &= KQ_VNODE_NOTES;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_mark_registered((int)change->ident);
		return 0;
	case EVFILT_EMPTY:
		record->fflags = 0;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_mark_registered((int)change->ident);
		return 0;
	case EVFILT_PROC:
		record->fflags &= KQ_PROC_NOTES;
		return 0;
	case EVFILT_TIMER:
		if (!(record->flags & EV_ADD))
			record->fflags = 0; /* xpoll would restart the timer for any fflags */
		return record->fflags & ~KQ_TIMER_NOTES ? -EINVAL : 0;
	case EVFILT_EXCEPT:
		record->fflags &= NOTE_OOB;
		if (record->flags & EV_ADD && change->ident <= INT_MAX)
			number_mark_registered((int)change->ident);
		return 0;
	case EVFILT_USER:
		record->fflags = kq_user_fflags(kq, change);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * Translate a change into one record, which may depend on what is registered at present.  Returns 0
 * or a negative errno value.
 */
static int kq_translate_with_lookup(struct kq *kq, const struct kevent *change,
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
		return kq_translate_read_write(kq, change, record);
	return kq_translate_other(kq, change, record);
}

/*
 * Returns true for flags that kq_change must handle itself: it refuses EV_ADD with EV_KEEPUDATA,
 * and EV_ENABLE with EV_DISABLE; applies EV_ADD with EV_DELETE as one or the other; and refuses
 * EV_FORCEONESHOT only if the registration exists (kq_is_forced).
 */
static bool kq_flags_need_slow_path(const struct kevent *change)
{
	return (change->flags & EV_ADD &&
	        change->flags & (EV_DELETE | EV_KEEPUDATA)) ||
		(change->flags & EV_ENABLE && change->flags & EV_DISABLE) ||
		change->flags & EV_FORCEONESHOT;
}

/*
 * Returns true if EV_FORCEONESHOT would make FreeBSD return an event of an existing registration at
 * once, which xpoll cannot do.  FreeBSD ignores the flag in the EV_ADD that makes a registration.
 */
static bool kq_is_forced(struct kq *kq, const struct kevent *change)
{
	return change->flags & EV_FORCEONESHOT && !(change->flags & EV_DELETE) &&
		kq_is_registered(kq, change);
}

bool kq_try_translate(struct kq *kq, const struct kevent *change,
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
	if (change->flags & EV_RECEIPT || kq_flags_need_slow_path(change) ||
	    kq_needs_lookup(change) || kq_has_ext(change) ||
	    atomic_load_explicit(&kq->extras_len, memory_order_relaxed))
		return false;
	if (kq_translate_with_lookup(kq, change, record) < 0)
		return false;
	/*
	 * If the record lacks fflags of the change, only kq_change can apply it: a status of xpoll
	 * has the fflags of the record, but in FreeBSD a status has all fflags of the change.
	 */
	return !(change->fflags & ~record->fflags);
}

/* Apply one record of a change to the xpoll queue.  Returns 0 or a negative errno value. */
static int kq_apply(struct kq *kq, const struct xpoll_event *record)
{
	return xpoll_event(kq->queue, record, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

/* Apply a change of EVFILT_SIGNAL, and record whether the signal is registered. */
static int kq_change_signal(struct kq *kq, const struct kevent *change)
{
	struct xpoll_event record = {
		.ident = change->ident,
		.filter = EVFILT_SIGNAL,
		.flags = (uint16_t)kq_flags(kq, change),
	};
	int rc;

	record.udata = change->udata;
	/*
	 * While a blocked signal is pending, Linux discards the next instance of it, but FreeBSD
	 * counts that one.  So xpoll has to accept (sigwaitinfo) a signal that all threads block.
	 */
	record.fflags = record.flags & EV_ADD ? XPOLL_NOTE_ACCEPT : 0;
	/* From now on front.c passes the program's sigaction(2) of this signal to xpoll. */
	if (change->ident >= 1 && change->ident <= 64)
		atomic_fetch_or(&kq_signals_ever,
		                UINT64_C(1) << (change->ident - 1));
	rc = kq_apply(kq, &record);
	if (rc == 0)
		kq_signals_set_present(kq, (int)change->ident,
		                       !(record.flags & EV_DELETE));
	return rc;
}

/*
 * Apply a change by one record.  xpoll gets the change without its `ext` fields, which this library
 * stores.
 */
static int kq_change_by_record(struct kq *kq, const struct kevent *change)
{
	struct kevent bare = *change;
	struct xpoll_event record;
	int rc = kq_ext_store(kq, change);

	for (int i = 0; i < 4; i++)
		bare.ext[i] = 0;
	if (rc == 0 && change->filter == EVFILT_READ && change->flags & EV_ADD)
		rc = kq_procdesc_check_read(kq, change->ident);
	if (rc == 0)
		rc = kq_translate_with_lookup(kq, &bare, &record);
	return rc < 0 ? rc : kq_apply(kq, &record);
}

/* Apply a change of EVFILT_PROCDESC, for which xpoll gets READ of the pidfd. */
static int kq_change_procdesc(struct kq *kq, const struct kevent *change)
{
	struct kevent read = *change;

	read.filter = EVFILT_READ;
	return kq_procdesc_apply(kq, change, kq_flags(kq, &read));
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
	/*
	 * Like FreeBSD, treat EV_ADD with EV_DELETE as a switch: delete the registration if it
	 * exists, otherwise add it.
	 */
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
	return kq_change_by_record(kq, change);
}
