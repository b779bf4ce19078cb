/*
 * xpoll: one event queue for every kernel.
 *
 * One call waits for descriptors, timers, signals, processes, file changes,
 * asynchronous I/O and the program's own events.  The interface has two levels,
 * which share their registrations:
 *
 *   the poll-like level   xpoll_ctl, xpoll_pwait: POLL* bits, descriptors only,
 *                         many threads; xpoll_wait, xpoll_revents: one thread
 *   the event level       xpoll_event: everything, many threads, changes and
 *                         events in one call, nanosecond timeouts
 *
 * Conventions, unless a function says otherwise:
 *
 *   - Success is a result >= 0 or a pointer.  Failure is -1 or NULL, with errno set.
 *   - Every function may be called from any thread at any time.
 *   - Only xpoll_wake, xpoll_signal_changed and xpoll_sigaction are
 *     async-signal-safe.  Only the calls that wait are cancellation points.
 *   - The library never prints, exits or aborts.  The only process-wide state
 *     that it changes is the action of each signal that is registered.
 *   - Unknown bits are rejected with EINVAL.
 *
 * This file summarizes the contract; the manual pages, from xpoll(3) on, are the
 * reference.
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
/* Defined by a build that embeds the library, which chooses the visibility. */
#elif defined(__GNUC__) && !defined(_WIN32)
#define XPOLL_API __attribute__((visibility("default")))
#else
#define XPOLL_API
#endif

/* major << 16 | minor << 8 | patch */
#define XPOLL_VERSION 0x010000u

/* 1.  The queue ---------------------------------------------------------- */

struct xpoll; /* opaque */

struct xpoll_options {
	size_t size;         /* sizeof(struct xpoll_options) */
	const char *backend; /* NULL: $XPOLL_BACKEND if set, else the best usable */
	uint32_t flags;      /* 0, or any of the five below */
	int size_hint;       /* descriptors expected; a hint, never a limit */
	uint32_t busy_poll_us; /* how long to poll network devices before a sleep; 0: not at all */
	uint32_t reserved;   /* 0 */
};

/* The flags of an event include its registration's CLEAR, ONESHOT and DISPATCH, as on FreeBSD. */
#define XPOLL_TELL_MODES 0x00000001u
/*
 * The VNODE filter reports as on FreeBSD: DELETE when any name of the file is
 * removed and LINK when one is made, without ATTRIB.  If WRITE, EXTEND and, for a
 * directory, LINK happen together, all of them are reported if one was requested.
 */
#define XPOLL_VNODE_AS_BSD 0x00000002u
/*
 * Each wait returns everything that is ready, if the array has room.  Without this flag a wait that
 * finds ready descriptors among those enabled since their last event may return these alone, to
 * save system calls; after a few milliseconds, or 15 such waits in a row, it checks all others.
 */
#define XPOLL_ALL_READY 0x00000004u
/* Count the time that threads sleep: idle_ns of xpoll_stats.  Reads a clock twice per sleep. */
#define XPOLL_COUNT_IDLE 0x00000008u
/* No wait fails with EINTR: after a signal handler has run, the wait goes on to its deadline. */
#define XPOLL_RESTART 0x00000010u

/*
 * Make a queue.  xpoll_create(size_hint) is xpoll_open with that hint.
 *
 * options  NULL for the defaults; copied, not kept.
 *
 * Returns the queue; release it with xpoll_destroy.
 * Errors: EINVAL (size_hint < 1 in xpoll_create, or < 0 in options; size too
 * small; unknown flags; busy_poll_us > INT32_MAX), E2BIG (the structure is larger
 * than the library's, and the part beyond is not zero), ENOTSUP (no such back end, or
 * not usable here; no busy polling here), EMFILE, ENFILE, ENOSPC, ENOMEM.
 */
XPOLL_API struct xpoll *xpoll_create(int size_hint);
XPOLL_API struct xpoll *xpoll_open(const struct xpoll_options *options);

/*
 * Release a queue.  Registered descriptors stay open.  Threads that wait on the
 * queue return -1 with EBADF, and xpoll_destroy returns when they have left.  No
 * later call may use the queue.  NULL is ignored.  In a forked child it frees
 * the child's memory; the parent is not affected.
 */
XPOLL_API void xpoll_destroy(struct xpoll *queue);

