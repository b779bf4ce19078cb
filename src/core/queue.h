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
 * entry: the kernel's record of a descriptor.  main entry: the one of all filters of a slot, except
 *   those with a solo entry, an entry for one filter (posix/solo.h).
 * silent entry: a one-shot entry that has reported, and reports nothing until it is armed again.
 * lazy queue: one on epoll, where a change of an entry costs a system call.
 * candidate: a slot whose state the next wait checks by poll(2).  To publish a candidate is to
 *   change its entry, so that the kernel checks the descriptor and reports it.
 * report: what the kernel returns for an entry.  record: what a wait returns to the program.
 * fruitless report: one that leads to no event, because none of its filters is enabled and ready.
 * harvest: to fetch reports.
 * arming: the number of an entry's last change, which reports return in their token, so that the
 *   queue recognises reports from before the change.
 * cutoff of a slot: filters were enabled without a new arming, so a report that a thread fetched
 *   before may be outdated: the queue checks the state instead of delivering the report.
 * late change: a change of an entry that a thread makes after it has released the lock.
 * kick: make a thread that sleeps in the kernel return and poll again.  kick.is_requested: the next
 *   thread that leaves the queue has to kick one.  kick.sequence: counts the calls that kick all.
 * epoch of a wait: the number of the call.
 * leader: the thread that has the turn, the right to be in a back end that serves one thread at a
 *   time.  follower: a thread that waits until the leader passes the turn.
 * source: reports events other than readiness.  due: the time at which a source has to run.
 * timer waiter: the thread that sleeps only until a source is due.
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
	 * One number for three mechanisms, which are rows of docs/internals/mechanisms.md.  "The
	 * kernel is not asked": a wait that has found ready descriptors by poll(2) does not call
	 * the kernel's wait, but every 16th such wait does.  "Checks by poll(2)": each poll(2)
	 * after the first one of a wait checks up to this many candidates (slots to check), even if
	 * the array has room for fewer.  "Files that the kernel refuses": each wait of xpoll_event
	 * checks this many of the files that were not ready before.
	 */
	XP_ASK_EVERY = 16,
	/*
	 * Number of waits, or of calls, for which the queue expects that a situation goes on after
	 * it was last seen: the rows "Half the room", "One-shot entries", "Signals are held",
	 * "xpoll_fd stays readable" of docs/internals/mechanisms.md.  Also the number of waits
	 * after which the queue queries the size of a pipe again: "The size of a pipe".
	 */
	XP_RECENT_FOR = 64,
	/*
	 * Number of reports or checks in a row that yield no event before the queue changes the
	 * kernel's entry, or replaces its set: the rows "Edges that nobody wants", "Back to the
	 * level", "Renewal" of docs/internals/mechanisms.md.
	 */
	XP_FRUITLESS_MOST = 4,
};

enum {
	/*
	 * Groups of followers, the threads that wait until a back end for one thread at a time is
	 * free.  The first group has at most one thread, the second group the others: so passing
	 * the turn mostly wakes only one thread.
	 */
	XP_GROUPS = 2,
	/* bits of queue->wake.state */
	XP_WAKE_PENDING = 1, /* flag: no wait has returned yet for the last xpoll_wake */
	XP_WAKE_PIN = 2,     /* added for each thread that uses the queue without its lock */
};

/* The format of the array that a wait fills. */
enum xp_format {
	XP_EVENTS, /* struct xpoll_event, the caller's array */
	XP_READY,  /* struct xpoll_ready, the caller's array */
	XP_BATCH,  /* struct xpoll_ready, the queue's batch, which xpoll_revents returns */
	XP_LOCK_HELD = 4, /* flag: the caller has entered the queue (taken its lock) */
};

