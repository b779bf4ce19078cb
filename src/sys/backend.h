/*
 * The interface between the queue and the mechanism that waits for descriptors, the back end.
 *
 * A back end passes registrations (descriptor, requested bits, token) to its kernel, and stores the
 * kernel's reports in an array.  It calls no user code, decides no policy and never allocates
 * memory in `wait`.
 *
 * Every function is called with the queue's lock held, except `wake`, which may also run in a
 * signal handler, `change_unlocked`, `wait` when it may sleep (see there), and `open`, `busy_poll`
 * and `close`, during which no other thread uses the state.  Results are >= 0 or a negative errno
 * value.  A failed change leaves the kernel's entry as it was, unless the entry is or becomes
 * exclusive: then there may be none.
 *
 * Requested and reported bits are those of poll(2): POLLIN POLLOUT POLLPRI POLLRDHUP, and in
 * reports also POLLERR POLLHUP POLLNVAL.
 */
#ifndef XP_SYS_BACKEND_H
#define XP_SYS_BACKEND_H

#include <signal.h>

#include "base/counters.h"
#include "base/time.h"
#include "sys/pollbits.h"

/* How to watch a descriptor; ORed to the requested bits in a parameter `watch`. */
#define XP_WATCH_EDGE      0x10000u /* edge-triggered */
/* after one report, no more until the next change of the watch; only epoll heeds it */
#define XP_WATCH_ONESHOT   0x20000u
#define XP_WATCH_EXCLUSIVE 0x40000u /* like EPOLLEXCLUSIVE: of several queues, wake few */
#define XP_WATCH_SOURCE    0x80000u /* Windows: fd is a waitable handle of a source */
/*
 * For the epoll back end: the watch is for the solo entry of this filter (XP_READ ...), an entry
 * that the descriptor has in addition to its main one (posix/solo.h).  A change without requested
 * bits deletes the solo entry.  In a report: the report comes from the solo entry of this filter.
 */
#define XP_WATCH_SOLO(filter) (0x100000u << (filter))
#define XP_WATCH_SOLO_ANY  0x700000u
/*
 * In a change: the filters (a set of XP_BIT) whose condition the kernel checks again.  The change
 * must not report other edge-triggered filters again.
 */
#define XP_WATCH_AGAIN(filters) ((uint32_t)(filters) << 24)
#define XP_WATCH_AGAIN_OF(watch) ((watch) >> 24)
#define XP_WATCH_BITS      (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

/* Capabilities of a back end: bits of `caps`. */
enum {
	/* Several threads may be in `wait`, and a change takes effect on them at once. */
	XP_CAP_CONCURRENT = 1,
	/*
	 * The state has the requested bits of each attached descriptor in a table, so a change of
	 * level-triggered bits costs no system call.  XP_WATCH_ONESHOT and XP_WATCH_EXCLUSIVE are
	 * used only with back ends without this capability.
	 */
	XP_CAP_FREE_CHANGE = 2,
	/*
	 * `attach` returns -EEXIST only if fd still refers to the file that was attached, as far as
	 * fstat(2) or the kernel's entry shows; so the queue calls `attach` to detect a reused
	 * descriptor.
	 */
	XP_CAP_KNOWS_FILE = 4,
	/* The back end can watch POLLPRI. */
	XP_CAP_EXCEPT = 8,
	/*
	 * A signal mask costs `wait` next to nothing, as long as no other thread sleeps in it.
	 * Then the queue may block signals around a wait, and pass a mask, even if the program gave
	 * none.
	 */
	XP_CAP_CHEAP_MASK = 16,
};

#define XP_TOKEN_WAKE UINT64_MAX

/*
 * Flag of a report with XP_TOKEN_WAKE: the kernel may have more reports although the array is not
 * full, so the queue calls `wait` again.
 */
#define XP_FIRED_MORE 0x10000u

/*
 * The most reports that one wait stores; the second limit is for a process with one thread, if the
 * back end's fired_most allows it.
 */
enum { XP_FIRED_MOST = 256, XP_FIRED_ALONE = 1024 };

/*
 * Append a report with XP_FIRED_MORE if there is room: the kernel has filled the back end's array,
 * but the back end has dropped some of these reports.  Returns the new number of reports.
 */
static inline int xp_fired_add_more(struct xp_fired *fired, int count, int cap)
{
	if (count < cap)
		fired[count++] = (struct xp_fired){.token = XP_TOKEN_WAKE, .events = XP_FIRED_MORE};
	return count;
}

/*
 * Functions of the descriptor that xpoll_fd returns.  The descriptor is readable whenever the queue
 * has an event, and sometimes when it has none.
 */
struct xp_outer_ops {
	/* Returns the descriptor, which the first call opens, or a negative errno value. */
	int (*fd)(void *state);
	/*
	 * on: true: keep the descriptor readable from now on, whatever the kernel reports; false:
	 * let the kernel's reports decide again.
	 */
	void (*set_attention)(void *state, bool on);
	/*
	 * Make the descriptor readable at this time or earlier; XP_NEVER: no alarm is needed any
	 * more.  Returns a negative errno value if no timer can be set, for example for lack of a
	 * descriptor.
	 */
	int (*set_alarm)(void *state, int64_t deadline_ns);
};

/*
 * For a kernel that keeps reporting a closed file while a duplicate is open: replaces the set, the
 * kernel's collection of entries, by a new one.
 */
