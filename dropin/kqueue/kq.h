/*
 * A kqueue (struct kq) is an xpoll queue that the program reaches by a descriptor.
 *
 * Tags of members: [I] immutable from kq_publish to kq_end; [t] guarded by the lock of table.c; [a]
 * atomic; [x] guarded by `extras_lock`.  docs/internals/drop-ins.md describes the drop-in.
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
#include "common/pool.h"
#include "common/real.h"

/* The `ext` fields of the registration with this ident and filter: xpoll cannot store them. */
struct kq_extra {
	uint64_t ident;
	int16_t filter;
	uint64_t ext[4];
};

struct aiocb;

/* A kqueue. */
struct kq {
	struct pool_node free; /* in kq_pool, once the queue has ended */
	/*
	 * [a] number of calls that use the queue, plus 1 while a descriptor refers to it; 0: ended
	 */
	atomic_int refs;
	struct xpoll *queue; /* [I] */
	int queue_fd;        /* [I] from xpoll_fd; the program's descriptors duplicate this one */
	/* [I] identifies the queue; never used again for another one: see kq_mark in table.c */
	uint64_t serial;
	int descriptors;     /* [t] number of known descriptors that refer to the queue */
	struct kq *next;     /* [t] next queue in kq_table.all */

	/*
	 * State that xpoll's registrations do not hold; `extras_len`, `aio_requests` and `signals`
	 * are 0 if there is none.
	 */
	atomic_int extras_len;   /* [a] procdescs_len plus exts_len */
	atomic_int aio_requests; /* [a] number of requests of asynchronous I/O */
	atomic_uint_least64_t signals; /* [a] a bit for each signal that is registered */
	/* [a] value of kq_signals_stamp() when kq_signals_renew last registered the signals */
	atomic_uint_least64_t renewed_stamp;
	pthread_mutex_t extras_lock; /* guards the members with [x] */
	int *procdescs;              /* [x] descriptors with an EVFILT_PROCDESC registration */
	/* [x] number of elements of procdescs in use */
	int procdescs_len;
	struct kq_extra *exts;   /* [x] the registrations with ext fields that are not 0 */
	int exts_len;            /* [x] used elements of exts */
	int exts_cap;            /* [x] number of exts that fit in the allocated memory */
};

/* numbers.c: what a descriptor refers to --------------------------------------- */

/* Returns the queue recorded for fd, or NULL, by no system call.  The queue is not held. */
const struct kq *kq_of_fd(int fd);
/*
 * Returns true if fd is a pipe and not a FIFO, which has a name.  For a descriptor that was passed
 * to number_mark_registered (common/numbers.h) the result is cached until fd is closed.
 */
bool kq_is_pipe(int fd);

/* table.c: the queues that descriptors refer to ------------------------------- */

/*
 * Returns the queue that fd refers to, and keeps it from ending until kq_drop is called.  Returns
 * NULL with EBADF if fd is no queue; otherwise errno is unchanged.
 */
struct kq *kq_hold(int fd);
void kq_drop(struct kq *kq);

/* Make the program's first descriptor of a new queue.  Returns the descriptor, or -errno. */
int kq_publish(struct kq *kq);
/*
 * kq_close_begin, called before fd is closed, drops the registrations of fd in all queues, and
 * returns the queue that fd refers to.  If the result is not NULL, the caller calls kq_close_end
 * after the close, which ends the queue if fd was its last descriptor.  In a child of vfork(2),
 * which has its own descriptors, kq_close_begin does nothing and returns NULL.  At the start real.c
 * closes KQ_PROBE_FD: if that close comes here, so do the program's closes, and
 * kq_real.sees_closes is set.
 */
struct kq *kq_close_begin(int fd);
void kq_close_end(struct kq *kq);

/* info.c --------------------------------------------------------------------- */

