/*
 * struct xpoll, a queue, and struct xp_wait, one call that waits.
 *
 * The queue's lock guards every member, except those with a tag: [I] immutable after xpoll_open;
 * [a] atomic; [g] guarded by the lock of the list of queues (create.c).  `process` is compared
 * without the lock: it changes only in a forked child, before any other thread exists there.  Lock
 * order: the list of queues, then one queue.
 *
 * A file of the core includes no header that one of its other headers includes already.
 *
 * Words that the core uses:
 * event level: xpoll_event.  poll-like level: xpoll_ctl, xpoll_pwait, xpoll_wait and xpoll_revents.
 * slot: the queue's state of one descriptor.  filter: READ, WRITE or EXCEPT.
 * entry: the kernel's record of a descriptor; solo entry: the kernel's record of one filter.
 * silent entry: a one-shot entry that has reported, and reports nothing until it is armed again.
 * lazy queue: one on epoll, where a change of an entry costs a system call.
 * candidate: a slot whose state the next wait checks by poll(2).  To publish a candidate is to
 *   change its entry, so that the kernel checks the descriptor and reports it.
 * report: what the kernel returns for an entry.  record: what a wait returns to the program.
 * fruitless report: one of which no enabled filter is ready.  harvest: to fetch reports.
 * kick: make a thread that sleeps in the kernel return and poll again.  kick.wanted: the next
 *   thread that leaves the queue has to kick one.  kick.epoch: counts the calls that kick all.
 * marked slot: filters were enabled, but the tokens of reports do not show it, so a report that a
 *   thread fetched before may be outdated: the queue checks the state instead of delivering it.
 * epoch of a wait: the number of the call.
 * leader: the thread that has the turn, which a back end for one thread at a time requires;
 *   follower: a thread that waits until the leader passes the turn.
 * source: reports events other than readiness.  due: the time at which a source has to run.
 * outer descriptor: the one that xpoll_fd returns.  attention: makes it readable although the
 *   kernel's set has no report.
 */
#ifndef XP_CORE_QUEUE_H
#define XP_CORE_QUEUE_H

#include "base/mutex.h"
#include "base/pool.h"
#include "source/source.h"
#include "sys/backend.h"
#include "sys/process.h"
#include "sys/wakefd.h"

/* Constants that several mechanisms share: see docs/internals/mechanisms.md. */
enum {
	/*
	 * A wait that has found ready descriptors by poll(2) need not call the kernel's wait, but
	 * every 16th such wait does.  Also the least number of candidates that each poll(2) after
	 * the first one of a wait may check, and the number of files, not ready at their last
	 * check, that one wait of xpoll_event checks again: the rows "The kernel is not asked",
	 * "Checks by poll(2)", "Files that the kernel refuses" of mechanisms.md.
	 */
	XP_ASK_EVERY = 16,
	/*
	 * Number of waits, or of calls, for which the queue expects that a situation goes on after
	 * it was last seen: the rows "Half the room", "One-shot entries", "Signals are held",
	 * "xpoll_fd stays readable".  Also the number of waits after which the queue queries the
	 * size of a pipe again: "The size of a pipe".
	 */
	XP_RECENT_FOR = 64,
	/*
	 * Number of reports or checks in a row that yield no event before the queue changes the
	 * kernel's entry, or replaces its set: the rows "Edges that nobody wants", "Back to the
	 * level", "Renewal".
	 */
	XP_FRUITLESS_MOST = 4,
};

enum {
	XP_GROUPS = 2, /* groups of followers: passing the turn wakes one group */
	/* bits of queue->wake.state */
	XP_WAKE_PENDING = 1, /* flag: no wait has returned yet for the last xpoll_wake */
	XP_WAKE_WRITER = 2,  /* added for each thread that uses the queue without its lock */
};

/* The format of the array that a wait fills. */
enum xp_format {
	XP_EVENTS, /* struct xpoll_event, the caller's array */
	XP_READY,  /* struct xpoll_ready, the caller's array */
	XP_BATCH,  /* struct xpoll_ready, the queue's batch, which xpoll_revents returns */
	XP_ENTERED = 4, /* flag: the caller has entered the queue (taken its lock) */
};

