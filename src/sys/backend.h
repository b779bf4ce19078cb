/*
 * The interface between the queue and the mechanism that waits for descriptors.
 *
 * A back end translates (descriptor, requested bits, token) for its kernel, and
 * fills a plain array with what fired.  It calls no user code, decides no
 * policy and never allocates in `wait`.
 *
 * Every function is called with the queue's lock held, except `wake`, which
 * may also run in a signal handler, `change_unlocked`, and `wait` when it may
 * sleep (see there).
 * Results are >= 0 or a negative errno value; a failed change leaves the kernel
 * as it was.
 *
 * Requested and fired bits are poll(2)'s: POLLIN POLLOUT POLLPRI POLLRDHUP, and
 * POLLERR POLLHUP POLLNVAL when fired.
 */
#ifndef XP_SYS_BACKEND_H
#define XP_SYS_BACKEND_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counters.h"
#include "base/time.h"
#include "sys/pollbits.h"

/* How a descriptor is watched; ORed to the requested bits. */
#define XP_WATCH_EDGE      0x10000u /* report activity, not state */
#define XP_WATCH_ONESHOT   0x20000u /* silent after one report until changed */
#define XP_WATCH_EXCLUSIVE 0x40000u /* wake few of several queues */
#define XP_WATCH_SOURCE    0x80000u /* on Windows: an object, until it is signalled */
/*
 * For an epoll set: put this filter (XP_READ ...) into an entry of its own, in
 * addition to the descriptor's main one.  A change without bits ends that entry.
 */
#define XP_WATCH_SOLO(filter) (0x100000u << (filter))
#define XP_WATCH_SOLO_ANY  0x700000u
/*
 * In a change: check these filters (a set of XP_BIT) again.  Other filters that
 * are watched by edges must not be reported again because of the change.
 */
#define XP_WATCH_AGAIN(filters) ((uint32_t)(filters) << 24)
#define XP_WATCH_AGAIN_OF(watch) ((watch) >> 24)
#define XP_WATCH_BITS      (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

/* Capabilities of a back end. */
enum {
	/* Many threads in `wait`, and changes take effect on them. */
	XP_CAP_CONCURRENT = 1,
	/*
	 * The requested bits are in a table of the state until the descriptor is
	 * detached: a change of them in level mode costs no system call.  Entries can
	 * be one-shot and exclusive only without this bit.
	 */
	XP_CAP_FREE_CHANGE = 2,
	/* `attach` returns -EEXIST only if the number is still the same file. */
	XP_CAP_KNOWS_FILE = 4,
	/* POLLPRI. */
	XP_CAP_EXCEPT = 8,
	/* A signal mask costs `wait` next to nothing while one thread is in it. */
	XP_CAP_MASK = 16,
};

#define XP_TOKEN_WAKE UINT64_MAX

/*
 * Flag of a report with XP_TOKEN_WAKE: there was room for more reports, but not all descriptors
 * were checked.
 */
#define XP_FIRED_MORE 0x10000u

/* Flag of a report: it is for the solo entry of this filter. */
#define XP_FIRED_SOLO(filter) (0x100000u << (filter))
#define XP_FIRED_SOLO_ANY 0x700000u

/*
 * Most reports of one wait; and of one in a process with one thread, if the back end allows more.
 */
enum { XP_FIRED_MOST = 256, XP_FIRED_ALONE = 1024 };

/*
 * Add a report with XP_FIRED_MORE: the kernel filled the array, but some of its reports were
 * dropped.
 */
static inline int xp_fired_more(struct xp_fired *fired, int count, int cap)
{
	if (count < cap)
		fired[count++] = (struct xp_fired){.token = XP_TOKEN_WAKE, .events = XP_FIRED_MORE};
	return count;
}

/* The descriptor of xpoll_fd. */
struct xp_outer_ops {
	/* Returns the descriptor, which the first call opens. */
	int (*fd)(void *state);
	/* Make the descriptor readable, or no longer readable for this reason. */
	void (*set_attention)(void *state, bool on);
	/*
	 * Make the descriptor readable at this time at the latest; XP_NEVER: not for this reason.
	 * Fails if no descriptor is free for a timer.
	 */
	int (*set_alarm)(void *state, int64_t deadline_ns);
};