/* One call that waits. */
struct xp_wait {
	union {
		struct xpoll_event *events; /* with XP_EVENTS */
		/*
		 * With XP_READY and XP_BATCH.  A record first has the token and the bits of the
		 * kernel's report.  The program gets other values: its udata, the descriptor, and
		 * the bits that enabled filters receive.  With XP_READY, xp_ready_finish stores
		 * these in the records at the end of xpoll_pwait.  The records of a batch stay as
		 * they are, and xpoll_revents returns the program's values.
		 */
		struct xpoll_ready *ready;
	};
	int cap, len;         /* capacity of the array, and number of records in it */
	/* when to give up (monotonic clock); XP_NOW: do not sleep; XP_NEVER */
	int64_t deadline_ns;
	/* Signal mask that the caller passed, for the sleeps; NULL: none. */
	const sigset_t *caller_mask;
	sigset_t saved_mask;  /* if holds_signals: the signal mask to restore after the wait */
	enum xp_format format;
	uint32_t epoch;       /* number of this waiting call, modulo 2^32 */
	/*
	 * queue->wake.all when the wait began: if wake.all differs later, xpoll_wake_all was called
	 */
	uint32_t wake_all_snapshot;
	/* xp_wait_call zeroes the members from here on. */
	/* rounds of the loop in this wait whose calls into the kernel led to no event */
	unsigned spurious;
	/*
	 * queue->last_cutoff before the last call into the kernel.  If a slot's `cutoff` is later,
	 * filters were enabled after that call, so its report about the slot is outdated.
	 */
	uint32_t cutoff_snapshot;
	/*
	 * stats.rebuilds before the last call into the kernel: shows if the kernel's set was
	 * replaced since, so that a report is of the old set
	 */
	uint32_t rebuilds_snapshot;
	bool delivered_some; /* the last call into the kernel led to an event, or ran a source */
	/*
	 * The last call into the kernel reported a filter that this wait had delivered before, so
	 * the kernel has reported all that is ready: see harvest in wait.c.
	 */
	bool has_repeats;
	bool more;           /* the kernel may have more reports: poll the kernel again */
	bool must_renew_set; /* an ended registration is still reported: replace the kernel's set */
	/* sources or files were checked: also poll the kernel if there is room */
	bool must_poll_if_room;
	/*
	 * xp_kick_all, which makes sleeping threads return one after another, has woken this
	 * thread, or a poll of this thread has consumed the wake-up for another one.  Before this
	 * thread leaves, it has to wake the next one.
	 */
	bool must_kick;
	/* the thread polled without sleeping before its first sleep: see xp_sleep_prepare */
	bool polled;
	bool slept_before;   /* the thread slept before in this call */
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
	 * has one thread.  NULL while all descriptors are below 256, so that the 256 reports on the
	 * stack suffice; also if there was no memory, or if ops->fired_most is 0.
	 */
	struct xp_fired *fired;
	/*
	 * number of the process that owns the queue (xp_process_number): the one that opened the
	 * queue, or a forked child that called xpoll_reinit.  Calls by any other process fail with
	 * EBADF.
	 */
	uint32_t process;
	struct xp_list queues;    /* [g] links this queue into the list of create.c */
	struct xp_mutex lock;
	/*
	 * Counts for xpoll_stats, except system calls and the time of sleeps: `counters` and `idle`
	 * have these, and the members for them are 0 here.  `changes` lacks the changes without a
	 * system call, which changes_free counts.  xpoll_stats puts all that into the copy that it
	 * returns.
	 */
	struct xpoll_stats stats;
	struct xp_counters counters; /* [a] */

