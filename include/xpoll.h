/*
 * xpoll: one event queue for every kernel.
 *
 * A queue waits for descriptors, timers, signals, processes, file changes,
 * asynchronous I/O and the program's own events in one call.  There are two
 * levels that share their registrations:
 *
 *   the poll-like level   xpoll_ctl, xpoll_wait, xpoll_revents: POLL* bits,
 *                         descriptors only, one waiting thread
 *   the event level       xpoll_event: everything, many threads, changes and
 *                         events in one call, nanosecond timeouts
 *
 * Conventions, unless a function says otherwise: a result >= 0 or a pointer is
 * success; -1 or NULL is failure with errno set; every function may be called
 * from any thread at any time; none but xpoll_wake, xpoll_signal_changed and
 * xpoll_sigaction is async-signal-safe; only the waiting calls are cancellation points.  The
 * library never prints, exits or aborts, and changes no process-wide state but
 * the actions of signals that are registered.  Unknown bits are EINVAL.
 *
 * The manual pages (start at xpoll(3)) are the reference; this file is the
 * contract in short.
 */
#ifndef XPOLL_H
#define XPOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#include <winsock2.h>
typedef SOCKET xpoll_fd_t;
#ifndef POLLRDHUP
#define POLLRDHUP 0x2000 /* Windows has no such bit */
#endif
#else
#include <poll.h>
typedef int xpoll_fd_t;
#endif

