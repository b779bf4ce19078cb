/*
 * Requests of asynchronous I/O whose completion is an event of a queue.
 *
 * FreeBSD returns the event in each kevent(2) until aio_return(2) has taken the result.  xpoll
 * returns an event of XPOLL_FILT_AIO once; after that a USER registration that stays triggered
 * takes its place in the queue.  The ident of both registrations is the address of request->aio,
 * which the program has no reason to use as the ident of a USER registration.
 */
#include <aio.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "kq.h"

enum {
	KQ_AIO_BUCKETS = 256,
	/*
	 * kq_aio_cancel: sleep between the first two checks; doubled until at least
	 * KQ_CANCEL_MOST_NS
	 */
	KQ_CANCEL_FIRST_NS = 20000,
	KQ_CANCEL_MOST_NS = 1000000,
};

/* A request with any of these flags returns its event only once. */
#define KQ_AIO_ONE_EVENT (EV_ONESHOT | EV_CLEAR | EV_DISPATCH)

/* A request, until aio_return(2).  The lock of kq_aio guards all members; xpoll writes to aio. */
struct kq_request {
	struct xpoll_aio aio;
	const struct aiocb *control; /* the program's structure, by which the request is found */
	struct kq_request *next;     /* next in the bucket */
	struct kq *kq;        /* the queue; NULL: the queue was or is being destroyed */
	struct kq *ending;    /* the queue, while it is being destroyed */
	void *udata;          /* the program's value for the event, from aio_sigevent */
	unsigned short flags; /* the program's flags for the event: EV_ONESHOT and so on */
	/*
	 * aio.result is valid: xpoll has returned the event, or has ended the request with its
	 * queue
	 */
	bool has_result;
	/*
	 * no further event is returned: the program has deleted the registration (EV_DELETE), or a
	 * request with EV_ONESHOT, EV_CLEAR or EV_DISPATCH has had its one event
	 */
	bool is_knote_gone;
	/* kq_aio_cancel has tried to cancel the request, which was in progress then */
	bool is_cancel_requested;
};

/* All requests, hashed by the address of the program's struct aiocb. */
static struct {
	pthread_mutex_t lock;
	struct kq_request *buckets[KQ_AIO_BUCKETS];
} kq_aio = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- The table: called with the lock of kq_aio, or in a forked child with one thread --- */

/*
 * Returns the link (a bucket or the `next` of a request) that points to the request of this
 * control, or the NULL link where it would be inserted.
 */
static struct kq_request **kq_aio_link_of(const void *control)
{
	struct kq_request **place =
		&kq_aio.buckets[((uintptr_t)control >> 6) % KQ_AIO_BUCKETS];

	while (*place && (*place)->control != control)
		place = &(*place)->next;
	return place;
}

/* Apply a change to xpoll's registration of the request for this filter.  Returns 0 or -errno. */
static int kq_aio_apply(struct kq *kq, const struct kq_request *request,
                        int filter, unsigned flags, unsigned fflags)
{
	struct xpoll_event change;

	xpoll_set(&change, (uintptr_t)&request->aio, filter, (int)flags, fflags, 0,
	          (void *)(uintptr_t)request->control);
	return xpoll_event(kq->queue, &change, 1, NULL, 0, 0) < 0 ? -errno : 0;
}

/* Returns a request's result: bytes, or a negative errno value; -EINPROGRESS: not completed. */
static int64_t kq_aio_result(const struct kq_request *request)
{
	struct xpoll_event found;

	if (request->has_result)
		return request->aio.result;
	if (!request->kq)
		return -EINPROGRESS;
	/*
	 * If xpoll has no such registration, another thread has received the event and is about to
	 * call kq_aio_deliver: aio.result is valid.
	 */
	return xpoll_lookup(request->kq->queue, (uintptr_t)&request->aio,
	                    XPOLL_FILT_AIO, &found) < 0
		? request->aio.result : found.data;
}

/* Delete the AIO registration of a completed request, or the USER registration that replaced it. */
static void kq_aio_withdraw(struct kq_request *request)
{
	if (!request->kq)
		return;
	if (!request->has_result)
		(void)kq_aio_apply(request->kq, request, XPOLL_FILT_AIO,
		                   XPOLL_DELETE, 0);
	else if (!request->is_knote_gone)
		(void)kq_aio_apply(request->kq, request, XPOLL_FILT_USER,
		                   XPOLL_DELETE, 0);
}