	/* Descriptors. */
	struct {
		struct xp_slot **pages;
		int pages_len;
	} slots;             /* pages of slots, indexed by descriptor: see slot.h */
	/*
	 * number of xp_slot_outdate_reports calls, modulo 2^32: a clock that shows whether a slot
	 * was marked before or after a call into the kernel (slot->cutoff, wait->cutoff_snapshot)
	 */
	uint32_t last_cutoff;
	/*
	 * Some slot may have `hangup_ignored` set, because xpoll_event ignored its hang-up:
	 * xpoll_pwait and xpoll_wait check such slots.
	 */
	uint8_t hangup_ignored : 1;
	/* Some slot is missing from the kernel's set: the next wait attaches the slot. */
	uint8_t unattached : 1;
	/*
	 * some source has called set_probed: call `refresh` of all sources before each poll or
	 * sleep
	 */
	uint8_t probed : 1;
	/*
	 * A file of XP_KIND_CLEARED was added once, with EXCEPT.  A sleep in poll(2) of the queue
	 * would clear the bits of such a file: see xp_may_hold_signals.
	 */
	uint8_t has_cleared_file : 1;
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
		 * Time of the coarse clock, which ticks every few milliseconds, when the second
		 * wait in a row skipped the kernel (`skipped` became 2).  When the clock has
		 * advanced, a wait calls the kernel, so that descriptors that only the kernel
		 * reports do not wait longer.
		 */
		int64_t skipped_ns;
	} ask;               /* decides which waits call the kernel: see ask.h */
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
		/* low-water marks of READ and WRITE in bytes, indexed by descriptor */
		int64_t (*bytes)[2];
		int len;
	} lowat;             /* low-water marks: see count.c */

	/* Threads: see threads.c. */
	struct {
		int sleepers;    /* threads in the back end's wait */
		/* Threads in xp_quiesce: to make a change, they wait until no thread sleeps. */
		int waiting_changers;
		int inside_unlocked; /* threads that are in a call and have released the lock */
		/* How often a thread has taken the lock again after releasing it in a call. */
		uint32_t relocks;
		/* How many of the next waits assume that several threads use the queue. */
		uint8_t shared;
		/* How many of the next waits assume that several threads wait. */
		uint8_t together;
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
		 * The thread that leaves the queue next has to wake a sleeping one, which polls,
		 * because the kernel does not report the event: see xp_kick_request.
		 */
		bool is_requested;
		bool is_pending; /* wake one sleeping thread when the lock is released */
		/*
		 * number of xp_kick_all calls.  A thread that finds another number after its sleep
		 * than before is one of those that such a call makes return.
		 */
		uint32_t sequence;
		/*
		 * threads that the last xp_kick_all (make all return) wakes and whose sleep has not
		 * ended yet
		 */
		int unreturned;
	} kick;
	struct {
		/*
		 * [a] flag XP_WAKE_PENDING, plus XP_WAKE_PIN for each thread that uses the queue
		 * without holding its lock, as xpoll_wake does: xpoll_destroy waits for these
		 * threads
		 */
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
		/*
		 * followers that xp_kick_all (make all threads return) wakes and that have not
		 * returned yet
		 */
		int unreturned;
		unsigned signalled; /* bit set of the groups whose followers have to return */
		/* bit set of the signalled groups that xp_unlock has still to wake */
		unsigned pending_groups;
		int groups[XP_GROUPS]; /* number of followers in each group */
	} turn;              /* turn: the right to enter a back end for one thread at a time */
	/*
	 * [I] the descriptors that wake followers (threads that wait for the turn), one per group
	 */
	struct xp_wakefd turn_wakefds[XP_GROUPS];
	/* How many of the next waits block signals before their first sleep. */
	uint8_t hold_waits;
	/* How many of the next waits block signals without polling first: see xp_sleep_prepare. */
	uint8_t skip_poll_waits;
	struct {
		bool counted; /* [I] XPOLL_COUNT_IDLE: sleeps are timed, and read the clock twice */
		int sleepers; /* threads that sleep now, if counted */
		/*
		 * Nanoseconds: lengths of ended sleeps minus start times of current ones; may wrap.
		 * The total is this plus `sleepers` times the present time (xp_idle_total).
		 */
		uint64_t ns;
	} idle;
	/*
	 * Broadcast when threads that wait for this condition must check again what they wait for:
	 * a thread has returned from a sleep while threads.waiting_changers > 0 or during an
	 * xp_kick_all; threads.waiting_changers has become 0; turn.unreturned has become 0 after an
	 * xp_kick_all; or, in a dying queue, threads.inside_unlocked has become less.
	 */
	pthread_cond_t thread_returned;

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
	/*
	 * the wait that is calling `refresh` of a source or `ready` of a source's descriptor; NULL
	 * otherwise, also during a source's `due` and `collect`
	 */
	struct xp_wait *source_wait;

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
		bool alarm_in_use;
		/*
		 * While this is above 0, attention stays on even if there is no candidate, because
		 * switching it off and on for each event would take two system calls.
		 * xp_outer_update, called whenever a thread leaves the queue, sets XP_RECENT_FOR if
		 * there are candidates, and otherwise subtracts 1.
		 */
		uint8_t grace;
	} outer;

	/* What xpoll_wait has found, for xpoll_revents. */
	struct {
		/* `next`: index of the record that xpoll_revents returns next. */
		int next, len;
		struct xpoll_ready found[XP_FIRED_MOST];
	} batch;
};

#endif