#ifdef __cplusplus
#ifdef __GNUC__ /* xpoll_event is a structure and a function, as stat is */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
extern "C" {
#endif

#if defined(XPOLL_API)
/* Whoever compiles the library into something else says how it is seen. */
#elif defined(__GNUC__) && !defined(_WIN32)
#define XPOLL_API __attribute__((visibility("default")))
#else
#define XPOLL_API
#endif

/* major << 16 | minor << 8 | patch */
#define XPOLL_VERSION 0x010000u

/* 1. The queue ---------------------------------------------------------- */

struct xpoll; /* opaque */

struct xpoll_options {
	size_t size;         /* sizeof(struct xpoll_options) */
	const char *backend; /* NULL: $XPOLL_BACKEND, else the best one here */
	uint32_t flags;      /* XPOLL_TELL_MODES and the others below */
	int size_hint;       /* descriptors expected; a hint, never a limit */
};

/* Events carry the modes of their registration: CLEAR, ONESHOT, DISPATCH. */
#define XPOLL_TELL_MODES 0x00000001u
/*
 * VNODE reports each name: DELETE when one is removed, LINK when one is made, and
 * ATTRIB for neither.  WRITE and EXTEND come together, if one was asked for.
 */
#define XPOLL_VNODE_AS_BSD 0x00000002u
/*
 * Each wait returns all that is ready, as far as the array has room.  Otherwise one
 * that delivers descriptors which were enabled since they were last reported may
 * leave what it had to ask the kernel for to a later wait, within a clock tick or
 * 16 waits.
 */
#define XPOLL_ALL_READY 0x00000004u

/*
 * Make a queue.  xpoll_create(size_hint) is xpoll_open with that hint.
 *
 * options  NULL for defaults; copied, not kept.
 *
 * Returns the queue, to be released with xpoll_destroy; or NULL with errno
 * EINVAL (size_hint < 1 in xpoll_create, or < 0 in options; size 0; unknown
 * flags), E2BIG (a larger struct with a non-zero tail), ENOTSUP (no such back
 * end, or not usable here), EMFILE, ENFILE, ENOSPC, ENOMEM.
 */
XPOLL_API struct xpoll *xpoll_create(int size_hint);
XPOLL_API struct xpoll *xpoll_open(const struct xpoll_options *options);

/*
 * Release a queue.  Registered descriptors stay open.  Threads that wait on it
 * return -1/EBADF; the call returns when they have left.  Calls that start
 * after it are undefined.  NULL is fine.  In a forked child it frees the
 * child's memory and touches nothing of the parent's.
 */
XPOLL_API void xpoll_destroy(struct xpoll *queue);

/* 2. Flags and filters: FreeBSD's numbers -------------------------------- */

#define XPOLL_ADD       0x0001 /* create or modify; never duplicates */
#define XPOLL_DELETE    0x0002
#define XPOLL_ENABLE    0x0004
#define XPOLL_DISABLE   0x0008 /* silent until ENABLE */
#define XPOLL_ONESHOT   0x0010 /* deliver once, then delete */
#define XPOLL_CLEAR     0x0020 /* edge: once per new activity */
#define XPOLL_RECEIPT   0x0040 /* return the status of this change */
#define XPOLL_DISPATCH  0x0080 /* deliver once, then disable */
#define XPOLL_KEEPUDATA 0x0200 /* ADD leaves the udata of an existing one */
#define XPOLL_SETUDATA  0x0400 /* any other change writes the udata, too */
#define XPOLL_ERROR     0x4000 /* out: data is the errno of a change, or 0 */
#define XPOLL_EOF       0x8000 /* out: end of file, or the peer is gone */

#define XPOLL_FILT_READ   (-1)  /* ident: descriptor */
#define XPOLL_FILT_WRITE  (-2)  /* ident: descriptor */
#define XPOLL_FILT_AIO    (-3)  /* ident: address of a struct xpoll_aio */
#define XPOLL_FILT_VNODE  (-4)  /* ident: descriptor */
#define XPOLL_FILT_PROC   (-5)  /* ident: process id */
#define XPOLL_FILT_SIGNAL (-6)  /* ident: signal number */
#define XPOLL_FILT_TIMER  (-7)  /* ident: any number */
#define XPOLL_FILT_USER   (-11) /* ident: any number */
#define XPOLL_FILT_EMPTY  (-13) /* ident: descriptor */
#define XPOLL_FILT_EXCEPT (-15) /* ident: descriptor */

/* READ, WRITE */
#define XPOLL_NOTE_LOWAT     0x00000001u /* ready from `data` >= 1 bytes on */
#define XPOLL_NOTE_COUNT     0x00010000u /* fill `data` with a byte count */
#define XPOLL_NOTE_SOERR     0x00020000u /* EOF: take SO_ERROR into fflags */
#define XPOLL_NOTE_EXCLUSIVE 0x00040000u /* shared listener: wake few; a hint */
/* EXCEPT */
#define XPOLL_NOTE_OOB 0x00000002u
/* USER */
#define XPOLL_NOTE_FFNOP      0x00000000u
#define XPOLL_NOTE_FFAND      0x40000000u
#define XPOLL_NOTE_FFOR       0x80000000u
#define XPOLL_NOTE_FFCOPY     0xc0000000u
#define XPOLL_NOTE_FFCTRLMASK 0xc0000000u
#define XPOLL_NOTE_FFLAGSMASK 0x00ffffffu
#define XPOLL_NOTE_TRIGGER    0x01000000u
/* TIMER: unit of `data`; the default is milliseconds */
#define XPOLL_NOTE_SECONDS   0x00000001u
#define XPOLL_NOTE_MSECONDS  0x00000002u
#define XPOLL_NOTE_USECONDS  0x00000004u
#define XPOLL_NOTE_NSECONDS  0x00000008u
#define XPOLL_NOTE_ABSTIME   0x00000010u /* on the real-time clock, once */
#define XPOLL_NOTE_MONOTONIC 0x00000020u /* ABSTIME on the monotonic clock */
/* PROC */
#define XPOLL_NOTE_EXIT           0x80000000u
#define XPOLL_NOTE_FORK           0x40000000u
#define XPOLL_NOTE_EXEC           0x20000000u
#define XPOLL_NOTE_TRACK          0x00000001u /* follow children */
#define XPOLL_NOTE_TRACKERR       0x00000002u /* out: a child was missed */
#define XPOLL_NOTE_CHILD          0x00000004u /* out: data is the parent */
#define XPOLL_NOTE_STATUS_UNKNOWN 0x00000008u /* out: data is no status */
/* VNODE */
#define XPOLL_NOTE_DELETE      0x00000001u
#define XPOLL_NOTE_WRITE       0x00000002u
#define XPOLL_NOTE_EXTEND      0x00000004u
#define XPOLL_NOTE_ATTRIB      0x00000008u
#define XPOLL_NOTE_LINK        0x00000010u
#define XPOLL_NOTE_RENAME      0x00000020u
#define XPOLL_NOTE_REVOKE      0x00000040u
#define XPOLL_NOTE_OPEN        0x00000080u
#define XPOLL_NOTE_CLOSE       0x00000100u /* closed, was not writable */
#define XPOLL_NOTE_CLOSE_WRITE 0x00000200u
#define XPOLL_NOTE_READ        0x00000400u
#define XPOLL_NOTE_TRUNCATE    0x00001000u

/* 3. The poll-like level ------------------------------------------------- */

/*
 * Change what is wanted of a descriptor.
 *
 * op      XPOLL_ADD, XPOLL_DELETE, XPOLL_ENABLE, XPOLL_DISABLE or
 *         XPOLL_ADD|XPOLL_DISABLE; with ADD optionally XPOLL_CLEAR,
 *         XPOLL_ONESHOT, XPOLL_DISPATCH
 * events  POLLIN, POLLOUT, POLLPRI, POLLRDHUP: the directions meant
 * data    stored by ADD for each named direction; else ignored
 *
 * ADD creates or modifies, and enables.  ENABLE and DISABLE want all named
 * directions to be registered; DELETE removes those that are.
 *
 * Errors: EINVAL (op, events), EBADF, ENOENT (not registered), ENOTSUP
 * (O_PATH), ENOMEM, ENOSPC, ELOOP.  A failed call changes nothing.
 */
XPOLL_API int xpoll_ctl(struct xpoll *queue, int op, int events,
                        xpoll_fd_t fd, void *data);

/*
 * Wait until a registered descriptor is ready.
 *
 * timeout_ms  < 0: for ever; 0: look only
 *
 * Returns an upper bound of the descriptors that xpoll_revents will hand out;
 * 0 on timeout or after xpoll_wake; -1 with errno EINTR, EBUSY (another thread
 * is in xpoll_wait), EBADF, ENOMEM, ENOSPC (the kernel's set was made again, and
 * not all found room in it; the next wait tries again).  Other kinds of events
 * neither end the wait nor are consumed by it.
 */
XPOLL_API int xpoll_wait(struct xpoll *queue, int timeout_ms);

/*
 * The next ready descriptor of the last xpoll_wait: its POLL* bits, as poll(2)
 * would have them; 0 at the end.  *datap (unless NULL) receives the data of
 * its first reported direction.  What was deleted or disabled since is left
 * out; what is not taken comes again with the next wait.
 */
XPOLL_API int xpoll_revents(struct xpoll *queue, void **datap);

/* 4. The event level ------------------------------------------------------ */

struct xpoll_event {
	uint64_t ident;  /* descriptor, pid, signal, id, or an address */
	int16_t filter;  /* XPOLL_FILT_... */
	uint16_t flags;  /* in: XPOLL_ADD ...; out: XPOLL_EOF, XPOLL_ERROR */
	uint32_t fflags; /* in, out: XPOLL_NOTE_...; with EOF: socket error */
	int64_t data;    /* filter-specific; with XPOLL_ERROR: errno or 0 */
	union {
		void *udata; /* yours, handed back untouched */
		uint64_t udata64;
	};
};

/*
 * Fill in a record; returns it.  Touches no queue.  A filter or flags that do
 * not fit into 16 bits make a record with filter 0, which is EINVAL as a change.
 */
XPOLL_API struct xpoll_event *xpoll_set(struct xpoll_event *event,
                                        uint64_t ident, int filter, int flags,
                                        uint32_t fflags, int64_t data,
                                        void *udata);

/*
 * Apply changes in order, then wait for events.
 *
 * changes, nchanges  what to change; may be NULL, 0
 * events, nevents    where events go; nevents 0 returns after the changes;
 *                    may be the same array as changes
 * timeout_ns         < 0: for ever; 0: look only
 *
 * Returns the number of records in events; 0 on timeout or after xpoll_wake.
 * A change that fails, or asks for it with XPOLL_RECEIPT, comes back with
 * XPOLL_ERROR and its errno (0: none) in data; then the call returns these
 * records at once.  A failed change stops no other.
 *
 * Errors: EINVAL (negative count, NULL array, fewer slots than receipts:
 * nothing was applied), EINTR, EBADF, ENOMEM and ENOSPC as xpoll_wait; or the
 * errno of the first failed change for which there was no slot (all others were
 * applied).
 */
XPOLL_API int xpoll_event(struct xpoll *queue,
                          const struct xpoll_event *changes, int nchanges,
                          struct xpoll_event *events, int nevents,
                          int64_t timeout_ns);

/*
 * The same; sigset (a const sigset_t *, may be NULL) is the signal mask while
 * waiting, set and restored as ppoll does.
 */
XPOLL_API int xpoll_event_mask(struct xpoll *queue,
                               const struct xpoll_event *changes, int nchanges,
                               struct xpoll_event *events, int nevents,
                               int64_t timeout_ns, const void *sigset);

/* 5. Asynchronous I/O ------------------------------------------------------ */

#define XPOLL_AIO_READ      1
#define XPOLL_AIO_WRITE     2
#define XPOLL_AIO_FSYNC     3
#define XPOLL_AIO_FDATASYNC 4

/*
 * One operation.  From xpoll_aio_submit until its event was returned the
 * structure and the buffer belong to the library.
 */
struct xpoll_aio {
	size_t size; /* sizeof(struct xpoll_aio) */
	int op;      /* XPOLL_AIO_... */
	xpoll_fd_t fd;
	void *buffer;
	size_t length;  /* bytes */
	int64_t offset; /* bytes from the start of the file */
	void *udata;    /* goes into the event */
	int64_t result; /* bytes done or -errno, once the event was returned */
	void *priv[2];  /* the library's */
};

/*
 * Start an operation on a regular file or block device (syncs: a directory,
 * too); it ends as one XPOLL_FILT_AIO event whose ident is the address of aio
 * and whose data is the result.  xpoll_destroy, xpoll_close_fd and
 * xpoll_forget_fd cancel what they meet and wait for its end.
 *
 * Errors: EINVAL, EBADF, ENOTSUP (another kind of file, or no asynchronous I/O
 * here), EISDIR, EBUSY (in flight), EAGAIN (no thread can be started), EMFILE,
 * ENFILE, ENOMEM.
 */
XPOLL_API int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio);

