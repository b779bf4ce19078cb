/*
 * A kqueue: an xpoll queue that the program reaches by a descriptor.
 *
 * Tags: [I] immutable while it exists; [t] guarded by the lock of the table; [a] atomic; [x]
 * guarded by `extras`.  docs/internals/drop-ins.md describes the drop-in.
 */
#ifndef KQ_H
#define KQ_H

#include <aio.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/event.h>
#include <xpoll.h>

#include "base/compiler.h"
#include "base/result.h"
#include "base/threads.h"
#include "common/real.h"

/* The `ext` fields of a registration, which xpoll cannot store. */
struct kq_extra {
	uint64_t ident;
	int16_t filter;
	uint64_t ext[4];
};

struct aiocb;

struct kq {
	atomic_int refs;     /* [a] number of calls in it, plus 1 while a descriptor refers to it */
	struct xpoll *queue; /* [I] */
	int watch_fd;        /* [I] from xpoll_fd; the program's descriptors are duplicates of it */
	uint64_t serial;     /* [I] identifies the queue; never reused */
	int numbers;         /* [t] number of known descriptors that refer to it */
	struct kq *next;     /* [t] next of all queues, or of the free ones */

	/* Numbers of registrations that xpoll alone cannot implement. */
	atomic_int special;      /* [a] 0: events of xpoll are returned unchanged */
	atomic_int requests;     /* [a] requests of asynchronous I/O */
	atomic_uint_least64_t signals; /* [a] bit set of the observed signals */
	/* [a] kq_signals_seen() when they were last observed again */
	atomic_uint_least64_t renewed;
	pthread_mutex_t extras;
	int *procdescs;          /* [x] process descriptors */
	int procdescs_len;       /* [x] */
	struct kq_extra *exts;   /* [x] */
	int exts_len;            /* [x] */
	int exts_cap;            /* [x] */
};

/* numbers.c ------------------------------------------------------------------ */

/* Returns the queue that fd refers to; NULL: none is known.  Makes no system call. */
const struct kq *kq_of_number(int fd);
/* Returns true if fd, which is watched, is a pipe and not a FIFO.  Queried once and cached. */
bool kq_is_pipe(int fd);

/* table.c: the queues that descriptors refer to ------------------------------- */

/*
 * Returns the queue that fd refers to, and holds it until kq_drop; NULL and EBADF: none.  Preserves
 * errno on success.
 */
struct kq *kq_hold(int fd);
void kq_drop(struct kq *kq);

/* Make a descriptor for a new queue.  Returns it, or -errno. */
int kq_publish(struct kq *kq);
/*
 * Call before and after a descriptor is closed.  begin returns the queue that it refers to; NULL:
 * none, and end must not be called.
 */
struct kq *kq_close_begin(int fd);
void kq_close_end(struct kq *kq);

/* info.c --------------------------------------------------------------------- */

/* Read /proc/self/fdinfo of fd into text.  Returns -1 if there is none. */
int kq_read_info(int fd, char *text, size_t size);
/* Returns the serial that the mark descriptor has in this epoll instance; 0: none. */
uint64_t kq_read_serial(int fd, int mark_fd);

/* queue.c: making and ending queues ------------------------------------------- */

/* Make a queue, which only the caller holds.  Returns 0 or -errno. */
int kq_begin(struct kq **begun);
/* End a queue.  Its memory is never freed, only reused, because kq_hold may read it late. */
void kq_end(struct kq *kq);

/* change.c ------------------------------------------------------------------- */

/* Translate a change for xpoll.  Returns false if only kq_change can apply it. */
bool kq_translate(struct kq *kq, const struct kevent *change,
                  struct xpoll_event *record);
/* Apply one change.  Returns 0 or a negative errno value. */
int kq_change(struct kq *kq, const struct kevent *change);
/* Returns true if the ident and filter of this change are registered. */
bool kq_is_registered(struct kq *kq, const struct kevent *change);

/* deliver.c ------------------------------------------------------------------ */

/*
 * Complete an event of xpoll like FreeBSD: ends of files, and registrations that xpoll alone cannot
 * implement.  Returns false if the program must not get it.
 */
bool kq_deliver(struct kq *kq, struct kevent *event);

/* aio.c: requests whose completion is an event --------------------------------- */