/* One call that waits. */
struct xp_wait {
	union {
		struct xpoll_event *events; /* with XP_EVENTS */
		/*
		 * With XP_READY and XP_BATCH.  A record has the token and the bits of the report
		 * until the library takes the record: at the end of xpoll_pwait (xp_ready_finish),
		 * or in xpoll_revents.
		 */
		struct xpoll_ready *ready;
	};
	int cap, len;         /* capacity of the array, and number of records in it */
	/* when to give up (monotonic clock); XP_NOW: do not sleep; XP_NEVER */
	int64_t deadline_ns;
	/* Signal mask that the caller passed, for the sleeps; NULL: none. */
	const sigset_t *own_mask;
	sigset_t blocked;     /* if holds_signals: the signal mask to restore after the wait */
	enum xp_format format;
	uint32_t epoch;       /* number of this waiting call, modulo 2^32 */
	/*
	 * queue->wake.all when the wait began: if wake.all differs later, xpoll_wake_all was called
	 */
	uint32_t wake_all;
	/* xp_wait_call zeroes the members from here on. */
	unsigned spurious;    /* harvests of this wait that led to no event */
	/*
	 * queue->marks before the last kernel call, whose reports are outdated for slots marked
	 * later
	 */
	uint32_t marks;
	/*
	 * stats.rebuilds before the last call into the kernel: shows if the set was replaced
	 * since
	 */
	uint32_t set;
	bool delivered_some; /* the last call into the kernel led to an event, or ran a source */
	/*
	 * The last call into the kernel reported a filter that this wait had delivered before: see
	 * harvest in wait.c.
	 */
	bool repeated;
	bool more;        /* the kernel may have more reports: poll the kernel again */
	bool renew;       /* an ended registration is still reported: replace the kernel's set */
	/* sources or files were checked: also poll the kernel if there is room */
	bool listed;
	/* this thread returned after xp_kick_all, or took a wake-up of it: wake the next thread */
	bool must_kick;
	bool polled;      /* the thread polled before its first sleep: see xp_sleep_prepare */
	bool has_slept;   /* the thread slept before in this call */
	bool holds_signals; /* the thread blocks all signals except during its sleeps */
	bool timed_out;   /* the last sleep lasted until the deadline */
	bool interrupted; /* a source found that a signal handler may have run in the last sleep */
};

struct xpoll {
	const struct xp_backend_ops *ops; /* [I] the functions of the back end */
	void *backend;            /* [I] the back end's private state */
	/*
	 * [I] true on epoll: a change of an entry costs a system call, so the queue avoids changes
	 */
	bool lazy;
	/* [I] how long the kernel polls network devices before a sleep, in us; 0: not at all */
	uint32_t busy_poll_us;
	bool vnode_as_bsd;        /* [I] opened with XPOLL_VNODE_AS_BSD */
	bool restarts;            /* [I] XPOLL_RESTART: a signal handler does not end a wait */
	/*
	 * [I] the modes (XPOLL_CLEAR ...) that events repeat in `flags`; 0 without XPOLL_TELL_MODES
	 */
	uint16_t report_modes;
	/*
	 * Array of XP_FIRED_ALONE reports, which a wait uses in place of its stack if the process
	 * has one thread.  NULL until a descriptor of 256 or more is registered, if there was no
	 * memory, or if ops->fired_most is 0.
	 */
	struct xp_fired *fired;
	/* the owner's process number (xp_process_current): see create.c */
	uint32_t process;
	struct xp_list queues;    /* [g] links this queue into the list of create.c */
	struct xp_mutex lock;
	/*
	 * What xpoll_stats returns, except the members that `counters` and `idle` have.  `changes`
	 * does not include changes_free.
	 */
	struct xpoll_stats stats;
	struct xp_counters counters; /* [a] */

	/* Descriptors. */
	struct {
		struct xp_slot **pages;
		int pages_len;
	} slots;             /* pages of slots, indexed by descriptor: see slot.h */
	uint32_t marks;      /* number of xp_slot_mark calls, modulo 2^32 */
	/* Some slot may have `hangup_ignored` set: xpoll_pwait and xpoll_wait check such slots. */
	uint8_t hangup_ignored : 1;
	/* Some slot is missing from the kernel's set: the next wait attaches the slot. */
	uint8_t unattached : 1;
	/*
	 * some source has called set_probed: call `refresh` of all sources before each poll or
	 * sleep
	 */
	uint8_t probed : 1;
	struct {
		/* Head and tail: descriptors, linked by slot.next; len: number of slots. */
		int head, tail, len;
	} candidates;        /* slots that the next wait checks by poll(2): see candidates.h */
	struct {
		uint8_t skipped; /* waits in a row that returned without calling the kernel */
		bool due;        /* the next wait must call the kernel */
		bool always;     /* [I] XPOLL_ALL_READY: each wait calls the kernel */
		/*
		 * How many of the next calls into the kernel ask for half the usual number of
		 * reports.
		 */
		uint8_t half_room_calls;
		/*
		 * Coarse clock when `skipped` became 2: when that clock has advanced, a wait calls
		 * the kernel.
		 */
		int64_t skipped_ns;
	} ask;               /* see ask.h */
	struct {
		struct xp_file **at;   /* the files, indexed by descriptor */
		int at_len;
		struct xp_list awake;  /* files that each wait checks by fstat(2) */
		/*
		 * Files that were not ready at their last check; each wait of xpoll_event checks
		 * XP_ASK_EVERY of them.
		 */
		struct xp_list asleep;
		/* number of passes over the files (xp_files_begin), modulo 2^32 */
		uint32_t pass;
	} files;             /* files that the kernel cannot poll: see files.c */
	struct {
		/* the marks of READ and WRITE in bytes, indexed by descriptor */
		int64_t (*bytes)[2];
		int len;
	} lowat;             /* low-water marks: see count.c */

