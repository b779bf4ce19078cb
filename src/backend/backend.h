/*
 * The seam between the queue and the mechanism that waits for descriptors.
 *
 * A back end translates (descriptor, wanted bits, token) into its kernel's
 * terms and fills a plain array with what fired.  It calls no user code,
 * decides no policy and never allocates in `wait`.
 *
 * Every function is called with the queue's lock held, but `wait` with
 * XP_NOW or later deadlines (see there) and `wake`, which may also run in a
 * signal handler.  Results are >= 0 or a negative errno value; a failed change
 * leaves the kernel as it was.
 *
 * Wanted and fired bits are poll(2)'s: POLLIN POLLOUT POLLPRI POLLRDHUP, and
 * POLLERR POLLHUP POLLNVAL when fired.
 */
#ifndef XP_BACKEND_BACKEND_H
#define XP_BACKEND_BACKEND_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counters.h"
#include "base/time.h"
#include "os/fired.h"
#include "os/pollbits.h"

/* How a descriptor is watched; ORed to the wanted bits. */
#define XP_WATCH_EDGE      0x10000u /* report activity, not state */
#define XP_WATCH_ONESHOT   0x20000u /* silent after one report until changed */
#define XP_WATCH_EXCLUSIVE 0x40000u /* wake few of several queues */
#define XP_WATCH_SOURCE    0x80000u /* on Windows: an object, until it is signalled */
/*
 * Of an epoll set: this filter (XP_READ ...) in an entry of its own, beside the
 * descriptor's other one.  A change without wanted bits ends that.
 */
#define XP_WATCH_SOLO(filter) (0x100000u << (filter))
#define XP_WATCH_SOLO_ANY  0x700000u
/*
 * Of a change: these filters (a set of XP_BIT) are to be looked at again.  The
 * others that are watched by edges are not reported again for it.
 */
#define XP_WATCH_AGAIN(filters) ((uint32_t)(filters) << 24)
#define XP_WATCH_AGAIN_OF(watch) ((watch) >> 24)
#define XP_WATCH_BITS      (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

/* What a back end can do. */
enum {
	/* Many threads in `wait`, and changes take effect on them. */
	XP_CAP_CONCURRENT = 1,
	/*
	 * What is wanted is in a table of the state, where it stays until it is
	 * detached: a change of wanted bits in level mode costs no system call.  Only
	 * without it entries can be one-shot and exclusive.
	 */
	XP_CAP_FREE_CHANGE = 2,
	/* `attach` knows by -EEXIST whether the number is the same file still. */
	XP_CAP_KNOWS_FILE = 4,
	/* POLLPRI. */
	XP_CAP_EXCEPT = 8,
	/* A mask of signals costs `wait` next to nothing while one thread is in it. */
	XP_CAP_MASK = 16,
};

#define XP_TOKEN_WAKE UINT64_MAX

/*
 * ORed to the bits of XP_TOKEN_WAKE: fewer fired than there was room for, but
 * not all was looked at.
 */
#define XP_FIRED_MORE 0x10000u

/* ORed to fired bits: the entry is that of this filter alone. */
#define XP_FIRED_SOLO(filter) (0x100000u << (filter))
#define XP_FIRED_SOLO_ANY 0x700000u

/* How many a wait takes at a time. */
enum { XP_FIRED_MOST = 256 };

/* Fewer remain than the kernel gave, which were all that were asked for. */
static inline int xp_fired_more(struct xp_fired *fired, int count, int cap)
{
	if (count < cap)
		fired[count++] = (struct xp_fired){.token = XP_TOKEN_WAKE, .events = XP_FIRED_MORE};
	return count;
}

enum xp_attention {
	XP_ATTENTION_NONE,
	XP_ATTENTION_ON,
	XP_ATTENTION_LASTS, /* on for long: nothing else need make it readable */
};

/* The descriptor of xpoll_fd. */
struct xp_outer_ops {
	/* Made by the first call. */
	int (*fd)(void *state);
	/* Make it readable, or no longer on this ground; the latter can fail. */
	int (*set_attention)(void *state, enum xp_attention attention);
	/*
	 * Make it readable from this moment on, or earlier; XP_NEVER: not on this
	 * ground.  Fails if there is no descriptor left for that.
	 */
	int (*set_alarm)(void *state, int64_t deadline_ns);
};

