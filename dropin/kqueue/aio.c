/*
 * Asynchronous I/O that tells a queue of its end: aio_read(2) and the like with
 * SIGEV_KEVENT.
 *
 * The C library has these functions but knows no queues, so ours are in front
 * of them.  Requests that name a queue are xpoll's; all others go on to the C
 * library.  An event is told until aio_return has taken the result, as in
 * FreeBSD: xpoll tells it once, after that a USER registration stands for it,
 * whose ident is the address of the request, which no program has.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kq.h"

enum { KQ_AIO_BUCKETS = 256 };

#define KQ_AIO_MODES (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)

/* One that aio_return has not been called for. */
struct kq_request {
	struct xpoll_aio aio;
	const struct aiocb *control;
	struct kq_request *next;
	struct kq *kq;        /* NULL: it has ended, or is about to */
	struct kq *ending;    /* that one, until it has */
	void *udata;
	unsigned short flags; /* of the event: EV_ONESHOT ... */
	bool told;            /* the event was returned, and aio.result tells */
	bool silent;          /* the event was deleted before that */
};

static struct {
	pthread_mutex_t lock;
	struct kq_request *buckets[KQ_AIO_BUCKETS];
} kq_aio = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- The table; all with the lock held --------------------------------------------- */

static struct kq_request **kq_aio_place(const void *control)
{
	struct kq_request **place =
		&kq_aio.buckets[((uintptr_t)control >> 6) % KQ_AIO_BUCKETS];

	while (*place && (*place)->control != control)
		place = &(*place)->next;
	return place;
}

