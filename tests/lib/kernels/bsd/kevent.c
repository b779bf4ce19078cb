/* The model's kevent(2), linked in front of the drop-in's. */
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHANGES_MOST = 256 };

int __wrap_kevent(int queue, const struct kevent *changes, int len,
                  struct kevent *events, int cap, const struct timespec *timeout);
int __real_kevent(int queue, const struct kevent *changes, int len,
                  struct kevent *events, int cap, const struct timespec *timeout);

static bool is_of_fd(const struct kevent *record)
{
	return record->filter == EVFILT_READ || record->filter == EVFILT_WRITE ||
		record->filter == EVFILT_EXCEPT;
}

/* Returns true if fd is a file of this type whose other end is closed. */
static bool hung(int fd, mode_t type)
{
	struct pollfd look = {.fd = fd, .events = POLLIN};
	struct stat status;

	return __real_fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type &&
		__real_poll(&look, 1, 0) > 0 && look.revents & POLLHUP;
}

/* Returns true for a FIFO with a name that is open for reading only. */
static bool is_read_only_fifo(int fd, const struct stat *status)
{
	struct stat other;
	int ends[2];
	bool is_pipe;

	if (!S_ISFIFO(status->st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY ||
	    pipe(ends) < 0)
		return false;
	/* All pipes without a name are on one device. */
	is_pipe = __real_fstat(ends[0], &other) == 0 && other.st_dev == status->st_dev;
	close(ends[0]);
	close(ends[1]);
	return !is_pipe;
}

static bool there_already(int queue, const struct kevent *change)
{
	static const struct timespec zero;
	/*
	 * A change without an action does nothing: its only result is whether the filter is
	 * registered.
	 */
	struct kevent probe = *change;

	probe.flags = EV_RECEIPT;
	probe.fflags = NOTE_FFNOP;
	return __real_kevent(queue, &probe, 1, &probe, 1, &zero) == 1 &&
		probe.data == 0;
}

/* Returns the error with which the modelled kernel refuses a change; 0: it accepts the change. */
static int refused(const struct kevent *change)
{
	const struct model_kernel *kernel = model_kernel();
	struct stat status;

	if (kernel->no_user && change->filter == EVFILT_USER)
		return EINVAL;
	if (!(change->flags & EV_ADD) ||
	    __real_fstat((int)change->ident, &status) < 0)
		return 0;
	if (change->filter == EVFILT_VNODE &&
	    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		return EINVAL;
	if (change->filter == EVFILT_VNODE && S_ISCHR(status.st_mode))
		return kernel->device_error;
	if (kernel->pipes_lack_except && change->filter == EVFILT_EXCEPT &&
	    S_ISFIFO(status.st_mode))
		return EINVAL;
	if (kernel->fifos_one_way && change->filter == EVFILT_WRITE &&
	    is_read_only_fifo((int)change->ident, &status))
		return EINVAL;
	if (kernel->refuses_hung && is_of_fd(change) &&
	    hung((int)change->ident, S_IFCHR))
		return ENXIO;
	return 0;
}

/* Prepare a change.  Returns 0: apply it; 1: the model has done it; or an errno value. */
static int prepare(int queue, struct kevent *change)
{
	const struct model_kernel *kernel = model_kernel();
	int error = refused(change);

	if (error)
		return error;
	if (kernel->late_trigger && change->filter == EVFILT_USER &&
	    change->flags & EV_ADD && change->fflags & NOTE_TRIGGER &&
	    !there_already(queue, change))
		change->fflags &= ~NOTE_TRIGGER;
	if (!is_of_fd(change) || !kernel->enables_once)
		return 0;
	if ((change->flags & ~EV_RECEIPT) == EV_ENABLE &&
	    model_is_enabled(queue, change))
		return -1;
	model_note(queue, change);
	return 0;
}

static void answer(struct kevent *event, const struct kevent *change)
{
	const struct model_kernel *kernel = model_kernel();

	if (kernel->pipe_ebadf && event->filter == EVFILT_WRITE &&
	    event->data == EPIPE)
		event->data = EBADF;
	if (kernel->error_and_flags)
		event->flags |= change->flags;
}

/*
 * Apply one change, and store its receipt or its error in *event.  Returns the number of stored
 * events.
 */
static int change_one(int queue, struct kevent *change, struct kevent *event)
{
	static const struct timespec zero;
	struct kevent receipt = *change;
	bool receipts = change->flags & EV_RECEIPT;
	int rc = prepare(queue, change);

	if (rc == 0) {
		change->flags |= EV_RECEIPT;
		if (__real_kevent(queue, change, 1, &receipt, 1, &zero) < 0)
			return -1;
	} else {
		receipt.flags = EV_ERROR;
		receipt.data = rc > 0 ? rc : 0;
	}
	if (receipt.data == 0 && !receipts)
		return 0;
	*event = receipt;
	answer(event, change);
	return 1;
}

/*
 * Duplicate level-triggered reports of an end of file, if there is room.  Returns the new number of
 * events.
 */
static int twice(struct kevent *events, int count, int cap)
{
	int len = count;

	for (int i = 0; i < count && len < cap; i++)
		if (events[i].filter == EVFILT_READ && events[i].flags & EV_EOF &&
		    !(events[i].flags & EV_CLEAR))
			events[len++] = events[i];
	return len;
}

/*
 * Remove events that the modelled kernel would not report.  If none is left, that kernel would
 * continue to sleep; here the caller polls again from time to time, like poll(2) in look.c.
 */
static int silence(struct kevent *events, int count, const struct timespec *timeout)
{
	static const struct timespec soon = {.tv_nsec = 10000000};
	int left = 0;

	for (int i = 0; i < count; i++)
		if (!is_of_fd(&events[i]) || !model_is_forgotten((int)events[i].ident))
			events[left++] = events[i];
	if (left == 0 && count > 0 && (!timeout || timeout->tv_sec || timeout->tv_nsec))
		(void)nanosleep(&soon, NULL);
	return count < 0 ? count : left;
}

static int look(int queue, struct kevent *events, int cap,
                const struct timespec *timeout)
{
	int before;
	int count;

	if (!model_kernel()->uncancelled) {
		count = __real_kevent(queue, NULL, 0, events, cap, timeout);
		return silence(events, count, timeout);
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	count = __real_kevent(queue, NULL, 0, events, cap, timeout);
	pthread_setcancelstate(before, NULL);
	return count;
}

/* Apply the changes one by one, and then wait, unless one has failed. */
int __wrap_kevent(int queue, const struct kevent *changes, int len,
                  struct kevent *events, int cap, const struct timespec *timeout)
{
	struct kevent copy[CHANGES_MOST];
	int count = 0;

	if (len > CHANGES_MOST)
		exit(1);
	if (len > 0) /* copy the changes, because both arguments may be the same array */
		memcpy(copy, changes, (size_t)len * sizeof *copy);
	for (int i = 0; i < len; i++) {
		struct kevent event;
		int rc = change_one(queue, &copy[i], &event);

		if (rc < 0)
			return -1;
		if (rc > 0 && count == cap) {
			errno = (int)event.data;
			return event.data ? -1 : count;
		}
		if (rc > 0)
			events[count++] = event;
	}
	if (count > 0)
		return count;
	count = look(queue, events, cap, timeout);
	return model_kernel()->eof_twice && count > 0 ? twice(events, count, cap)
		: count;
}