/* Of a kernel that goes on reporting what is closed: a set in place of the old one. */
struct xp_renew_ops {
	/* Start over with an empty set; waits in progress see the old one until they are woken. */
	int (*begin)(void *state);
	/*
	 * Until `end` the old set knows whether a number stands for a file that it
	 * watches; what it reports does not count any more.  Both or none.
	 */
	bool (*knows)(void *state, int fd);
	void (*end)(void *state);
};

struct xp_backend_ops {
	const char *name;
	unsigned caps;
	size_t state_size;

	/*
	 * Make the kernel's objects; `counters` outlives the state.  `close`
	 * releases them and may be called in a forked child.
	 */
	int (*open)(void *state, int size_hint, struct xp_counters *counters);
	void (*close)(void *state);

	/*
	 * Is this descriptor one of the state's own?  Whoever watched it, or
	 * stopped, would take the state's own watch of it away.  Not there where it
	 * has none that a program could name.
	 */
	bool (*owns)(const void *state, int fd);

	/*
	 * Begin to watch.  -EEXIST: this very file is watched under this number.
	 * -EPERM: such a file cannot be waited for and is always ready.
	 * -ENOTSUP: an O_PATH descriptor.
	 */
	int (*attach)(void *state, int fd, uint32_t watch, uint64_t token);
	/*
	 * Watch differently, and look again at whether it is ready.  -ENOENT: the
	 * number is not watched, or stands for another file now; -EBADF.  Where an
	 * edge cannot be changed without being reported again, as in epoll, the
	 * queue sees to it (core/solo.h).
	 */
	int (*change)(void *state, int fd, uint32_t watch, uint64_t token);
	/* Stop watching; what is harvested later has no such token. */
	int (*detach)(void *state, int fd);

	/*
	 * Wait until something fires or the deadline passes; up to cap entries,
	 * XP_FIRED_MOST at the most.  What has not been reported comes first.
	 * 0: deadline; may come early, the queue checks.  -EINTR, also when a signal
	 * that the mask lets in is pending at a deadline that is past.  With
	 * XP_NOW it is called with the lock held and is no cancellation point,
	 * else without the lock and it is one.  XP_REST is XP_NOW just after such a
	 * call that had more: what that has found is enough.  XP_TOKEN_WAKE stands for a wake, or
	 * carries XP_FIRED_MORE.  Fewer than cap without that: there is no more.
	 */
	int (*wait)(void *state, int64_t deadline_ns, const sigset_t *mask,
	            struct xp_fired *fired, int cap);
	/*
	 * A thread leaves with what fired while others are in `wait`: they are
	 * given what holds still, or again.  Only where the kernel has to be
	 * asked again about what it has reported.  Optional.
	 */
	void (*rearm)(void *state);
	/*
	 * Changes that the kernel does not know: they ride along with a wait that
	 * has the lock, or that nobody else can be beside.  `flush` makes some
	 * of them at once; those whose files are gone fire POLLNVAL.  If it fails
	 * they are left to a wait.  Optional.
	 */
	bool (*has_pending)(const void *state);
	int (*flush)(void *state, struct xp_fired *fired, int cap);
	/* Make one `wait`, this or the next, return.  Async-signal-safe. */
	void (*wake)(void *state);

	/* Optional. */
	const struct xp_renew_ops *renew;
	/* Not there where xpoll_fd is ENOTSUP. */
	const struct xp_outer_ops *outer;
};

extern const struct xp_backend_ops xp_backend_afd;
extern const struct xp_backend_ops xp_backend_devpoll;
extern const struct xp_backend_ops xp_backend_epoll;
extern const struct xp_backend_ops xp_backend_kqueue;
extern const struct xp_backend_ops xp_backend_poll;
extern const struct xp_backend_ops xp_backend_port;
extern const struct xp_backend_ops xp_backend_select;

#endif
