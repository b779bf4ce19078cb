/*
 * The queue.
 *
 * Everything is guarded by `lock`, but for what has a tag: [I] immutable after open; [a]
 * atomic; [g] guarded by the lock of the list of queues (process.c).  `process` is compared
 * without it: it changes only in a child that no other thread shares.  The order of locks is:
 * list of queues, then one queue.
 *
 * slot: what is known of a descriptor.  entry: what the kernel's set has of it; solo: of one
 *   filter of it alone.  filter: READ, WRITE, EXCEPT.
 * candidate: a slot whose state a wait checks by poll(2).  report: what the kernel returns for an
 *   entry.  record: what a wait returns for a filter or a descriptor.
 * to publish: to have the kernel report what would be a candidate.
 * kick: make a thread that sleeps in the kernel come out and look.  kick.wanted: the next
 *   thread that leaves has to kick one.  kick.epoch: counts the calls that make all come out.
 * mark of a slot: reports that were fetched before it have to be checked.
 * slot.epoch: the number of a wait call.
 * leader: the thread that is in a back end for one thread; follower: one that waits for the
 *   turn.
 * source: reports other events than readiness; due: the time at which one has to run.
 * exposed: xpoll_fd has returned the outer descriptor; attention: makes that descriptor
 *   readable although the kernel's set has no report.
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

/* Numbers of several mechanisms: see docs/internals/mechanisms.md. */
enum {
	/*
	 * One of so many waits asks the kernel though events are at hand; so many candidates a wait
	 * checks at least, and so many of the files that were not ready at most: "The kernel is
	 * not asked", "Checks by poll(2)", "Files that the kernel refuses".
	 */
	XP_ASK_EVERY = 16,
	/*
	 * Waits, or calls, for which the queue expects that what has happened happens again:
	 * "Half the room", "One-shot entries", "Signals are held", "xpoll_fd stays readable"; and
	 * for which the size of a pipe is believed: "The size of a pipe".
	 */
	XP_RECENT_FOR = 64,
	/*
	 * Reports or checks in vain, in a row, before the kernel's entry, or its set, is changed:
	 * "Edges that nobody wants", "Back to the level", "Renewal".
	 */
	XP_FRUITLESS_MOST = 4,
};

enum {
	XP_GROUPS = 2,       /* of followers: one that a passed turn wakes, and all others */
	/* wake.state */
	XP_WAKE_PENDING = 1, /* xpoll_wake was called, and no wait has returned for it */
	XP_WAKE_WRITER = 2,  /* a thread is in xpoll_wake; one for each */
};

/* The array that a wait fills. */
enum xp_format {
	XP_EVENTS, /* the caller's array of struct xpoll_event */
	XP_READY,  /* the caller's array of struct xpoll_ready */
	XP_BATCH,  /* the queue's batch, for xpoll_revents */
	XP_ENTERED = 4, /* ORed: the caller has entered the queue */
};

/* A descriptor that xpoll_wait has found, for xpoll_revents. */
struct xp_found {
	uint64_t token;
	uint32_t events;
};

/* One call that waits. */
struct xp_wait {
	union {
		struct xpoll_event *events; /* of XP_EVENTS */
		struct xpoll_ready *ready;  /* of XP_READY */
		struct xp_found *found;     /* of XP_BATCH */
	};
	int cap, len;         /* records that the array has room for, and that are filled */
	int64_t deadline_ns;  /* XP_NOW: does not sleep; XP_NEVER */
	const sigset_t *own_mask; /* the call's, or NULL: see xp_wait_mask */
	sigset_t blocked;     /* the mask from before signals were held back, to be restored */
	enum xp_format format;
	uint32_t epoch;       /* the number of this call */
	uint32_t wake_all;    /* the queue's when the call began */
	/* The members from here on are zero at the beginning. */
	unsigned looks;       /* times that the kernel was asked in vain */
	uint32_t sequence;    /* the queue's `sequence` before the kernel was asked */
	uint32_t set;         /* the number of the kernel's set that was asked */
	bool delivered_some; /* the last harvest has delivered something */
	bool repeated;    /* it has reported what this call had delivered */
	bool more;        /* the kernel may have more reports */
	bool renew;       /* the entry of an ended registration keeps reporting */
	bool listed;      /* sources or files were delivered or checked, which are no candidates */
	bool kicker;      /* this thread has to wake the next of those that were called out */
	bool tried;       /* it has looked before it sleeps */
	bool slept;       /* the thread has slept in this call */
	bool holds;       /* signals are blocked between the sleeps of this call */
	bool timed_out;   /* the last sleep ended at the deadline */
	bool interrupted; /* a source has found that a signal handler ran in the last sleep */
};

struct xpoll {
	const struct xp_backend_ops *ops; /* [I] */
	void *backend;            /* [I] the back end's state */
	bool lazy;                /* [I] epoll: each change is a system call, so it makes few */
	uint32_t busy_poll_us;    /* [I] as in the options */
	bool vnode_as_bsd;        /* [I] XPOLL_VNODE_AS_BSD */
	uint16_t report_modes;    /* [I] the modes that events report: XPOLL_TELL_MODES */
	struct xp_fired *fired;   /* [I] room for reports, of the only thread of its process */
	int fired_most;           /* [I] how many there is room for */
	uint32_t process;         /* the process that the queue is of: see process.c */
	struct xp_list queues;    /* [g] */
	struct xp_mutex lock;
	struct xp_counters counters; /* those of system calls are [a] */