/* Remove the request that this link (kq_aio_link_of) points to from the table, and free it. */
static void kq_aio_remove(struct kq_request **place)
{
	struct kq_request *request = *place;

	*place = request->next;
	if (request->kq)
		atomic_fetch_sub(&request->kq->aio_requests, 1);
	free(request);
}

/* --- Events ------------------------------------------------------------------------- */

bool kq_aio_deliver(struct kq *kq, struct kevent *event)
{
	struct kq_request *request;
	bool ours = event->filter == EVFILT_AIO, ready = false;
	int64_t result;
	int saved = errno;

	if (!ours && event->filter != EVFILT_USER)
		return true;
	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_link_of(event->udata);
	if (request && request->kq == kq &&
	    (uintptr_t)&request->aio == event->ident) {
		ours = true;
		ready = !request->is_knote_gone;
		result = request->aio.result;
		event->ident = (uintptr_t)request->control;
		event->filter = EVFILT_AIO;
		event->flags = EV_EOF | (request->flags & KQ_AIO_ONE_EVENT);
		event->fflags = 0;
		event->data = result < 0 ? -result : 0;
		event->udata = request->udata;
		if (!request->has_result && ready && request->flags & KQ_AIO_ONE_EVENT)
			request->is_knote_gone = true;
		else if (!request->has_result && ready)
			(void)kq_aio_apply(kq, request, XPOLL_FILT_USER,
			                   XPOLL_ADD, XPOLL_NOTE_TRIGGER);
		request->has_result = true;
	}
	pthread_mutex_unlock(&kq_aio.lock);
	errno = saved;
	return ready || !ours;
}

int kq_aio_change(struct kq *kq, const struct kevent *change)
{
	struct kq_request *request;
	int rc = 0;

	/* Refuse EV_ADD: only aio_read(2) and the like make registrations of EVFILT_AIO. */
	if (change->flags & EV_ADD)
		return -EPERM;
	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_link_of((const void *)change->ident);
	if (!request || request->kq != kq || request->is_knote_gone)
		rc = -ENOENT;
	else if (!(change->flags & EV_DELETE))
		rc = -ENOTSUP;
	else if (request->has_result)
		rc = kq_aio_apply(kq, request, XPOLL_FILT_USER, XPOLL_DELETE, 0);
	if (rc == 0)
		request->is_knote_gone = true;
	pthread_mutex_unlock(&kq_aio.lock);
	return rc;
}

/* Call visit for each request in the table, with the lock of kq_aio held. */
static void kq_aio_each(void (*visit)(struct kq_request *, void *), void *context)
{
	pthread_mutex_lock(&kq_aio.lock);
	for (int i = 0; i < KQ_AIO_BUCKETS; i++)
		for (struct kq_request *request = kq_aio.buckets[i]; request;
		     request = request->next)
			visit(request, context);
	pthread_mutex_unlock(&kq_aio.lock);
}

/* For kq_aio_each: separate a request from the queue that is about to be destroyed. */
static void kq_aio_detach(struct kq_request *request, void *context)
{
	struct kq *kq = context;

	if (request->kq != kq)
		return;
	request->kq = NULL;
	request->ending = kq;
}

/* For kq_aio_each: the request's queue is destroyed, so the request has completed. */
static void kq_aio_complete_one(struct kq_request *request, void *context)
{
	struct kq *kq = context;

	if (request->ending != kq)
		return;
	request->ending = NULL;
	request->has_result = true;
}

void kq_aio_detach_all(struct kq *kq)
{
	if (atomic_exchange(&kq->aio_requests, 0) > 0)
		kq_aio_each(kq_aio_detach, kq);
}

void kq_aio_complete_all(struct kq *kq)
{
	kq_aio_each(kq_aio_complete_one, kq);
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
	/* In a forked child: free the copies of the requests, as they complete in the parent. */
	for (int i = 0; when == KQ_FORK_CHILD && i < KQ_AIO_BUCKETS; i++)
		while (kq_aio.buckets[i])
			kq_aio_remove(&kq_aio.buckets[i]);
}

/* --- Requests ------------------------------------------------------------------------ */

/*
 * Begin a request and put it into the table.  The lock is held for both steps, so that no other
 * thread handles the event before the request is in the table.  Returns 0 or a negative errno
 * value.
 */