/* 2.  Flags and filters: FreeBSD's numbers -------------------------------- */

#define XPOLL_ADD       0x0001 /* create, or modify if it exists */
#define XPOLL_DELETE    0x0002
#define XPOLL_ENABLE    0x0004
#define XPOLL_DISABLE   0x0008 /* deliver nothing until ENABLE */
#define XPOLL_ONESHOT   0x0010 /* deliver once, then delete */
#define XPOLL_CLEAR     0x0020 /* edge: once per new activity */
#define XPOLL_RECEIPT   0x0040 /* return the status, even of success */
#define XPOLL_DISPATCH  0x0080 /* deliver once, then disable */
#define XPOLL_KEEPUDATA 0x0200 /* with ADD: keep the former udata */
#define XPOLL_SETUDATA  0x0400 /* also without ADD: store the udata */
#define XPOLL_WHOLE     0x0800 /* xpoll_ctl: ONESHOT, DISPATCH end all directions */
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
#define XPOLL_NOTE_LOWAT     0x00000001u /* ready at `data` bytes; at least 1 */
#define XPOLL_NOTE_COUNT     0x00010000u /* fill `data` with a byte count */
#define XPOLL_NOTE_SOERR     0x00020000u /* at EOF: move SO_ERROR to fflags */
#define XPOLL_NOTE_EXCLUSIVE 0x00040000u /* hint: wake only a few queues */
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
/* SIGNAL */
#define XPOLL_NOTE_ACCEPT 0x00000001u /* consume the signal if all threads block it */
/* PROC */
#define XPOLL_NOTE_EXIT           0x80000000u
#define XPOLL_NOTE_FORK           0x40000000u
#define XPOLL_NOTE_EXEC           0x20000000u
#define XPOLL_NOTE_TRACK          0x00000001u /* follow children */
#define XPOLL_NOTE_TRACKERR       0x00000002u /* out: a child was missed */
#define XPOLL_NOTE_CHILD          0x00000004u /* out: data is the parent */
#define XPOLL_NOTE_STATUS_UNKNOWN 0x00000008u /* out: data holds no status */
/* VNODE */
#define XPOLL_NOTE_DELETE      0x00000001u
#define XPOLL_NOTE_WRITE       0x00000002u
#define XPOLL_NOTE_EXTEND      0x00000004u
#define XPOLL_NOTE_ATTRIB      0x00000008u
#define XPOLL_NOTE_LINK        0x00000010u
#define XPOLL_NOTE_RENAME      0x00000020u
#define XPOLL_NOTE_REVOKE      0x00000040u
#define XPOLL_NOTE_OPEN        0x00000080u
#define XPOLL_NOTE_CLOSE       0x00000100u /* closed; was open for reading only */
#define XPOLL_NOTE_CLOSE_WRITE 0x00000200u /* closed; was open for writing */
#define XPOLL_NOTE_READ        0x00000400u
#define XPOLL_NOTE_TRUNCATE    0x00001000u

/* 3.  The poll-like level ------------------------------------------------- */

/*
 * Change the registrations of a descriptor.
 *
 * op      XPOLL_ADD, XPOLL_DELETE, XPOLL_ENABLE, XPOLL_DISABLE or
 *         XPOLL_ADD|XPOLL_DISABLE; with ADD optionally XPOLL_CLEAR,
 *         XPOLL_ONESHOT, XPOLL_DISPATCH; with either of the last two
 *         XPOLL_WHOLE: an event ends, or disables, all directions of the descriptor
 * events  the directions to change: POLLIN, POLLOUT, POLLPRI, POLLRDHUP; 0: an
 *         interest in errors and hang-ups only
 * data    ADD stores it for each named direction; otherwise ignored
 *
 * ADD creates or modifies, and enables.  ENABLE and DISABLE fail unless all
 * named directions are registered.  DELETE removes those that are registered,
 * and fails if none is.
 *
 * Errors: EINVAL (op, events), EBADF, ENOENT (not registered), ENOTSUP, ENOMEM,
 * ENOSPC, ELOOP.  A failed call changes nothing, except a DELETE with ENOTSUP.
 */
XPOLL_API int xpoll_ctl(struct xpoll *queue, int op, int events,
                        xpoll_fd_t fd, void *data);