/*
 * Ask for an early end: its event arrives with -ECANCELED or with the result.
 * Errors: ENOENT (already returned, or never submitted).
 */
XPOLL_API int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio);

/* 6. Around it -------------------------------------------------------------- */

/*
 * Make one wait return 0: one that runs now, else the next one.  Several calls
 * before that wait returns count as one; events that are ready are returned
 * first.  Async-signal-safe; keeps errno.
 */
XPOLL_API int xpoll_wake(struct xpoll *queue);

/* Make every thread that waits now return 0.  Not sticky. */
XPOLL_API int xpoll_wake_all(struct xpoll *queue);

/*
 * A descriptor that is readable whenever an event is pending or due.  Watch it
 * with poll(2), epoll or another queue; never read or close it.  It may be
 * readable although there is no event, but never silent when there is one.  The
 * first call creates kernel objects.
 * Errors: ENOTSUP (back ends without a kernel queue), ELOOP (nested too deep),
 * EMFILE, ENFILE, ENOMEM.
 */
XPOLL_API int xpoll_fd(struct xpoll *queue);

/* Nanoseconds until the next timer is due (0: now); -1: no timer runs. */
XPOLL_API int64_t xpoll_next_timeout(struct xpoll *queue);

/*
 * Remove a descriptor from every queue of the process; xpoll_close_fd then
 * closes it.  Exact on every back end, also while duplicates are open.
 * xpoll_close_fd returns what close(2) returns; xpoll_forget_fd 0,
 * or -1/EBADF for a negative number.
 */
