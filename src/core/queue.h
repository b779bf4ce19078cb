/*
 * struct xpoll, a queue, and struct xp_wait, one call that waits.
 *
 * The queue's lock guards every member, except those with a tag: [I] immutable after xpoll_open;
 * [a] atomic; [g] guarded by the lock of the list of queues (process.c).  `process` is compared
 * without the lock: it changes only in a forked child, before any other thread exists there.  Lock
 * order: the list of queues, then one queue.
 *
 * Words that the core uses:
 * slot: the queue's state of one descriptor.  filter: READ, WRITE or EXCEPT.
 * entry: the kernel's record of a descriptor; solo entry: the kernel's record of one filter.
 * candidate: a slot whose state the next wait checks by poll(2).  To publish a candidate is to
 *   change its entry, so that the kernel checks the descriptor and reports it.
 * report: what the kernel returns for an entry.  record: what a wait returns to the program.
 * kick: make a thread that sleeps in the kernel return and poll again.  kick.wanted: the next
 *   thread that leaves the queue has to kick one.  kick.epoch: counts the calls that kick all.
 * marked slot: reports that were fetched before the mark may be outdated; their state is checked.
 * epoch of a wait: the number of the call.
 * leader: the thread that is in a back end for one thread; follower: a thread that waits until the
 *   leader passes its turn.
 * source: reports events other than readiness.  due: the time at which a source has to run.
 * outer descriptor: what xpoll_fd returns.  attention: makes it readable although the kernel's set
 *   has no report.
 */
#ifndef XP_CORE_QUEUE_H
#define XP_CORE_QUEUE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "base/counters.h"
#include "base/list.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "base/regmap.h"
#include "source/source.h"
#include "sys/backend.h"
#include "sys/process.h"
#include "sys/wakefd.h"

/* Constants that several mechanisms share: see docs/internals/mechanisms.md. */
enum {
	/*
	 * A wait that has found candidates calls the kernel too after this many such waits.  Also
	 * the number of candidates that a wait checks at least, and of files that were not ready
	 * that it checks at most: "The kernel is not asked", "Checks by poll(2)", "Files that the
	 * kernel refuses".
	 */
	XP_ASK_EVERY = 16,
	/*
	 * Number of waits, or of calls, for which the queue expects a situation to repeat: "Half
	 * the room", "One-shot entries", "Signals are held", "xpoll_fd stays readable"; also how
	 * long it trusts the size of a pipe: "The size of a pipe".
	 */
	XP_RECENT_FOR = 64,
	/*
	 * Number of reports or checks in a row that yield no event before the queue changes the
	 * kernel's entry, or replaces its set: "Edges that nobody wants", "Back to the level",
	 * "Renewal".
	 */
	XP_FRUITLESS_MOST = 4,
};

enum {
	XP_GROUPS = 2,       /* groups of followers: a passed turn wakes one group */
	/* wake.state */
	XP_WAKE_PENDING = 1, /* flag: no wait has returned yet for the last xpoll_wake */
	XP_WAKE_WRITER = 2,  /* added once for each thread that is in xpoll_wake */
};

/* The format of the array that a wait fills. */
enum xp_format {
	XP_EVENTS, /* struct xpoll_event, the caller's array */
	XP_READY,  /* struct xpoll_ready, the caller's array */
	XP_BATCH,  /* struct xp_found, the queue's batch, for xpoll_revents */
	XP_ENTERED = 4, /* flag: the caller has entered the queue already */
};

/* A ready descriptor that xpoll_wait has found and xpoll_revents is to return. */
struct xp_found {
	uint64_t token;
	uint32_t events;
};

/* One call that waits. */
struct xp_wait {
	union {
		struct xpoll_event *events; /* with XP_EVENTS */
		struct xpoll_ready *ready;  /* with XP_READY */
		struct xp_found *found;     /* with XP_BATCH */
	};
	int cap, len;         /* capacity of the array, and number of records in it */
	int64_t deadline_ns;  /* monotonic clock; XP_NOW: do not sleep; XP_NEVER */
	const sigset_t *own_mask; /* the mask that the caller passed, or NULL: see xp_wait_mask */
	sigset_t blocked;     /* the mask to restore, if holds_signals */
	enum xp_format format;
	uint32_t epoch;       /* the number of this call, modulo 2^32 */
	uint32_t wake_all;    /* queue->wake.all when the call began */
	/* xp_wait_call zeroes the members from here on. */
	unsigned spurious;    /* calls into the kernel that delivered no event */
	uint32_t sequence;    /* queue->sequence before the last call into the kernel */
	uint32_t set;         /* counters.rebuilds then: identifies the kernel's set */
	bool delivered_some; /* the last harvest delivered an event */
	bool repeated;    /* the last harvest reported a filter that this call had delivered */
	bool more;        /* the kernel may have more reports: poll it again */
	bool renew;       /* the entry of an ended registration keeps reporting: renew the set */
	bool listed;      /* this call checked sources or files, which are not candidates */
	bool must_kick;   /* this thread must wake the next one of an xpoll_wake_all */
	bool polled;      /* the thread polled once before its first sleep */
	bool has_slept;   /* the thread slept in this call */
	bool holds_signals; /* all signals are blocked except during the sleeps */
	bool timed_out;   /* the last sleep lasted until the deadline */
	bool interrupted; /* a source found that a signal handler ran in the last sleep */
};