static int kq_aio_lock_and_begin(struct kq *kq, struct kq_request *request)
{
	struct kq_request **place;
	int rc = 0;

	pthread_mutex_lock(&kq_aio.lock);
	place = kq_aio_link_of(request->control);
	if (*place && kq_aio_result(*place) == -EINPROGRESS)
		rc = -EBUSY;
	/*
	 * The program has reused the structure of a completed request without aio_return: remove
	 * the earlier request.
	 */
	if (*place && rc == 0) {
		kq_aio_withdraw(*place);
		kq_aio_remove(place);
		place = kq_aio_link_of(request->control);
	}
	if (rc == 0 && xpoll_aio_submit(kq->queue, &request->aio) < 0)
		rc = -errno;
	if (rc == 0) {
		*place = request;
		atomic_fetch_add(&kq->aio_requests, 1);
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
	rc = kq_aio_lock_and_begin(kq, request);
	if (rc < 0)
		free(request);
	return rc;
}

int64_t kq_aio_error(const struct aiocb *control)
{
	struct kq_request *request;
	int64_t result = 0;
	int saved = errno;

	pthread_mutex_lock(&kq_aio.lock);
	request = *kq_aio_link_of(control);
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
	place = kq_aio_link_of(control);
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

/* One call of kq_aio_cancel. */
struct kq_cancel {
	int fd;
	const struct aiocb *control; /* the request to cancel; NULL: all requests of fd */
	bool found;                  /* such a request exists */
	int rc;                      /* result of aio_cancel(2) */
};

int kq_aio_worse(int one, int other)
{
	if (one == -1 || other == -1)
		return -1;
	if (one == AIO_NOTCANCELED || other == AIO_NOTCANCELED)
		return AIO_NOTCANCELED;
	return one == AIO_CANCELED ? one : other;
}

/* Returns true if `cancel` applies to this request: by its control, or else by its fd. */
static bool kq_aio_matches(const struct kq_request *request, const struct kq_cancel *cancel)
{
	return cancel->control ? request->control == cancel->control
		: request->aio.fd == cancel->fd;
}

/* For kq_aio_each: cancel the request if kq_aio_matches and it is in progress. */
static void kq_aio_cancel_one(struct kq_request *request, void *context)
{
	struct kq_cancel *cancel = context;

	if (!kq_aio_matches(request, cancel))
		return;
	cancel->found = true;
	request->is_cancel_requested = kq_aio_result(request) == -EINPROGRESS;
	if (request->is_cancel_requested && request->kq)
		(void)xpoll_aio_cancel(request->kq->queue, &request->aio);
}

/*
 * For kq_aio_each: combine the outcome of a cancelled request (cancelled, completed, or still in
 * progress) into cancel->rc.
 */
static void kq_aio_check_one(struct kq_request *request, void *context)
{
	struct kq_cancel *cancel = context;
	int64_t result;

	if (!kq_aio_matches(request, cancel) || !request->is_cancel_requested)
		return;
	result = kq_aio_result(request);
	cancel->rc = kq_aio_worse(cancel->rc,
		result == -EINPROGRESS ? AIO_NOTCANCELED
		: result == -ECANCELED ? AIO_CANCELED : AIO_ALLDONE);
}

/* Sleep.  This is no cancellation point, and a signal may end the sleep early. */
static void kq_aio_pause(int64_t pause_ns)
{
	const struct timespec pause = {0, (long)pause_ns};
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)ppoll(NULL, 0, &pause, NULL);
	pthread_setcancelstate(state, NULL);
}

/*
 * The kernel may complete a cancelled request later, with the data or with ECANCELED; only then the
 * result of aio_cancel(2) is known.  So check repeatedly, with sleeps in between, until the
 * requests have completed.
 */
int kq_aio_cancel(int fd, const struct aiocb *control, bool *found)
{
	struct kq_cancel cancel = {.fd = fd, .control = control};
	int64_t pause_ns = KQ_CANCEL_FIRST_NS;

	kq_aio_each(kq_aio_cancel_one, &cancel);
	for (;;) {
		cancel.rc = AIO_ALLDONE;
		kq_aio_each(kq_aio_check_one, &cancel);
		if (cancel.rc != AIO_NOTCANCELED)
			break;
		kq_aio_pause(pause_ns);
		if (pause_ns < KQ_CANCEL_MOST_NS)
			pause_ns *= 2;
	}
	*found = control && cancel.found;
	return cancel.rc;
}