	/* Descriptors. */
	struct {
		struct xp_slot **pages;
		int pages_len;
	} slots;             /* by descriptor: see slot.h */
	uint32_t sequence;   /* grows with each mark of a slot */
	uint8_t withheld : 1;   /* a slot may be `withheld` */
	uint8_t unattached : 1; /* the kernel lacks a slot, for want of memory: see renew.c */
	uint8_t probed : 1;     /* a source has to be asked before a sleep */
	struct {
		int head, tail, len; /* slots linked by slot.next: see candidates.c */
	} candidates;
	struct {
		uint8_t skipped; /* waits since the kernel was asked */
		bool due;        /* the next wait asks the kernel in any case */
		bool always;     /* [I] XPOLL_ALL_READY */
		uint8_t crowded; /* harvests that leave room for two events of each entry */
		int64_t skipped_ns; /* coarse time of the second of the skipped waits */
	} ask;               /* see ask.h */
	struct {
		struct xp_file **at;   /* by descriptor */
		int at_len;
		struct xp_list awake;  /* to be checked */
		struct xp_list asleep; /* those that were not ready */
		uint32_t pass;         /* the number of the last pass over them */
	} files;             /* that the kernel refuses: see files.c */
	struct {
		struct xp_lowat_page **pages;
		int pages_len;
	} lowat;             /* low-water marks: see lowat.c */

	/* Threads: see threads.c. */
	struct {
		int sleepers;    /* threads in the back end's wait */
		int changers;    /* threads that wait until there is no sleeper */
		int inside;      /* threads in a call that have released the lock for a while */
		uint32_t sleeps; /* grows when a thread is back from a sleep */
		const int *last; /* &errno of the thread that waited last, which identifies it */
		uint8_t shared;  /* waits for which the queue counts as shared */
		bool dying;      /* xpoll_destroy was called */
		bool torn;       /* in a forked child: a thread of the parent's was inside */
	} threads;
	struct {
		int event; /* of the event level; this one or the next is 0 */
		int poll;  /* of the poll-like level */
		bool batch; /* one of these is in xpoll_wait */
	} in_wait;           /* threads in calls that wait */
	struct {
		bool wanted;     /* a thread that sleeps has to look: see marks.h */
		bool due;        /* one is to be woken when the lock is released */
		uint32_t epoch;  /* grows when all sleepers have to come out */
		int left;        /* those of them that have not come out yet */
	} kick;
	struct {
		atomic_uint state; /* [a] */
		uint32_t all;      /* grows with each xpoll_wake_all */
	} wake;
	struct {
		uint32_t waiter;   /* the thread that sleeps no longer than until due_ns; 0: none */
		uint32_t numbers;  /* timer waiters so far; gives the next one its number */
		int64_t until_ns;  /* what it waits for */
	} timer;
	struct {
		bool leader;      /* a thread has the turn */
		int followers;    /* threads that wait for it */
		int called;       /* of these, those that have to come out */
		unsigned signalled; /* groups of followers that are to come out, a bit for each */
		unsigned due;       /* of these, whose descriptor is not readable yet */
		int groups[XP_GROUPS]; /* followers in each */
		struct xp_wakefd wakefds[XP_GROUPS]; /* [I] what they wait for */
	} turn;              /* of back ends that serve one thread at a time */
	uint8_t holding;     /* waits that hold signals back before their first sleep */
	uint8_t untried;     /* waits until one looks first, without holding signals back */
	struct {
		bool counted; /* [I] XPOLL_COUNT_IDLE: takes two readings of the clock a sleep */
		int sleepers; /* threads that sleep now */
		uint64_t ns;  /* of ended sleeps, minus the start of each that lasts; wraps */
	} idle;
	pthread_cond_t thread_left; /* a thread has come out, or has left */

	/* Sources: see sources.c. */
	struct {
		struct xp_regmap map;
		struct xp_list active; /* those that are enabled and whose condition holds */
	} registrations;
	struct {
		void *state;
		struct xp_pool pool; /* of its registrations */
		int64_t due_ns;      /* when it wants to run; XP_NEVER, XP_ON_DEMAND */
	} sources[XP_SOURCES];
	int64_t due_ns;      /* the earliest of these times */
	int64_t change_ns;   /* when this call began to change something; XP_NOW: not known */
	bool on_demand;      /* a source has XP_ON_DEMAND */
	struct xp_wait *source_wait; /* the wait that calls a source now */

	/* The descriptor of the queue: see outer.c. */
	struct {
		bool exposed;     /* xpoll_fd was called */
		bool attention;   /* it is readable by itself */
		bool alarmed;     /* a time was set for it */
		uint8_t patience; /* updates that it stays readable without a reason, plus 1 */
	} outer;

	struct {
		int next, len;
		struct xp_found found[XP_FIRED_MOST];
	} batch;
};

#endif