static int kq_aio_tell(struct kq *kq, const struct kq_request *request,
                       int filter, unsigned flags, unsigned fflags)
{
	struct xpoll_event change;

	xpoll_set(&change, (uintptr_t)&request->aio, filter, (int)flags, fflags, 0,
	          (void *)(uintptr_t)request->control);
	return xpoll_event(kq->queue, &change, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

/* Bytes or a negative errno; -EINPROGRESS. */
static int64_t kq_aio_result(const struct kq_request *request)
{
	struct xpoll_event found;

	if (request->told)
		return request->aio.result;
	if (!request->kq)
		return -EINPROGRESS;
	/* If it has just been returned, and not told yet, there is the result. */
	return xpoll_lookup(request->kq->queue, (uintptr_t)&request->aio,
	                    XPOLL_FILT_AIO, &found) < 0
		? request->aio.result : found.data;
}

/* What stands for it in the queue; it is over. */
static void kq_aio_withdraw(struct kq_request *request)
{
	if (!request->kq)
		return;
	if (!request->told)
		(void)kq_aio_tell(request->kq, request, XPOLL_FILT_AIO,
		                  XPOLL_DELETE, 0);
	else if (!request->silent)
		(void)kq_aio_tell(request->kq, request, XPOLL_FILT_USER,
		                  XPOLL_DELETE, 0);
}

static void kq_aio_remove(struct kq_request **place)
{
	struct kq_request *request = *place;

	*place = request->next;
	if (request->kq)
		atomic_fetch_sub(&request->kq->requests, 1);
	free(request);
}

/* --- Events ------------------------------------------------------------------------- */

bool kq_aio_event(struct kq *kq, struct kevent *event)
{
	struct kq_request *request;
	bool ours = event->filter == EVFILT_AIO, ready = false;
	int64_t result;
	int saved = errno;

	if (!ours && event->filter != EVFILT_USER)
		return true;
	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_place(event->udata);
	if (request && request->kq == kq &&
	    (uintptr_t)&request->aio == event->ident) {
		ours = true;
		ready = !request->silent;
		result = request->aio.result;
		event->ident = (uintptr_t)request->control;
		event->filter = EVFILT_AIO;
		event->flags = EV_EOF | (request->flags & KQ_AIO_MODES);
		event->fflags = 0;
		event->data = result < 0 ? -result : 0;
		event->udata = request->udata;
		if (!request->told && ready && request->flags & KQ_AIO_MODES)
			request->silent = true;
		else if (!request->told && ready)
			(void)kq_aio_tell(kq, request, XPOLL_FILT_USER,
			                  XPOLL_ADD, XPOLL_NOTE_TRIGGER);
		request->told = true;
	}
	pthread_mutex_unlock(&kq_aio.lock);
	errno = saved;
	return ready || !ours;
}

int kq_aio_change(struct kq *kq, const struct kevent *change)
{
	struct kq_request *request;
	int rc = 0;

	/* Only a request makes one. */
	if (change->flags & EV_ADD)
		return -EPERM;
	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_place((const void *)change->ident);
	if (!request || request->kq != kq || request->silent)
		rc = -ENOENT;
	else if (!(change->flags & EV_DELETE))
		rc = -ENOTSUP;
	else if (request->told)
		rc = kq_aio_tell(kq, request, XPOLL_FILT_USER, XPOLL_DELETE, 0);
	if (rc == 0)
		request->silent = true;
	pthread_mutex_unlock(&kq_aio.lock);
	return rc;
}

static void kq_aio_each(void (*visit)(struct kq_request *, struct kq *),
                        struct kq *kq)
{
	pthread_mutex_lock(&kq_aio.lock);
	for (int i = 0; i < KQ_AIO_BUCKETS; i++)
		for (struct kq_request *request = kq_aio.buckets[i]; request;
		     request = request->next)
			visit(request, kq);
	pthread_mutex_unlock(&kq_aio.lock);
}

static void kq_aio_part(struct kq_request *request, struct kq *kq)
{
	if (request->kq != kq)
		return;
	request->kq = NULL;
	request->ending = kq;
}

static void kq_aio_parted(struct kq_request *request, struct kq *kq)
{
	if (request->ending != kq)
		return;
	request->ending = NULL;
	request->told = true;
}

void kq_aio_end_begin(struct kq *kq)
{
	if (atomic_exchange(&kq->requests, 0) > 0)
		kq_aio_each(kq_aio_part, kq);
}

void kq_aio_end(struct kq *kq)
{
	kq_aio_each(kq_aio_parted, kq);
}

void kq_aio_fork(enum kq_fork when)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	if (when == KQ_FORK_PREPARE)
		pthread_mutex_lock(&kq_aio.lock);
	else if (when == KQ_FORK_PARENT)
		pthread_mutex_unlock(&kq_aio.lock);
	else
		kq_aio.lock = unlocked;
	/* The child's copies are nobody's: the parent's work goes on there. */
	for (int i = 0; when == KQ_FORK_CHILD && i < KQ_AIO_BUCKETS; i++)
		while (kq_aio.buckets[i])
			kq_aio_remove(&kq_aio.buckets[i]);
}

/* --- Requests ------------------------------------------------------------------------ */

static int kq_aio_wrong(int error)
{
	errno = error;
	return -1;
}

/* The lock is held: nobody looks for the event before it is noted. */
static int kq_aio_begin(struct kq *kq, struct kq_request *request)
{
	struct kq_request **place;
	int rc = 0;

	pthread_mutex_lock(&kq_aio.lock);
	place = kq_aio_place(request->control);
	if (*place && kq_aio_result(*place) == -EINPROGRESS)
		rc = -EBUSY;
	/* The result of the last one was never taken. */
	if (*place && rc == 0) {
		kq_aio_withdraw(*place);
		kq_aio_remove(place);
		place = kq_aio_place(request->control);
	}
	if (rc == 0 && xpoll_aio_submit(kq->queue, &request->aio) < 0)
		rc = -errno;
	if (rc == 0) {
		*place = request;
		atomic_fetch_add(&kq->requests, 1);
	}
	pthread_mutex_unlock(&kq_aio.lock);
	return rc;
}

static int kq_aio_submit(struct aiocb *control, int op)
{
	const struct sigevent *notify = &control->aio_sigevent;
	struct kq *kq = kq_hold(notify->sigev_notify_kqueue);
	struct kq_request *request = kq ? calloc(1, sizeof *request) : NULL;
	int rc;

	if (!request) {
		if (kq)
			kq_drop(kq);
		return kq_aio_wrong(kq ? EAGAIN : EBADF);
	}
	request->control = control;
	request->kq = kq;
	request->udata = notify->sigev_value.sival_ptr;
	request->flags = (unsigned short)notify->sigev_notify_kevent_flags;
	request->aio.size = sizeof request->aio;
	request->aio.op = op;
	request->aio.fd = control->aio_fildes;
	if (op == XPOLL_AIO_READ || op == XPOLL_AIO_WRITE) {
		request->aio.buffer = (void *)(uintptr_t)control->aio_buf;
		request->aio.length = control->aio_nbytes;
		request->aio.offset = control->aio_offset;
	}
	request->aio.udata = control;
	kq_watched(control->aio_fildes);
	rc = kq_aio_begin(kq, request);
	kq_drop(kq);
	if (rc == 0)
		return 0;
	free(request);
	return kq_aio_wrong(-rc);
}

static bool kq_aio_is_ours(const struct aiocb *control)
{
	return control && control->aio_sigevent.sigev_notify == SIGEV_KEVENT;
}

/* --- The functions --------------------------------------------------------------------- */

KQ_EXPORT int aio_read(struct aiocb *control)
{
	if (kq_aio_is_ours(control))
		return kq_aio_submit(control, XPOLL_AIO_READ);
	return kq_real.aio_read ? kq_real.aio_read(control)
		: kq_aio_wrong(ENOSYS);
}

KQ_EXPORT int aio_write(struct aiocb *control)
{
	if (kq_aio_is_ours(control))
		return kq_aio_submit(control, XPOLL_AIO_WRITE);
	return kq_real.aio_write ? kq_real.aio_write(control)
		: kq_aio_wrong(ENOSYS);
}

KQ_EXPORT int aio_fsync(int op, struct aiocb *control)
{
	if (kq_aio_is_ours(control) && (op == O_SYNC || op == O_DSYNC))
		return kq_aio_submit(control, op == O_SYNC
			? XPOLL_AIO_FSYNC : XPOLL_AIO_FDATASYNC);
	return kq_real.aio_fsync ? kq_real.aio_fsync(op, control)
		: kq_aio_wrong(op == O_SYNC || op == O_DSYNC ? ENOSYS : EINVAL);
}

int64_t kq_aio_ask(const struct aiocb *control)
{
	struct kq_request *request;
	int64_t result = 0;
	int saved = errno;

	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_place(control);
	if (request)
		result = kq_aio_result(request);
	pthread_mutex_unlock(&kq_aio.lock);
	errno = saved;
	return !request ? 1 : result < 0 ? result : 0;
}

KQ_EXPORT int aio_error(const struct aiocb *control)
{
	int64_t result = kq_aio_ask(control);

	if (result <= 0)
		return (int)-result;
	/* Its result was taken, or it was never begun. */
	if (kq_aio_is_ours(control))
		return EINVAL;
	return kq_real.aio_error ? kq_real.aio_error(control) : EINVAL;
}

KQ_EXPORT ssize_t aio_return(struct aiocb *control)
{
	struct kq_request **place;
	int64_t result = -EINPROGRESS;
	bool ours;

	pthread_mutex_lock(&kq_aio.lock);
	place = kq_aio_place(control);
	ours = *place;
	if (ours)
		result = kq_aio_result(*place);
	if (ours && result != -EINPROGRESS) {
		kq_aio_withdraw(*place);
		kq_aio_remove(place);
	}
	pthread_mutex_unlock(&kq_aio.lock);
	if (!ours && !kq_aio_is_ours(control) && kq_real.aio_return)
		return kq_real.aio_return(control);
	if (result >= 0)
		return (ssize_t)result;
	return kq_aio_wrong(result == -EINPROGRESS ? EINVAL : (int)-result);
}

/* Several answers: what could not be cancelled goes first. */
static int kq_aio_worse(int one, int other)
{
	if (one == -1 || other == -1)
		return -1;
	if (one == AIO_NOTCANCELED || other == AIO_NOTCANCELED)
		return AIO_NOTCANCELED;
	return one == AIO_CANCELED ? one : other;
}

static int kq_aio_cancel_one(struct kq_request *request)
{
	int64_t result = kq_aio_result(request);

	if (result != -EINPROGRESS)
		return AIO_ALLDONE;
	if (request->kq)
		(void)xpoll_aio_cancel(request->kq->queue, &request->aio);
	result = kq_aio_result(request);
	return result == -EINPROGRESS ? AIO_NOTCANCELED
		: result == -ECANCELED ? AIO_CANCELED : AIO_ALLDONE;
}

KQ_EXPORT int aio_cancel(int fd, struct aiocb *control)
{
	int rc = AIO_ALLDONE;
	bool ours = false;
	int saved = errno;

	pthread_mutex_lock(&kq_aio.lock);
	for (int i = 0; i < KQ_AIO_BUCKETS; i++)
		for (struct kq_request *request = kq_aio.buckets[i]; request;
		     request = request->next) {
			if (request->control != control &&
			    (control || request->aio.fd != fd))
				continue;
			ours = control;
			rc = kq_aio_worse(rc, kq_aio_cancel_one(request));
		}
	pthread_mutex_unlock(&kq_aio.lock);
	errno = saved;
	if (!ours && kq_real.aio_cancel)
		rc = kq_aio_worse(rc, kq_real.aio_cancel(fd, control));
	return rc;
}

/* A queue is not told of a list. */
KQ_EXPORT int lio_listio(int mode, struct aiocb *const controls[], int count,
                         struct sigevent *notify)
{
	bool ours = notify && notify->sigev_notify == SIGEV_KEVENT;

	for (int i = 0; i < count; i++)
		ours |= kq_aio_is_ours(controls[i]);
	if (ours)
		return kq_aio_wrong(ENOTSUP);
	return !kq_real.lio_listio ? kq_aio_wrong(ENOSYS)
		: kq_real.lio_listio(mode, controls, count, notify);
}

/* --- Programs that were compiled with _FILE_OFFSET_BITS=64 ------------------------------ */

KQ_EXPORT int aio_read64(struct aiocb64 *control)
{
	return aio_read((struct aiocb *)(void *)control);
}

KQ_EXPORT int aio_write64(struct aiocb64 *control)
{
	return aio_write((struct aiocb *)(void *)control);
}

KQ_EXPORT int aio_fsync64(int op, struct aiocb64 *control)
{
	return aio_fsync(op, (struct aiocb *)(void *)control);
}

KQ_EXPORT int aio_error64(const struct aiocb64 *control)
{
	return aio_error((const struct aiocb *)(const void *)control);
}

KQ_EXPORT ssize_t aio_return64(struct aiocb64 *control)
{
	return aio_return((struct aiocb *)(void *)control);
}

KQ_EXPORT int aio_cancel64(int fd, struct aiocb64 *control)
{
	return aio_cancel(fd, (struct aiocb *)(void *)control);
}

KQ_EXPORT int lio_listio64(int mode, struct aiocb64 *const controls[], int count,
                           struct sigevent *notify)
{
	return lio_listio(mode, (struct aiocb *const *)(const void *)controls, count,
	                  notify);
}

_Static_assert(sizeof(struct aiocb64) == sizeof(struct aiocb) &&
               offsetof(struct aiocb64, aio_offset) ==
               offsetof(struct aiocb, aio_offset), "they are the same");