/* For a kernel that keeps reporting closed files: replaces the set by a new one. */
struct xp_renew_ops {
	/*
	 * Replace the set by an empty one; waits in progress use the old one until they are woken.
	 */
	int (*begin)(void *state);
	/*
	 * Until `end`: returns whether the old set watches the file that fd refers to; its reports
	 * are ignored.  A back end has both functions or none.
	 */
	bool (*knows)(void *state, int fd);
	void (*end)(void *state);
};

struct xp_backend_ops {
	const char *name;
	unsigned caps;
	int fired_most; /* entries of one wait, at most XP_FIRED_ALONE; 0: XP_FIRED_MOST */
	size_t state_size;
	/*
	 * Offset in the state of an int, the descriptor of an epoll set.  While it is not -1, a
	 * wait without a mask is just epoll_wait(2) on it, and the only thread of a process may
	 * call that directly.  0: a wait is always more.
	 */
	size_t direct_fd_at;

	/*
	 * Make the kernel's objects; `counters` outlives the state.  `close`
	 * releases them and may be called in a forked child.
	 */
	int (*open)(void *state, int size_hint, struct xp_counters *counters);
	void (*close)(void *state);
	/*
	 * Make waits poll network devices for this number of microseconds before they sleep.
	 * -ENOTSUP: this kernel cannot.  NULL: no kernel of this back end can.
	 */
	int (*busy_poll)(void *state, uint32_t microseconds);

	/*
	 * Returns true if the descriptor belongs to the state.  A program that registered and
	 * deleted it would end the state's own watch.  NULL if the state has no descriptor that a
	 * program could name.
	 */
	bool (*owns)(const void *state, int fd);

	/*
	 * Begin to watch.  -EEXIST: this file is already watched by this descriptor.  -EPERM: the
	 * kernel cannot poll such a file, which is always ready.  -ENOTSUP: an O_PATH descriptor.
	 */
	int (*attach)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Change the watch, and check again whether it is ready.  -ENOENT: the descriptor is not
	 * watched, or refers to another file now; -EBADF.  If a change reports an edge again, as in
	 * epoll, the queue avoids the change (core/entry.h).
	 */
	int (*change)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Like change, but called without the queue's lock, and it counts no system call.  For a
	 * kernel with one-shot entries; never exclusive, never a solo filter.  Optional.
	 */
	int (*change_unlocked)(void *state, int fd, uint32_t watch, uint64_t token);
	/* Stop watching; no later report has the descriptor's token. */
	int (*detach)(void *state, int fd);

	/*
	 * Wait until something fires or the deadline passes.  Store up to cap entries, at
	 * most fired_most, first those that were not reported yet.  0: deadline; may be
	 * early, the queue checks.  -EINTR: also if the deadline has passed and a signal is
	 * pending that the mask does not block.  With XP_NOW it is called with the lock held
	 * and is no cancellation point, otherwise without the lock, and it is one.  XP_REST
	 * is XP_NOW after a call that had more; it need not ask the kernel again.  An entry
	 * with XP_TOKEN_WAKE is a wake, or has XP_FIRED_MORE.  If there are fewer than cap
	 * entries and none has XP_FIRED_MORE, there are no more.
	 */
	int (*wait)(void *state, int64_t deadline_ns, const sigset_t *mask,
	            struct xp_fired *fired, int cap);
	/*
	 * Called when a thread leaves with events while others are in `wait`: report conditions
	 * that are still true to them.  For kernels that report a condition only once per request.
	 * Optional.
	 */
	void (*rearm)(void *state);
	/*
	 * has_pending: returns true if there are changes that the kernel does not have yet: they
	 * are passed with a wait that has the lock, or that is alone.  `flush` passes some of them
	 * at once; those whose files are gone are reported with POLLNVAL.  If it fails, a later
	 * wait passes them.  Optional.
	 */
	bool (*has_pending)(const void *state);
	int (*flush)(void *state, struct xp_fired *fired, int cap);
	/* Make one `wait`, this or the next, return.  Async-signal-safe. */
	void (*wake)(void *state);

	/* Optional. */
	const struct xp_renew_ops *renew;
	/* NULL: xpoll_fd fails with ENOTSUP. */
	const struct xp_outer_ops *outer;
};

#endif