/* The record of a ready descriptor, which xpoll_pwait returns. */
struct xpoll_ready {
	union { /* data of the first direction reported, in the order read, write, except */
		void *data;
		uint64_t data64;
	};
	xpoll_fd_t fd;
	int events; /* the POLL* bits, as poll(2) reports them */
};

/*
 * Wait until registered descriptors are ready, and return one record of each.  Any
 * number of threads may wait at a time.
 *
 * ready, nready  the array for records
 * timeout_ns     nanoseconds; < 0: wait for ever; 0: do not wait
 * sigset         NULL, or a signal mask as for xpoll_event_mask
 *
 * Returns the number of records; 0 on timeout or after xpoll_wake.  ONESHOT and
 * DISPATCH act before the call returns.  Events of other filters do not end the wait
 * and are not lost: xpoll_event returns them.
 *
 * Errors: EINVAL (no array, or nready < 1), EINTR, EBUSY (another thread is in a wait
 * of the event level), EBADF, ENOMEM, ENOSPC (the kernel's set was rebuilt and had no
 * room for all descriptors; the next wait tries again).
 */
XPOLL_API int xpoll_pwait(struct xpoll *queue, struct xpoll_ready *ready, int nready,
                          int64_t timeout_ns, const void *sigset);

/*
 * xpoll_pwait into an array of the queue, from which xpoll_revents returns records.
 *
 * timeout_ms  milliseconds; < 0: wait for ever; 0: do not wait
 *
 * Returns how many descriptors xpoll_revents will return at most; 0 on timeout
 * or after xpoll_wake.
 *
 * Errors: those of xpoll_pwait; EBUSY also if another thread is in xpoll_wait.
 */
XPOLL_API int xpoll_wait(struct xpoll *queue, int timeout_ms);

/*
 * Return the POLL* bits of the next ready descriptor of the last xpoll_wait, as
 * poll(2) reports them, or 0 at the end.  *datap, unless datap is NULL, receives
 * the data of the first direction that is reported, in the order read, write,
 * except.  Registrations that were deleted or disabled since the wait are left
 * out.  The next wait returns the descriptors that were not taken.  Only the
 * thread that waited may call this.
 */
XPOLL_API int xpoll_revents(struct xpoll *queue, void **datap);

/* 4.  The event level ------------------------------------------------------ */

struct xpoll_event {
	uint64_t ident;  /* descriptor, pid, signal, id, or an address */
	int16_t filter;  /* XPOLL_FILT_... */
	uint16_t flags;  /* in: XPOLL_ADD ...; out: XPOLL_EOF, XPOLL_ERROR */
	uint32_t fflags; /* in, out: XPOLL_NOTE_...; with EOF: socket error */
	int64_t data;    /* filter-specific; with XPOLL_ERROR: errno or 0 */
	union {
		void *udata; /* the program's own; returned unchanged */
		uint64_t udata64;
	};
};

/*
 * Fill in a record and return it.  No queue is involved.  If filter or flags do
 * not fit into 16 bits, the record gets filter 0, which xpoll_event rejects with
 * EINVAL.
 */
XPOLL_API struct xpoll_event *xpoll_set(struct xpoll_event *event,
                                        uint64_t ident, int filter, int flags,
                                        uint32_t fflags, int64_t data,
                                        void *udata);

/*
 * Apply changes in order, then wait for events.
 *
 * changes, nchanges  the changes to apply; may be NULL and 0
 * events, nevents    the array for events; may be the same as changes; with
 *                    nevents 0 the call returns after the changes
 * timeout_ns         nanoseconds; < 0: wait for ever; 0: do not wait
 *
 * Returns the number of records in events; 0 on timeout or after xpoll_wake.
 * A change that fails or that has XPOLL_RECEIPT is returned as a record with
 * XPOLL_ERROR and its errno in data (0: it succeeded).  If there are such
 * records, the call returns them and does not wait.  The changes after a failed
 * one are applied.
 *
 * Errors: EINVAL (negative count, NULL array, or more receipts than nevents;
 * nothing was applied); EBUSY (nevents > 0, no receipts, and another thread is in a
 * wait of the poll-like level; nothing was applied); EINTR, EBADF, ENOMEM and ENOSPC
 * as for xpoll_pwait; or the errno of the first failed change for which events
 * had no room (the other changes were applied).
 */
