/*
 * A kqueue: an xpoll queue behind a descriptor of the program's.
 *
 * Tags: [I] immutable while it lives; [t] guarded by the lock of the table; [a]
 * atomic; [x] guarded by `extras`.  docs/internals/drop-ins.md has the rest.
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

/* The `ext` of a registration, for which a queue of xpoll has no place. */
struct kq_extra {
	uint64_t ident;
	int16_t filter;
	uint64_t ext[4];
};

struct aiocb;

struct kq {
	atomic_int refs;     /* [a] calls in it, and one while it has numbers */
	struct xpoll *queue; /* [I] */
	int watch_fd;        /* [I] xpoll_fd's: all its numbers are this file */
	uint64_t serial;     /* [I] never used again */
	int numbers;         /* [t] known descriptors */
	struct kq *next;     /* [t] of all, or of those that are free */

	/* Registrations that need more than xpoll does, by number of them. */
	atomic_int special;      /* [a] 0: an event can be handed out as it is */
	atomic_int requests;     /* [a] those of asynchronous I/O */
	atomic_uint_least64_t signals; /* [a] observed ones, a bit each */
	atomic_uint_least64_t renewed; /* [a] kq_signals_seen() when they were renewed */
	pthread_mutex_t extras;
	int *procdescs;          /* [x] process descriptors */
	int procdescs_len;       /* [x] */
	struct kq_extra *exts;   /* [x] */
	int exts_len;            /* [x] */
	int exts_cap;            /* [x] */
};

/* numbers.c ------------------------------------------------------------------ */

/* Whose number is it?  NULL: no queue's.  Without looking at the kernel. */
const struct kq *kq_of_number(int fd);
/* A pipe, and no FIFO?  Of a watched number, which is asked once. */
bool kq_is_pipe(int fd);

/* table.c: the queues behind numbers ------------------------------------------ */

/*
 * The queue of this number, held until kq_drop; NULL: none, errno EBADF.  Keeps
 * errno otherwise.
 */
struct kq *kq_hold(int fd);
void kq_drop(struct kq *kq);

/* Note a new queue under a new number of its own; the number, or -errno. */
int kq_publish(struct kq *kq);
/*
 * Before and after a number is closed.  begin: whose number it was; NULL: no queue's,
 * and end is not to be called.
 */
struct kq *kq_close_begin(int fd);
void kq_close_end(struct kq *kq);

/* info.c --------------------------------------------------------------------- */

/* Read what /proc has about a number into text; -1: it has nothing. */
int kq_read_info(int fd, char *text, size_t size);
/* The serial that the mark has in this number's file; 0: it has none. */
uint64_t kq_read_serial(int fd, int mark_fd);

/* queue.c: their life --------------------------------------------------------- */

/* A new one, held by the caller alone; 0 or -errno. */
int kq_begin(struct kq **begun);
/* A struct kq is never freed, only used again: kq_hold may look at it late. */
void kq_end(struct kq *kq);

/* change.c ------------------------------------------------------------------- */

/* The change for xpoll; false: only kq_change can do it. */
bool kq_translate(struct kq *kq, const struct kevent *change,
                  struct xpoll_event *record);
/* Make one change; 0 or a negative errno. */
int kq_change(struct kq *kq, const struct kevent *change);
/* Returns true if the ident and filter of this change are registered. */
bool kq_is_registered(struct kq *kq, const struct kevent *change);

/* deliver.c ------------------------------------------------------------------ */

/*
 * Complete an event of xpoll as FreeBSD reports it: at an end, and with the special
 * registrations of the queue.  Returns false if the program must not get it.
 */
bool kq_deliver(struct kq *kq, struct kevent *event);

/* aio.c: requests whose end is an event --------------------------------------- */

/*
 * Rewrites an event of a request as EVFILT_AIO.  Returns false if the program must not get the
 * event, because the request or its registration is gone.
 */
bool kq_aio_event(struct kq *kq, struct kevent *event);
int kq_aio_change(struct kq *kq, const struct kevent *change);
/* Before and after xpoll_destroy, which waits for requests in flight. */
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

/* special.c: what goes with a registration beyond xpoll's -------------------- */

/* flags: those of READ, for xpoll. */
int kq_procdesc_change(struct kq *kq, const struct kevent *change, unsigned flags);
/* READ is about to be added: of a process descriptor, -EINVAL. */
int kq_procdesc_yield(struct kq *kq, uint64_t ident);
/* READ of a process descriptor is made into what it was asked for. */
void kq_procdesc_event(struct kq *kq, struct kevent *event);
extern atomic_uint_least64_t kq_signals_ever; /* [a] observed by any queue */
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

/* real.c: the C library's functions, not ours --------------------------------- */

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
	bool seen; /* the program's close is ours */
};
extern struct kq_real kq_real;

/* sigaction(2), and not front.c's, if that is there. */
int kq_sigaction(int number, const struct sigaction *action,
                 struct sigaction *before);

/*
 * Identifies the calling thread and the changes of signals that front.c has seen and could not
 * apply to the observation: while it stays the same, nothing has to be observed again.
 * Returns 0 where changes are not seen.
 */
uint64_t kq_signals_seen(void);
/* An observation that no thread has renewed yet: kq_signals_seen has another value from now on. */
void kq_signals_changed(void);

/* A number that only our own test of close() has. */
#define KQ_PROBE_FD (INT_MIN + 4711)

#endif