	/* Threads: see threads.c. */
	struct {
		int sleepers;    /* threads in the back end's wait */
		/* Threads in xp_quiesce: to make a change, they wait until no thread sleeps. */
		int changers;
		int inside;      /* threads that are in a call and have released the lock */
		/* How often a thread has taken the lock again after releasing it in a call. */
		uint32_t sleeps;
		/*
		 * Address of errno (thread-local) of the thread that waited last: identifies the
		 * thread.
		 */
		const int *last;
		/* How many of the next waits assume that several threads use the queue. */
		uint8_t shared;
		/* How many of the next waits assume that threads wait one after another. */
		uint8_t in_turn;
		bool dying;      /* xpoll_destroy has begun: threads in calls have to return */
		/*
		 * In a forked child: a thread of the parent may have been changing tables during
		 * the fork.
		 */
		bool inconsistent;
	} threads;
	/*
	 * Numbers of threads in calls that wait, by enum xp_format: in xpoll_event, xpoll_pwait and
	 * xpoll_wait.  Waits of a process with one thread are not counted.
	 */
	int in_wait[XP_BATCH + 1];
	struct {
		/*
		 * The thread that leaves the queue next has to wake a sleeping one, which polls:
		 * see marks.h.
		 */
		bool wanted;
		bool due;        /* wake one sleeping thread when the lock is released */
		uint32_t epoch;  /* number of xp_kick_all calls */
		/* threads that the last xp_kick_all wakes and whose sleep has not ended yet */
		int left;
	} kick;
	struct {
		/* [a] XP_WAKE_PENDING, plus XP_WAKE_WRITER for each thread without the lock */
		atomic_uint state;
		uint32_t all;      /* number of xpoll_wake_all calls */
	} wake;
	struct {
		/* Number of the timer waiter, the thread that sleeps until due_ns; 0: none. */
		uint32_t waiter;
		uint32_t numbers;  /* numbers given to timer waiters so far */
		/*
		 * Time until which the timer waiter sleeps.  XP_NEVER: there is no timer waiter;
		 * XP_NOW: a sleeping thread was woken to become the timer waiter.
		 */
		int64_t until_ns;
	} timer;
	struct {
		bool leader;      /* a thread has the turn, and may be in the back end's wait */
		int followers;    /* threads that wait for the turn */
		int leaving; /* followers that xp_kick_all wakes and that have not returned yet */
		unsigned signalled; /* bit set of the groups whose followers have to return */
		unsigned due; /* bit set of the signalled groups that xp_unlock has still to wake */
		int groups[XP_GROUPS]; /* number of followers in each group */
	} turn;              /* the turn, for back ends that serve one thread at a time */
	/* [I] the descriptors that wake followers, one per group */
	struct xp_wakefd turn_wakefds[XP_GROUPS];
	/* How many of the next waits block signals before their first sleep. */
	uint8_t hold_waits;
	/* How many of the next waits block signals without polling first: see xp_sleep_prepare. */
	uint8_t poll_after;
	struct {
		bool counted; /* [I] XPOLL_COUNT_IDLE: sleeps are timed, and read the clock twice */
		int sleepers; /* threads that sleep now, if counted */
		/*
		 * Nanoseconds: lengths of ended sleeps minus start times of current ones; may wrap
		 */
		uint64_t ns;
	} idle;
	/*
	 * Broadcast when a thread that waits for this must check its condition again: a thread has
	 * returned from a sleep, threads.changers has become 0, or, in a dying queue,
	 * threads.inside has become less.
	 */
	pthread_cond_t thread_left;

	/* Sources: see sources.c. */
	struct {
		struct xp_regmap map;
		struct xp_list active; /* enabled registrations whose condition holds */
	} registrations;
	struct {
		void *state;
		struct xp_pool pool; /* memory of the source's registrations */
		/* When to call the source's `due`; XP_NEVER; XP_ON_DEMAND: in each wait. */
		int64_t due_ns;
	} sources[XP_SOURCES];
	int64_t due_ns;      /* the earliest due_ns of all sources */
	/* the monotonic clock, read once for all changes of a call; XP_NOW: not read yet */
	int64_t change_ns;
	struct xp_wait *source_wait; /* the wait that is calling a source; NULL: none */

	/* The descriptor of the queue: see outer.c. */
	struct {
		bool in_use;      /* xpoll_fd was called: an event loop may poll the descriptor */
		/*
		 * set_attention is on: the descriptor is readable without a report of the kernel's
		 * set
		 */
		bool attention;
		/*
		 * Some source had a due time since xpoll_fd was called: from then on
		 * xp_outer_update passes due_ns, even XP_NEVER, to the back end's set_alarm, unless
		 * attention is needed.
		 */
		bool alarmed;
		/*
		 * How many of the next updates leave the descriptor readable without a reason, plus
		 * 1; 0: no update does.
		 */
		uint8_t grace;
	} outer;

	struct {
		/* `next`: index of the record that xpoll_revents returns next. */
		int next, len;
		struct xpoll_ready found[XP_FIRED_MOST];
	} batch;
};

#endif