/* Read /proc/self/fdinfo of fd into text, as a string.  Returns 0; -1 if that fails. */
int kq_read_info(int fd, char *text, size_t size);
/*
 * Returns the serial of the queue that fd refers to: the data of the entry for mark_fd in the
 * queue's epoll instance (kq_mark in table.c), as /proc shows it; 0: there is no such entry.  The
 * instance is that of xpoll_fd, which has a few entries however many registrations there are.
 */
uint64_t kq_read_serial(int fd, int mark_fd);

/* queue.c: making and ending queues ------------------------------------------- */

/* Make a queue with one reference, for a descriptor.  Returns 0 or -errno. */
int kq_begin(struct kq **begun);
/*
 * End a queue that has no reference.  The memory of struct kq is reused for later queues and never
 * freed, because another thread in kq_hold may still read `refs`.
 */
void kq_end(struct kq *kq);

/* change.c ------------------------------------------------------------------- */

/* Translate a change into one record for xpoll.  Returns false if only kq_change can apply it. */
bool kq_try_translate(struct kq *kq, const struct kevent *change,
                      struct xpoll_event *record);
/* Apply one change of any kind, in several steps.  Returns 0 or a negative errno value. */
int kq_change(struct kq *kq, const struct kevent *change);
/* Returns true if the ident and filter of this change are registered. */
bool kq_is_registered(struct kq *kq, const struct kevent *change);

/* deliver.c ------------------------------------------------------------------ */

/*
 * Make an event of xpoll like FreeBSD's: fill in fflags and data if it has EV_EOF, and turn an
 * event of a registration that stands for EVFILT_PROCDESC or EVFILT_AIO into one of that filter.
 * Returns false if the program must not get the event.
 */
bool kq_deliver(struct kq *kq, struct kevent *event);

/* aio.c: requests of asynchronous I/O, whose completion is an event ------------- */

/*
 * If the event is the completion of a request, turn it into an EVFILT_AIO event.  Returns false if
 * the program must not get the event: the request, or its registration, was removed meanwhile.
 */
bool kq_aio_deliver(struct kq *kq, struct kevent *event);
/* Apply a change of EVFILT_AIO: only EV_DELETE can succeed.  Returns 0 or -errno. */
int kq_aio_change(struct kq *kq, const struct kevent *change);
/*
 * Call before and after xpoll_destroy, which waits for the queue's requests in progress.  After
 * kq_aio_detach_all no function of aio.c uses the queue; after kq_aio_complete_all the program can
 * take the results of its requests by aio_return(2).
 */
void kq_aio_detach_all(struct kq *kq);
void kq_aio_complete_all(struct kq *kq);
enum kq_fork { KQ_FORK_PREPARE, KQ_FORK_PARENT, KQ_FORK_CHILD };
/* Called in the three handlers of pthread_atfork(3); in the child, frees the parent's requests. */
void kq_aio_fork(enum kq_fork when);

/* Begin a request of kq; op is XPOLL_AIO_READ and so on.  Returns 0 or a negative errno value. */
int kq_aio_begin(struct kq *kq, struct aiocb *control, int op);
/*
 * Like aio_error(3): returns 0 or a negative errno value if the request has completed; -EINPROGRESS
 * if not; 1 if control is no request of a kqueue.
 */
int64_t kq_aio_error(const struct aiocb *control);
/*
 * Like aio_return(3): remove a completed request, and return its result, the number of bytes or a
 * negative errno value.  -EINPROGRESS: the request has not completed; or *found is false, and
 * control is no request of a kqueue.
 */
int64_t kq_aio_take(const struct aiocb *control, bool *found);
/*
 * Like aio_cancel(3), but only for requests of kqueues, and returns after these requests have
 * completed.  Sets *found to true if control is such a request, and to false if control is NULL.
 */
int kq_aio_cancel(int fd, const struct aiocb *control, bool *found);
/*
 * Returns the worse of two results of aio_cancel(3).  From the worst to the best: -1,
 * AIO_NOTCANCELED, AIO_CANCELED, AIO_ALLDONE.
 */