XPOLL_API int xpoll_event(struct xpoll *queue,
                          const struct xpoll_event *changes, int nchanges,
                          struct xpoll_event *events, int nevents,
                          int64_t timeout_ns);

/*
 * xpoll_event with a signal mask: sigset (a const sigset_t *, or NULL) is in
 * effect while the call waits, and is set and restored as ppoll(2) does it.
 */
XPOLL_API int xpoll_event_mask(struct xpoll *queue,
                               const struct xpoll_event *changes, int nchanges,
                               struct xpoll_event *events, int nevents,
                               int64_t timeout_ns, const void *sigset);

/* 5.  Asynchronous I/O ------------------------------------------------------ */

#define XPOLL_AIO_READ      1
#define XPOLL_AIO_WRITE     2
#define XPOLL_AIO_FSYNC     3
#define XPOLL_AIO_FDATASYNC 4

/*
 * One operation.  The structure and the buffer belong to the library from
 * xpoll_aio_submit until the event of the operation is returned.
 */
struct xpoll_aio {
	size_t size; /* sizeof(struct xpoll_aio) */
	int op;      /* XPOLL_AIO_... */
	xpoll_fd_t fd;
	void *buffer;
	size_t length;  /* bytes */
	int64_t offset; /* bytes from the start of the file */
	void *udata;    /* copied into the event */
	int64_t result; /* set when the event is returned: bytes, or -errno */
	void *priv[2];  /* private to the library */
};

/*
 * Start an operation on a regular file or block device; FSYNC and FDATASYNC also
 * take a directory.  When it has ended, one XPOLL_FILT_AIO event is returned, whose
 * ident is the address of aio and whose data is the result.  xpoll_destroy cancels
 * the operations of the queue, xpoll_close_fd and xpoll_forget_fd those on the
 * descriptor, and all three wait until these have ended.
 *
 * Errors: EINVAL, EBADF, ENOTSUP (another kind of file, or no asynchronous I/O
 * here), EISDIR, EBUSY (aio is in progress already), EAGAIN (no thread can be
 * started), EMFILE, ENFILE, ENOMEM.
 */
XPOLL_API int xpoll_aio_submit(struct xpoll *queue, struct xpoll_aio *aio);

/*
 * Try to cancel an operation.  Its event arrives in any case, with -ECANCELED or
 * with the result.
 * Errors: ENOENT (the event was returned already, or aio was never submitted).
 */
XPOLL_API int xpoll_aio_cancel(struct xpoll *queue, struct xpoll_aio *aio);

/* 6.  Other calls ------------------------------------------------------------ */

/*
 * Make one wait return 0: one that is in progress, otherwise the next one.
 * Several calls before that wait returns count as one.  Events that are ready
 * are returned first.  Async-signal-safe; keeps errno.
 */
XPOLL_API int xpoll_wake(struct xpoll *queue);

/* Make every wait that is in progress return 0; later waits are not affected. */
XPOLL_API int xpoll_wake_all(struct xpoll *queue);

/*
 * A descriptor that is readable whenever an event is pending or due.  Watch it
 * with poll(2), epoll or another queue; never read or close it.  It may be
 * readable without an event, but it is always readable when there is one.  The
 * first call creates kernel objects.
 * Errors: ENOTSUP (back ends without a kernel queue), ELOOP (nested too deep),
 * EMFILE, ENFILE, ENOMEM.
 */
XPOLL_API int xpoll_fd(struct xpoll *queue);

/*
 * Nanoseconds until the next timer expires, or -1 if no timer runs.  0: one is due,
 * or another event without a descriptor is pending.
 */
XPOLL_API int64_t xpoll_next_timeout(struct xpoll *queue);

/*
 * Remove a descriptor from every queue of the process; xpoll_close_fd then
 * closes it.  This works on every back end, even while duplicates are open.
 * xpoll_close_fd returns what close(2) returns.  xpoll_forget_fd returns 0, or
 * -1 with EBADF for a negative number.
 */
XPOLL_API int xpoll_close_fd(xpoll_fd_t fd);
XPOLL_API int xpoll_forget_fd(xpoll_fd_t fd);