/*
 * Rewrites an event of a request as EVFILT_AIO.  Returns false if the program must not get the
 * event, because the request or its registration is gone.
 */
bool kq_aio_event(struct kq *kq, struct kevent *event);
int kq_aio_change(struct kq *kq, const struct kevent *change);
/* Call before and after xpoll_destroy, which waits for requests in progress. */
void kq_aio_end_begin(struct kq *kq);
void kq_aio_end(struct kq *kq);
enum kq_fork { KQ_FORK_PREPARE, KQ_FORK_PARENT, KQ_FORK_CHILD };
void kq_aio_fork(enum kq_fork when);

/* Begin a request of kq; op is XPOLL_AIO_READ and so on.  Returns 0 or a negative errno. */
int kq_aio_begin(struct kq *kq, struct aiocb *control, int op);
/*
 * Returns how a request has completed: 0 or a negative errno; -EINPROGRESS: it has not; 1: control
 * is no request of a kqueue.
 */
int64_t kq_aio_ask(const struct aiocb *control);
/*
 * Like aio_return(3): returns the result of a completed request, and removes the request.
 * -EINPROGRESS: it has not completed, or control is no request of a kqueue; then *found is
 * false.
 */
int64_t kq_aio_take(const struct aiocb *control, bool *found);
/*
 * Like aio_cancel(3), but only for requests of kqueues, and returns after they have completed.
 * *found: control is such a request; false if control is NULL.
 */
int kq_aio_cancel(int fd, const struct aiocb *control, bool *found);
/* Returns the worse result of aio_cancel(3): -1, AIO_NOTCANCELED, AIO_CANCELED, AIO_ALLDONE. */
int kq_aio_worse(int one, int other);

/* suspend.c: signals between two sleeps --------------------------------------- */

void kq_signals_block(sigset_t *mask);
void kq_signals_restore(void *mask);

/* special.c: state of registrations that xpoll does not keep ----------------- */

/* Apply a change of EVFILT_PROCDESC.  flags: those of READ, for xpoll. */
int kq_procdesc_change(struct kq *kq, const struct kevent *change, unsigned flags);
/* Call before READ is added to a descriptor.  Returns -EINVAL if it is a process descriptor. */
int kq_procdesc_yield(struct kq *kq, uint64_t ident);
/* Turn a READ event of a process descriptor into the EVFILT_PROCDESC event. */
void kq_procdesc_event(struct kq *kq, struct kevent *event);
/* [a] bit set of signals that any queue has observed */
extern atomic_uint_least64_t kq_signals_ever;
void kq_signals_note(struct kq *kq, int number, bool there);
/*
 * Observe again the signals whose action or mask may have changed since the calling thread's
 * last call.
 */
void kq_signals_renew(struct kq *kq);
bool kq_has_ext(const struct kevent *change);
int kq_ext_note(struct kq *kq, const struct kevent *change);
void kq_ext_fill(struct kq *kq, struct kevent *event);
void kq_special_free(struct kq *kq);

/* real.c: the C library's functions -------------------------------------------- */

struct kq_real {
	int (*aio_read)(struct aiocb *);
	int (*aio_write)(struct aiocb *);
	int (*aio_fsync)(int, struct aiocb *);
	int (*aio_error)(const struct aiocb *);
	ssize_t (*aio_return)(struct aiocb *);
	int (*aio_cancel)(int, struct aiocb *);
	int (*aio_suspend)(const struct aiocb *const *, int,
	                   const struct timespec *);
	__typeof__(&lio_listio) lio_listio; /* <aio.h> differs among C libraries. */
	bool seen; /* the program's close(2) is ours */
};
extern struct kq_real kq_real;

/* The C library's sigaction(2), even if front.c replaces it. */
int kq_sigaction(int number, const struct sigaction *action,
                 struct sigaction *before);

/*
 * Identifies the calling thread and the changes of signals that front.c has seen and could not
 * apply to the observation: while it stays the same, nothing has to be observed again.
 * Returns 0 where changes are not seen.
 */
uint64_t kq_signals_seen(void);
/* Change the value of kq_signals_seen for all threads, because of a new observation. */
void kq_signals_changed(void);

/* A descriptor that only our own test of close(2) uses. */
#define KQ_PROBE_FD (INT_MIN + 4711)

#endif