int kq_aio_worse(int one, int other);

/* suspend.c: blocks signals, except in the sleeps of a call ---------------------- */

/*
 * Block all signals, and store the previous mask in *mask, which the caller applies in its sleeps
 * only: then a signal between two sleeps interrupts the next one.
 */
void kq_signals_block(sigset_t *mask);
/*
 * Restore the mask that kq_signals_block has stored (a sigset_t); also a handler for
 * pthread_cleanup_push.
 */
void kq_signals_restore(void *mask);

/* special.c: state of registrations that xpoll does not keep ----------------- */

/*
 * Apply a change of EVFILT_PROCDESC, as a change of READ of the pidfd with these xpoll flags.
 * Returns 0 or a negative errno value.
 */
int kq_procdesc_apply(struct kq *kq, const struct kevent *change, unsigned flags);
/*
 * Call before the program adds READ to a descriptor.  Returns -EINVAL if the descriptor has an
 * EVFILT_PROCDESC registration, for which this library uses READ; otherwise 0, and removes such a
 * registration's record if fd is no process descriptor any more.
 */
int kq_procdesc_check_read(struct kq *kq, uint64_t ident);
/* Turn a READ event into an EVFILT_PROCDESC event if its fd has such a registration. */
void kq_procdesc_event(struct kq *kq, struct kevent *event);
/* [a] a bit for each signal that was the ident of an EVFILT_SIGNAL change of any queue */
extern atomic_uint_least64_t kq_signals_ever;
/* Record that the queue has a registration of this signal, or has none any more. */
void kq_signals_set_present(struct kq *kq, int number, bool there);
/*
 * Register the queue's signals with xpoll again, because xpoll reads a signal's action and the
 * calling thread's mask only when the signal is registered.  Does nothing if neither has changed
 * since the last call, and the same thread made that one (kq_signals_stamp).
 */
void kq_signals_renew(struct kq *kq);
/* Returns true if an `ext` field of the change is not 0. */
bool kq_has_ext(const struct kevent *change);
/* Store or remove the `ext` fields as an EV_ADD or EV_DELETE says.  Returns 0 or -ENOMEM. */
int kq_ext_store(struct kq *kq, const struct kevent *change);
/* Copy the stored `ext` fields of the event's registration, if any, to the event. */
void kq_ext_fill(struct kq *kq, struct kevent *event);
/* Free and reset the state that special.c keeps for a queue, which has ended. */
void kq_extras_free(struct kq *kq);

/* real.c: the C library's functions -------------------------------------------- */

/* Each member is the C library's function of that name, or NULL if the C library has none. */
struct kq_real {
	int (*aio_read)(struct aiocb *);
	int (*aio_write)(struct aiocb *);
	int (*aio_fsync)(int, struct aiocb *);
	int (*aio_error)(const struct aiocb *);
	ssize_t (*aio_return)(struct aiocb *);
	int (*aio_cancel)(int, struct aiocb *);
	int (*aio_suspend)(const struct aiocb *const *, int,
	                   const struct timespec *);
	__typeof__(&lio_listio) lio_listio; /* The type differs among C libraries. */
	bool sees_closes; /* the program's calls of close(2) reach this library: see real.c */
};
extern struct kq_real kq_real;

/* Calls the C library's sigaction(2), even if front.c replaces that name for the program. */
int kq_sigaction(int number, const struct sigaction *action,
                 struct sigaction *before);

/*
 * Returns a stamp that differs from thread to thread and after each change of an action or a mask
 * that front.c has seen and not passed to xpoll.  While the stamp stays the same, kq_signals_renew
 * has nothing to do.  Returns 0 if front.c does not see all such calls.
 */
uint64_t kq_signals_stamp(void);
/* Make kq_signals_stamp return another number in all threads. */
void kq_signals_changed(void);

/* An invalid descriptor, closed by real.c to find out whether close(2) reaches this library. */
#define KQ_PROBE_FD (INT_MIN + 4711)

#endif