struct xp_renew_ops {
	/*
	 * Replace the set by an empty one.  Threads in `wait` use the old set until they are woken.
	 */
	int (*begin)(void *state);
	/*
	 * Called between `begin` and `end`: returns true if the old set has an entry of the file
	 * that fd refers to now, so fd was not reused.  Because the new set reports that file as
	 * well, changes the old entry so that its reports yield no events.  A back end has both
	 * `retire_old` and `end`, or neither.
	 */
	bool (*retire_old)(void *state, int fd);
	void (*end)(void *state);
};

struct xp_backend_ops {
	const char *name;
	unsigned caps;
	int fired_most; /* the most reports of one wait, up to XP_FIRED_ALONE; 0: XP_FIRED_MOST */
	size_t state_size;
	/*
	 * 0, or the offset of an int in the back end's state.  The int is the descriptor of an
	 * epoll set, or -1.  If it is a descriptor, `wait` without a signal mask does no more than
	 * epoll_wait(2) of that set.  So in a process with one thread the queue calls epoll_wait(2)
	 * itself, which is faster than a call of `wait`.
	 */
	size_t direct_fd_at;

	/*
	 * Open the kernel's objects; `counters` outlives the state.  `close` closes them, also in a
	 * forked child.
	 */
	int (*open)(void *state, int size_hint, struct xp_counters *counters);
	void (*close)(void *state);
	/*
	 * Make waits poll network devices for this number of microseconds before they sleep.
	 * -ENOTSUP: this kernel lacks such polling.  NULL: all kernels of this back end lack such
	 * polling.
	 */
	int (*busy_poll)(void *state, uint32_t microseconds);

	/*
	 * Returns true if fd is one of the state's own descriptors.  A program must not register
	 * it, because DELETE would end the state's own watch of it.  NULL: the state has no
	 * descriptor that a program could name.
	 */
	bool (*owns)(const void *state, int fd);

	/*
	 * Begin to watch fd.  -EEXIST: the file is already watched by this descriptor.  -EPERM: the
	 * kernel cannot poll such a file, for example a regular one, which is always ready.
	 * -ENOTSUP: an O_PATH descriptor.
	 */
	int (*attach)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Change the watch, and let the kernel check again whether the file is ready.  -ENOENT: fd
	 * is not watched, or the kernel finds that fd refers to another file now; -EBADF: fd is
	 * closed.  If a change makes the kernel report an edge again, as with epoll, the queue
	 * avoids the change (core/entry.h).
	 */
	int (*change)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Like change, but called without the queue's lock, and without counting the system call.
	 * For a kernel with one-shot entries; never called for an exclusive watch or for a solo
	 * entry (XP_WATCH_SOLO).  Optional.
	 */
	int (*change_unlocked)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Stop watching fd.  If that succeeds, the kernel makes no more reports with the token of
	 * this registration.  If it fails because fd is closed or refers to another file, reports
	 * of the old file may still come.
	 */
	int (*detach)(void *state, int fd);

	/*
	 * Wait until a registration is ready or the deadline passes.  Stores up to cap reports (cap
	 * is at most fired_most), first those that earlier calls left out for lack of room.
	 * Returns their number; 0: the deadline has passed or nearly so, and the queue reads the
	 * clock.  -EINTR: also if the deadline has passed and a signal is pending that the mask
	 * does not block.
	 *
	 * With XP_NOW the call does not sleep, is made with the lock, and is no cancellation point;
	 * otherwise it is made without the lock and is one.  XP_NOW_CONTINUED is like XP_NOW,
	 * directly after a call that may have left out reports: the back end may return these
	 * without querying the kernel.
	 *
	 * A report with XP_TOKEN_WAKE belongs to no registration: if its events have XP_FIRED_MORE,
	 * the kernel may have more reports; if not, `wake` was called.  The kernel has no more if
	 * there are fewer than cap reports, and none has XP_FIRED_MORE.
	 */
	int (*wait)(void *state, int64_t deadline_ns, const sigset_t *mask,
	            struct xp_fired *fired, int cap);
	/*
	 * Called when a thread ends its wait while other threads are in `wait`, for kernels that
	 * report a condition only once per request: requests the reports again, so that those
	 * threads get the conditions that still hold.  Optional.
	 */
	void (*rearm)(void *state);
	/*
	 * For a back end that collects changes and passes them to the kernel in a `wait` that has
	 * the lock or is the only one.  has_pending returns true if the kernel lacks some of the
	 * changes.  `flush` passes some of them now, and stores reports with POLLNVAL of those
	 * whose files are closed; changes that it fails to pass are left to a wait.  Optional.
	 */
	bool (*has_pending)(const void *state);
	int (*flush)(void *state, struct xp_fired *fired, int cap);
	/* Make one call of `wait` return, one in progress or the next one.  Async-signal-safe. */
	void (*wake)(void *state);

	/*
	 * Functions that replace the kernel's set of entries, for a kernel that keeps reporting a
	 * closed file while a duplicate is open; NULL: no kernel of this back end does.
	 */
	const struct xp_renew_ops *renew;
	/*
	 * Functions of the descriptor that xpoll_fd returns; NULL: the back end has none, and
	 * xpoll_fd fails with ENOTSUP.
	 */
	const struct xp_outer_ops *outer;
};

#endif