/*
 * Observe a signal again in every queue that has it registered.  A program calls
 * this after it has set the action of the signal by itself, which may have
 * replaced the library's handler.  XPOLL_ADD has the same effect.
 * Async-signal-safe; keeps errno unless it fails.
 * Errors: EINVAL (no such signal), EBUSY (the program has replaced the library's
 * handler too often), ENOTSUP (no signals here).
 */
XPOLL_API int xpoll_signal_changed(int number);

/*
 * sigaction(2) for a signal that may be registered: sets the program's own action
 * and stores the former one in before, and the library goes on observing the signal.
 * action or before may be NULL.
 * Async-signal-safe; keeps errno unless it fails.
 * Errors: EINVAL (no such signal, or its action cannot be set), ENOTSUP.
 */
struct sigaction;
XPOLL_API int xpoll_sigaction(int number, const struct sigaction *action,
                              struct sigaction *before);

/*
 * Return a registration in its present state: flags holds those of CLEAR,
 * ONESHOT, DISPATCH and DISABLE that are set.
 * Errors: ENOENT (not registered), EINVAL (unknown filter, NULL).
 */
XPOLL_API int xpoll_lookup(struct xpoll *queue, uint64_t ident, int filter,
                           struct xpoll_event *registration);

/*
 * Make the parent's queue usable in a forked child, where all other calls except
 * xpoll_destroy fail with EBADF.  The child's queue gets kernel objects of its own,
 * with the same registrations.  Registrations of processes, AIO in progress and
 * pending events are dropped.
 * Errors: EINVAL (not in a forked child), EBUSY (another thread of the parent was
 * inside the queue when it forked); after EMFILE, ENFILE, ENOSPC and ENOMEM the
 * call can be tried again.
 */
XPOLL_API int xpoll_reinit(struct xpoll *queue);

/* The name of the queue's back end, such as "epoll" or "poll". */
XPOLL_API const char *xpoll_backend(const struct xpoll *queue);

/*
 * List the back ends that are usable here, best first.  Stores up to cap names
 * (static strings), and returns how many there are in all.
 */
XPOLL_API int xpoll_backends(const char **names, int cap);

/*
 * Return 1 if the queue can register this filter with all of these fflags, else
 * 0.  NULL stands for a queue on the default back end.
 */
XPOLL_API int xpoll_supports(const struct xpoll *queue, int filter,
                             uint32_t fflags);

/* Counters since the queue was made.  All of them only grow, except `registered`. */
struct xpoll_stats {
	uint64_t waits;              /* calls that waited, or checked without waiting */
	uint64_t events;             /* events returned */
	uint64_t wakes;              /* waits that xpoll_wake made return */
	uint64_t empty_returns;      /* waits that returned 0 */
	uint64_t changes;            /* changes requested */
	uint64_t changes_free;       /* changes that needed no system call */
	uint64_t change_errors;      /* changes that failed */
	uint64_t syscalls_wait;      /* system calls to wait: epoll_wait, poll, ... */
	uint64_t syscalls_change;    /* system calls to change registrations: epoll_ctl, ... */
	uint64_t syscalls_check;     /* system calls to check readiness: poll(2) and others */
	uint64_t syscalls_wake;      /* system calls to wake a waiting thread */
	uint64_t stale_dropped;      /* kernel events of deleted registrations */
	uint64_t fruitless;          /* kernel events of disabled registrations */
	uint64_t rebuilds;           /* how often the kernel's set was rebuilt */
	uint64_t registered;         /* registrations now */
	uint64_t signals_unobserved; /* how often the program replaced the library's handler */
	uint64_t idle_ns;            /* time that threads slept; 0 without XPOLL_COUNT_IDLE */
};

/* Copy the counters; size is sizeof(struct xpoll_stats).  Errors: EINVAL (NULL, size 0). */
XPOLL_API int xpoll_stats(const struct xpoll *queue, struct xpoll_stats *stats,
                          size_t size);

/*
 * Format an event as text, such as "READ ident=5 data=12 EOF".  As for snprintf,
 * at most size bytes are written, including the NUL, and the result is the length
 * of the whole text.  Errors: EINVAL.
 */
XPOLL_API int xpoll_describe(const struct xpoll_event *event, char *buf,
                             size_t size);

/* XPOLL_VERSION of the library that is loaded. */
XPOLL_API unsigned xpoll_version(void);

#ifdef __cplusplus
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif

#endif