XPOLL_API int xpoll_close_fd(xpoll_fd_t fd);
XPOLL_API int xpoll_forget_fd(xpoll_fd_t fd);

/*
 * Observe a signal again in every queue that has registered it, after the
 * program has set the signal's action, which may have ended the observation.
 * XPOLL_ADD does so as well.
 * Async-signal-safe; keeps errno unless it fails.
 * Errors: EINVAL (no such signal), EBUSY (an action was set too often),
 * ENOTSUP (no signals here).
 */
XPOLL_API int xpoll_signal_changed(int number);

/*
 * sigaction(2) for a signal that may be registered: sets and returns the
 * program's own action, with the observation in front of it all the time.
 * Async-signal-safe; keeps errno unless it fails.
 * Errors: EINVAL (no such signal, or none that can be set), ENOTSUP.
 */
struct sigaction;
XPOLL_API int xpoll_sigaction(int number, const struct sigaction *action,
                              struct sigaction *before);

/*
 * The registration as it stands: flags has CLEAR, ONESHOT, DISPATCH, DISABLE
 * as they apply.  Errors: ENOENT, EINVAL (unknown filter, NULL).
 */
XPOLL_API int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter,
                           struct xpoll_event *registration);

/*
 * In a forked child, where a queue only answers EBADF: give it kernel objects
 * of its own with the same registrations.  Process registrations, AIO in
 * flight and pending events are dropped.  Errors: EINVAL (not in a forked
 * child), EBUSY (another thread of the parent was inside the queue when it
 * forked), EMFILE, ENFILE, ENOSPC, ENOMEM; then it can be tried again.
 */
