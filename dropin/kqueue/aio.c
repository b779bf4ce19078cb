/*
 * Requests of asynchronous I/O whose completion is an event of a queue.
 *
 * FreeBSD reports the event until aio_return has taken the result.  xpoll reports it once; after
 * that a USER registration reports it, whose ident is the address of the request, which no program
 * uses.
 */
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "kq.h"

enum {
	KQ_AIO_BUCKETS = 256,
	/* first pause between two checks; it doubles up to this maximum: */
	KQ_CANCEL_FIRST_NS = 20000,
	KQ_CANCEL_MOST_NS = 1000000,
};

#define KQ_AIO_MODES (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)

/* A request for which aio_return has not been called. */
struct kq_request {
	struct xpoll_aio aio;
	const struct aiocb *control;
	struct kq_request *next;
	struct kq *kq;        /* the queue; NULL: it was or is being destroyed */
	struct kq *ending;    /* the queue that is being destroyed */
	void *udata;
	unsigned short flags; /* flags of the event: EV_ONESHOT ... */
	bool returned;        /* the event was returned, and aio.result is valid */
	bool silent;          /* the event was deleted before it was returned */
	bool asked;           /* aio_cancel has tried to cancel it */
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

static int kq_aio_return(struct kq *kq, const struct kq_request *request,
                         int filter, unsigned flags, unsigned fflags)
{
	struct xpoll_event change;

	xpoll_set(&change, (uintptr_t)&request->aio, filter, (int)flags, fflags, 0,
	          (void *)(uintptr_t)request->control);
	return xpoll_event(kq->queue, &change, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

/* Returns the number of bytes, a negative errno value, or -EINPROGRESS. */
static int64_t kq_aio_result(const struct kq_request *request)
{
	struct xpoll_event found;

	if (request->returned)
		return request->aio.result;
	if (!request->kq)
		return -EINPROGRESS;
	/*
	 * The event may have just been returned by xpoll, and not handled yet: then the result is
	 * there.
	 */
	return xpoll_lookup(request->kq->queue, (uintptr_t)&request->aio,
	                    XPOLL_FILT_AIO, &found) < 0
		? request->aio.result : found.data;
}

/* Remove the registration of a completed request, or its event, from the queue. */
static void kq_aio_withdraw(struct kq_request *request)
{
	if (!request->kq)
		return;
	if (!request->returned)
		(void)kq_aio_return(request->kq, request, XPOLL_FILT_AIO,
		                    XPOLL_DELETE, 0);
	else if (!request->silent)
		(void)kq_aio_return(request->kq, request, XPOLL_FILT_USER,
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
		if (!request->returned && ready && request->flags & KQ_AIO_MODES)
			request->silent = true;
		else if (!request->returned && ready)
			(void)kq_aio_return(kq, request, XPOLL_FILT_USER,
			                    XPOLL_ADD, XPOLL_NOTE_TRIGGER);
		request->returned = true;
	}
	pthread_mutex_unlock(&kq_aio.lock);
	errno = saved;
	return ready || !ours;
}

int kq_aio_change(struct kq *kq, const struct kevent *change)
{
	struct kq_request *request;
	int rc = 0;

	/* Only a request makes a registration. */
	if (change->flags & EV_ADD)
		return -EPERM;
	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_place((const void *)change->ident);
	if (!request || request->kq != kq || request->silent)
		rc = -ENOENT;
	else if (!(change->flags & EV_DELETE))
		rc = -ENOTSUP;
	else if (request->returned)
		rc = kq_aio_return(kq, request, XPOLL_FILT_USER, XPOLL_DELETE, 0);
	if (rc == 0)
		request->silent = true;
	pthread_mutex_unlock(&kq_aio.lock);
	return rc;
}

static void kq_aio_each(void (*visit)(struct kq_request *, void *), void *context)
{
	pthread_mutex_lock(&kq_aio.lock);
	for (int i = 0; i < KQ_AIO_BUCKETS; i++)
		for (struct kq_request *request = kq_aio.buckets[i]; request;
		     request = request->next)
			visit(request, context);
	pthread_mutex_unlock(&kq_aio.lock);
}

static void kq_aio_part(struct kq_request *request, void *context)
{
	struct kq *kq = context;

	if (request->kq != kq)
		return;
	request->kq = NULL;
	request->ending = kq;
}

static void kq_aio_parted(struct kq_request *request, void *context)
{
	struct kq *kq = context;

	if (request->ending != kq)
		return;
	request->ending = NULL;
	request->returned = true;
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
	/* In a forked child: free the copies of the requests, which complete in the parent. */
	for (int i = 0; when == KQ_FORK_CHILD && i < KQ_AIO_BUCKETS; i++)
		while (kq_aio.buckets[i])
			kq_aio_remove(&kq_aio.buckets[i]);
}

/* --- Requests ------------------------------------------------------------------------ */

/*
 * Begin a request with the lock held, so that its event is not handled before it is in the table.
 */
static int kq_aio_enter(struct kq *kq, struct kq_request *request)
{
	struct kq_request **place;
	int rc = 0;

	pthread_mutex_lock(&kq_aio.lock);
	place = kq_aio_place(request->control);
	if (*place && kq_aio_result(*place) == -EINPROGRESS)
		rc = -EBUSY;
	/* The program never took the result of an earlier request with this structure. */
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

int kq_aio_begin(struct kq *kq, struct aiocb *control, int op)
{
	const struct sigevent *notify = &control->aio_sigevent;
	struct kq_request *request = calloc(1, sizeof *request);
	int rc;

	if (!request)
		return -EAGAIN;
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
	rc = kq_aio_enter(kq, request);
	if (rc < 0)
		free(request);
	return rc;
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

int64_t kq_aio_take(const struct aiocb *control, bool *found)
{
	struct kq_request **place;
	int64_t result = -EINPROGRESS;

	pthread_mutex_lock(&kq_aio.lock);
	place = kq_aio_place(control);
	*found = *place;
	if (*found)
		result = kq_aio_result(*place);
	if (*found && result != -EINPROGRESS) {
		kq_aio_withdraw(*place);
		kq_aio_remove(place);
	}
	pthread_mutex_unlock(&kq_aio.lock);
	return result;
}

/* --- Cancelling ----------------------------------------------------------------------- */

struct kq_cancel {
	int fd;
	const struct aiocb *control; /* NULL: all requests of this descriptor */
	bool found;                  /* such a request exists */
	int rc;
};

int kq_aio_worse(int one, int other)
{
	if (one == -1 || other == -1)
		return -1;
	if (one == AIO_NOTCANCELED || other == AIO_NOTCANCELED)
		return AIO_NOTCANCELED;
	return one == AIO_CANCELED ? one : other;
}

static bool kq_aio_is_meant(const struct kq_request *request, const struct kq_cancel *cancel)
{
	return cancel->control ? request->control == cancel->control
		: request->aio.fd == cancel->fd;
}

static void kq_aio_ask_to_end(struct kq_request *request, void *context)
{
	struct kq_cancel *cancel = context;

	if (!kq_aio_is_meant(request, cancel))
		return;
	cancel->found = true;
	request->asked = kq_aio_result(request) == -EINPROGRESS;
	if (request->asked && request->kq)
		(void)xpoll_aio_cancel(request->kq->queue, &request->aio);
}

static void kq_aio_check_end(struct kq_request *request, void *context)
{
	struct kq_cancel *cancel = context;
	int64_t result;

	if (!kq_aio_is_meant(request, cancel) || !request->asked)
		return;
	result = kq_aio_result(request);
	cancel->rc = kq_aio_worse(cancel->rc,
		result == -EINPROGRESS ? AIO_NOTCANCELED
		: result == -ECANCELED ? AIO_CANCELED : AIO_ALLDONE);
}

/* Sleeps without being a cancellation point; a signal may end it early. */
static void kq_aio_pause(int64_t pause_ns)
{
	const struct timespec pause = {0, (long)pause_ns};
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)ppoll(NULL, 0, &pause, NULL);
	pthread_setcancelstate(state, NULL);
}

/*
 * The kernel may cancel a request later than it is asked to, so the result is known only when the
 * request has completed.  This call therefore sleeps until it has, like xpoll_destroy.
 */
int kq_aio_cancel(int fd, const struct aiocb *control, bool *found)
{
	struct kq_cancel cancel = {.fd = fd, .control = control};
	int64_t pause_ns = KQ_CANCEL_FIRST_NS;

	kq_aio_each(kq_aio_ask_to_end, &cancel);
	for (;;) {
		cancel.rc = AIO_ALLDONE;
		kq_aio_each(kq_aio_check_end, &cancel);
		if (cancel.rc != AIO_NOTCANCELED)
			break;
		kq_aio_pause(pause_ns);
		if (pause_ns < KQ_CANCEL_MOST_NS)
			pause_ns *= 2;
	}
	*found = control && cancel.found;
	return cancel.rc;
}