struct xpoll {
	const struct xp_backend_ops *ops; /* [I] */
	void *backend;            /* [I] the back end's private state */
	bool lazy;                /* [I] true on epoll, where each change costs a system call */
	uint32_t busy_poll_us;    /* [I] from the options of xpoll_open */
	bool vnode_as_bsd;        /* [I] XPOLL_VNODE_AS_BSD */
	bool restarts;            /* [I] XPOLL_RESTART */
	uint16_t report_modes;    /* [I] the modes that events have in `flags`: XPOLL_TELL_MODES */
	/* Array of ops->fired_most reports, used by a process with one thread; NULL: see slot.c. */
	struct xp_fired *fired;
	uint32_t process;         /* the owning process: see process.c */
	struct xp_list queues;    /* [g] links the queues of the process */
	struct xp_mutex lock;
	struct xp_counters counters; /* counters of system calls are [a] */

	/* Descriptors. */
	struct {
		struct xp_slot **pages;
		int pages_len;
	} slots;             /* indexed by descriptor: see slot.h */
	uint32_t sequence;   /* incremented by each xp_slot_mark */
	uint8_t withheld : 1;   /* some slot may have `withheld` set */
	uint8_t unattached : 1; /* some slot is not in the kernel's set: see renew.c */
	uint8_t probed : 1;     /* some source has to be refreshed before a sleep */
	struct {
		int head, tail, len; /* descriptors; slot.next links them: see candidates.c */
	} candidates;
	struct {
		uint8_t skipped; /* waits since the last call into the kernel */
		bool due;        /* the next wait must call the kernel */
		bool always;     /* [I] XPOLL_ALL_READY */
		uint8_t crowded; /* number of next harvests that ask for half as many reports */
		int64_t skipped_ns; /* when the second skipped wait began, coarse clock */
	} ask;               /* see ask.h */
	struct {
		struct xp_file **at;   /* indexed by descriptor */
		int at_len;
		struct xp_list awake;  /* each wait checks all of these */
		struct xp_list asleep; /* not ready at their last check; a wait checks a few */
		uint32_t pass;         /* number of passes over the files so far */
	} files;             /* files that the kernel cannot poll: see files.c */
	struct {
		struct xp_lowat_page **pages;
		int pages_len;
	} lowat;             /* low-water marks, indexed by descriptor: see lowat.c */

	/* Threads: see threads.c. */
	struct {
		int sleepers;    /* threads in the back end's wait */
		int changers;    /* threads that wait until no thread sleeps */
		int inside;      /* threads that are in a call and have released the lock */
		uint32_t sleeps; /* number of sleeps that have ended */
		const int *last; /* address of errno in the thread that waited last: its identity */
		uint8_t shared;  /* number of next waits for which several threads are assumed */
		uint8_t in_turn; /* number of next waits for which threads wait in turn */
		bool dying;      /* xpoll_destroy has begun */
		bool inconsistent; /* in a forked child: tables may be half changed */
	} threads;
	struct {
		int event; /* in xpoll_event; this or `poll` is 0 */
		int poll;  /* in xpoll_pwait or xpoll_wait */
		bool batch; /* one of the latter is in xpoll_wait */
	} in_wait;           /* numbers of threads in calls that wait */
	struct {
		bool wanted;     /* a sleeping thread has to poll again: see marks.h */
		bool due;        /* wake one thread when the lock is released */
		uint32_t epoch;  /* number of xp_kick_all calls */
		int left;        /* threads of the last xp_kick_all that still sleep */
	} kick;
	struct {
		atomic_uint state; /* [a] */
		uint32_t all;      /* number of xpoll_wake_all calls */
	} wake;
	struct {
		uint32_t waiter;   /* number of the thread that sleeps at most until due_ns */
		uint32_t numbers;  /* numbers given to timer waiters so far */
		int64_t until_ns;  /* until when that thread sleeps */
	} timer;
	struct {
		bool leader;      /* a thread has the turn, and is in the back end */
		int followers;    /* threads that wait for the turn */
		int leaving;      /* followers that must return before others may wait */
		unsigned signalled; /* bit set of groups whose followers are to return */
		unsigned due;       /* bit set of those groups that xp_unlock has still to wake */
		int groups[XP_GROUPS]; /* number of followers in each group */
		struct xp_wakefd wakefds[XP_GROUPS]; /* [I] what the followers of each group poll */
	} turn;              /* for back ends that serve one thread at a time */
	uint8_t hold_waits;  /* number of next waits that block signals before their first sleep */
	uint8_t poll_after; /* number of waits until one polls first, without blocking signals */
	struct {
		bool counted; /* [I] XPOLL_COUNT_IDLE: each sleep reads the clock twice */
		int sleepers; /* threads that sleep now */
		uint64_t ns;  /* ended sleeps minus start times of current ones; may wrap */
	} idle;
	pthread_cond_t thread_left; /* a sleep or a call of a thread has ended */

	/* Sources: see sources.c. */
	struct {
		struct xp_regmap map;
		struct xp_list active; /* enabled registrations whose condition holds */
	} registrations;
	struct {
		void *state;
		struct xp_pool pool; /* memory of its registrations */
		int64_t due_ns;      /* when its `due` is to be called; XP_NEVER, XP_ON_DEMAND */
	} sources[XP_SOURCES];
	int64_t due_ns;      /* the earliest due_ns of all sources */
	int64_t change_ns;   /* the clock, read once for all changes of a call; XP_NOW: not yet */
	bool on_demand;      /* some source has due_ns XP_ON_DEMAND */
	struct xp_wait *source_wait; /* the wait that is calling a source; NULL: none */

	/* The descriptor of the queue: see outer.c. */
	struct {
		bool in_use;      /* xpoll_fd was called: an event loop may poll the descriptor */
		bool attention;   /* the descriptor is readable although the set has no report */
		bool alarmed;     /* the descriptor becomes readable at due_ns, by a timer */
		uint8_t grace;    /* updates for which it stays readable without a reason, plus 1 */
	} outer;

	struct {
		int next, len;
		struct xp_found found[XP_FIRED_MOST];
	} batch;
};

#endif