XPOLL_API int xpoll_reinit(struct xpoll *queue);

/* The name of the queue's back end: "epoll", "poll" or another. */
XPOLL_API const char *xpoll_backend(const struct xpoll *queue);

/*
 * The back ends usable here, best first: up to cap names go to names (static
 * strings); returns how many there are.
 */
XPOLL_API int xpoll_backends(const char **names, int cap);

/*
 * 1 if the queue can register this filter with all of these fflags, else 0.
 * A queue of NULL asks for the default back end.
 */
XPOLL_API int xpoll_supports(const struct xpoll *queue, int filter,
                             uint32_t fflags);

/* Counters since the queue was made.  They only grow, but for `registered`. */
struct xpoll_stats {
	uint64_t waits;              /* calls that waited or looked for events */
	uint64_t events;             /* events returned */
	uint64_t wakes;              /* waits that xpoll_wake made return */
	uint64_t empty_returns;      /* waits that returned 0 */
	uint64_t changes;            /* changes asked for */
	uint64_t changes_free;       /* of these, without a system call */
	uint64_t change_errors;      /* of these, failed */
	uint64_t syscalls_wait;      /* system calls: epoll_wait, poll, ... */
	uint64_t syscalls_change;    /* epoll_ctl, ... */
	uint64_t syscalls_check;     /* poll(2) and others, to check readiness */
	uint64_t syscalls_wake;      /* to wake a waiting thread */
	uint64_t stale_dropped;      /* kernel events of dead registrations */
	uint64_t fruitless;          /* kernel events nobody wanted then */
	uint64_t rebuilds;           /* times the kernel's set was made again */
	uint64_t registered;         /* registrations now */
	uint64_t signals_unobserved; /* observed signals whose handler was lost */
};

/*
 * Copy the counters; size is sizeof(struct xpoll_stats) of the caller.
 * Errors: EINVAL (NULL, size 0).
 */
XPOLL_API int xpoll_stats(const struct xpoll *queue, struct xpoll_stats *stats,
                          size_t size);

/*
 * Put an event into words, "READ ident=5 data=12 EOF": as snprintf, at most
 * size bytes with the NUL; returns the full length.  Errors: EINVAL.
 */
XPOLL_API int xpoll_describe(const struct xpoll_event *event, char *buf,
                             size_t size);

/* XPOLL_VERSION of the library that runs. */
XPOLL_API unsigned xpoll_version(void);

#ifdef __cplusplus
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif

#endif
