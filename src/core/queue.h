/*
 * The queue.
 *
 * Tags: [I] immutable after open; [q] guarded by `lock`; [a] atomic; [g]
 * guarded by the lock of the list of queues (process.c).  The order of locks
 * is: list of queues, then one queue.
 */
#ifndef XP_CORE_QUEUE_H
#define XP_CORE_QUEUE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <xpoll.h>

#include "backend/backend.h"
#include "base/counters.h"
#include "base/list.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "base/regmap.h"
#include "core/idle.h"
#include "core/places.h"
#include "core/slot.h"
#include "os/fdkind.h"
#include "os/process.h"
#include "os/sys_hot.h"
#include "source/source.h"

enum {
	XP_BATCH_CAP = 256,  /* descriptors per xpoll_wait */
	XP_STALE_WATCHED = 16, /* dead registrations counted at a time */
	XP_WAKE_PENDING = 1, /* xpoll_wake was called, nobody returned */
	XP_WAKE_WRITER = 2,  /* a thread is about to make the back end's system call */
	/*
	 * Calls without a reason, in a row, after which attention ends: an event
	 * loop has a reason in every few of its calls.
	 */
	XP_UNATTENDED_MOST = 8,
	/* Calls after which attention is likely to last: the back end may rely on it. */
	XP_ATTENDED_LONG = 64,
};

/* An entry of xpoll_wait's batch. */
struct xp_ready {
	struct xp_slot *slot;
	uint64_t token; /* the slot's, when it was found ready */
	uint32_t events;
};

/* One wait call in progress. */
struct xp_wait {
	struct xpoll_event *events; /* NULL: the poll-like level */
	struct xpoll_ready *ready;  /* of the poll-like level; NULL: the queue's batch */
	int cap;
	int len;
	int64_t deadline_ns;
	const sigset_t *mask; /* of each sleep */
	sigset_t *held; /* what was blocked before it held signals back; NULL: alone.held */
	uint32_t wait_epoch; /* the call's number: the waits that were counted */
	uint32_t sequence; /* the queue's, before the kernel was asked */
	uint32_t set;      /* number of the kernel's set that was asked */
	uint32_t wake_all;
	int counts;     /* none is pending from this event on, see event_count.h */
	unsigned fruitless; /* times the kernel was asked again at once */
	int again;      /* reports of what this call had reported already */
	uint8_t passed_over; /* filters that the check or report at hand is not for */
	bool listed;    /* the lists of sources and files were checked */
	bool exhausted; /* the kernel had no more */
	bool renew;     /* a dead registration keeps reporting: make the set again */
	bool news;      /* it reported something that nothing else had reported */
	bool kicker;    /* it calls out the next of those that were called out */
	bool slept;     /* for the first time, or more often */
	bool tried;     /* it tries without sleeping */
	bool cut;       /* it sleeps until a source's moment at the most */
	bool holds;     /* signals are handled while it sleeps and not in between */
	bool timed_out; /* the last sleep ended at the deadline */
	bool interrupted; /* a source says so, though the sleep returned something else */
};

/* What one file keeps of a queue is a part with a name; [q] but for what has another tag. */
struct xpoll {
	/* What every wait and change reads, on as few cache lines as can be. */
	_Alignas(XP_CACHE_LINE) const struct xp_backend_ops *ops; /* [I] */
	void *backend;         /* [I] the state; its content: [q] */
	const int *direct_fd;  /* [I] in there: see backend.h */
	struct xp_slots slots; /* [q] */
	uint32_t process;      /* [q] the process this queue is of (process.c) */
	/* [q] grows with each kernel change and ENABLE, but for a free one of the only thread. */
	uint32_t sequence;

	/* Slots to check, linked by next (candidate.c). */
	struct {
		int head;
		int tail;
		int len;
		struct pollfd probe; /* of the only one (recheck.h) */
	} candidates;

	/* What makes a call more than the usual one, kept by who makes it so. */
	union {
		struct {
			union {
				struct {
					bool unattached; /* the kernel lacks slots */
					bool withheld;   /* a slot may have that mark */
					bool awaited;    /* by who needs threads to leave */
					bool sourced;    /* files, moments, what is active */
				};
				uint32_t gathers; /* [q] any of these: see gather.c */
			};
			bool exposed;    /* xpoll_fd was called */
			bool recheck_wanted; /* a sleeper may have to check, see settle */
			bool kicked;     /* threads are to be woken (sleep.c) */
			uint8_t crowded; /* times until it is tried to fill the array (ask.h) */
		};
		uint64_t unusual; /* [q] any of all */
	};

	/* Threads in waits of each level while there are others (wait.h); one of these is 0. */
	struct {
		int event;
		int poll;
		bool batch; /* one of the latter is in xpoll_wait */
	} in_wait;
	struct xp_wait *source_wait; /* [q] the wait that calls a source; NULL: no wait does */
	bool lazy;       /* [q] not each change goes to the kernel */
	uint8_t vain;    /* [q] waits whose first sleep is taken for vain (sleep.c) */
	uint8_t untried; /* [q] waits until one tries without sleeping */
	struct xp_idle idle; /* [q] */

	/* Threads in calls of this queue (sleep.c). */
	struct {
		int waiters;  /* inside the back end's wait */
		int changers; /* wait for waiters to leave */
		int inside;   /* sleep in a call */
		uint32_t sleeps; /* how often one has come back from that */
		bool dying;   /* xpoll_destroy was called */
		bool torn;    /* in a child: one of the parent's was inside (child.h) */
	} threads;

	/* Calling waiters out (sleep.c). */
	struct {
		uint32_t epoch; /* grows when all waiters must come out */
		int waiters;    /* from before that */
		bool due;       /* one is to be woken when the lock is released */
	} kick;

	/* Whether the kernel is asked though events are at hand (ask.h). */
	struct {
		union {
			struct {
				bool due;
				uint8_t skipped; /* waits since the kernel was asked */
				bool always;     /* [I] XPOLL_ALL_READY */
			};
			uint32_t any;
		};
		int64_t skipped_ns; /* coarse time of the second of them */
	} ask;

	/* xpoll_wake and xpoll_wake_all (wake.c). */
	struct {
		atomic_uint state; /* [a] XP_WAKE_PENDING, and XP_WAKE_WRITER for each of these */
		uint32_t all;       /* grows with each xpoll_wake_all */
	} wake;

	/* The sleeper that comes out when a source wants to run (timer_waiter.h). */
	struct {
		uint32_t waiter;  /* 0: none */
		uint32_t waiters; /* how many there were */
		int64_t until_ns; /* what it waits for */
	} timer;

	/* Which thread waits, where only one can (sleep.c). */
	struct {
		bool several;   /* two threads have waited at a time */
		bool leader;    /* a thread has the turn */
		int followers;  /* threads that wait for it */
		int called;     /* of these, from before kick.epoch grew */
		struct xp_places places; /* where these sleep */
	} turn;

	/* Whether xpoll_fd is readable (attention.c). */
	struct {
		bool on;
		bool alarmed;  /* the back end has an alarm set */
		uint8_t calls; /* since it is, modulo 256 */
		uint8_t vain;  /* of these, in a row, that had no reason */
	} attention;

	/* Files that the kernel cannot wait for (unpollable.c). */
	struct {
		int len;
		uint32_t pass; /* over those awake */
		struct xp_regmap map;
		struct xp_list awake;  /* to check */
		struct xp_list asleep; /* those that were not ready */
	} unpollable;

	/* Low-water marks of bytes (lowat.c). */
	struct {
		struct xp_lowat_page **pages;
		int pages_len;
		int64_t pause_ns; /* until the next check of those not reached */
	} lowat;

	/* Dead registrations that keep reporting (deliver.c). */
	struct xp_stale {
		uint64_t token; /* of the last report */
		unsigned count; /* of its reports in a row */
		unsigned mixed; /* changes of the token since the set was renewed */
	} stale[XP_STALE_WATCHED];

	/* All but descriptors (registration.c). */
	struct {
		struct xp_regmap map;
		struct xp_list active; /* struct xp_registration whose condition holds */
	} registrations;

	/* Where those come from (host.c, sources.c). */
	struct {
		void *state;
		int64_t due_ns;
		struct xp_pool pool; /* of its registrations */
	} sources[XP_SOURCES]; /* by enum xp_source_id */
	int64_t due_ns;        /* [q] when a source wants to run, or XP_NEVER */
	int64_t change_ns;     /* [q] when this call began to change; or XP_NOW */
	int watches;           /* [q] descriptors of sources */
	bool probed;           /* [q] sources are to settle before a sleep */
	bool on_demand;        /* [q] one of them is XP_ON_DEMAND */
	bool vnode_as_bsd;     /* [I] XPOLL_VNODE_AS_BSD */
	uint32_t busy_poll_us; /* [I] of struct xpoll_options */
	uint16_t report_modes; /* [I] of XPOLL_CLEAR and its like, in events */
	int fired_most;        /* [I] entries that the only thread asks the kernel for */

	struct xp_mutex lock;
	pthread_cond_t thread_left;  /* signalled when a thread leaves */
	struct xp_counters counters; /* [a] */
	struct xp_list queues;       /* [g] (process.c) */

	/*
	 * The wait of a thread that is the only one of its process (wait.h).  On the
	 * stack it would cost a guard of the stack and a check of its room.
	 */
	struct {
		struct xp_wait wait;
		sigset_t held;
		struct xp_fired *fired; /* [I] room for fired_most */
	} alone;

	/* What xpoll_wait has found (batch.c): last, so that the rest is on few pages. */
	struct {
		struct xp_ready *next; /* what xpoll_revents hands out next */
		struct xp_ready *end;  /* behind the last */
		struct xp_ready ready[XP_BATCH_CAP];
	} batch;
};

/*
 * What was so at a moment is so as long as this number stays: no wait has begun, and
 * none has let go of the lock and is back.
 */
static inline uint64_t xp_moment(const struct xpoll *queue)
{
	return queue->counters.waits + queue->threads.sleeps;
}

/* What was harvested of the slot before this moment may not hold any more. */
static inline void xp_slot_marked(struct xpoll *queue, struct xp_slot *slot)
{
	slot->sequence = ++queue->sequence;
	slot->delivered.arming_last = 0;
}

/* The back end's state is this one, or NULL. */
static inline void xp_backend_set(struct xpoll *queue, void *state)
{
	static const int none = -1;

	queue->backend = state;
	queue->direct_fd = state && queue->ops->direct_fd_at
		? (const int *)((const char *)state + queue->ops->direct_fd_at) : &none;
}

/* A wait of the back end's without a mask is epoll_wait(2) of this; < 0: it is more. */
static inline int xp_direct_fd(const struct xpoll *queue)
{
	return XP_SYS_DIRECT ? *queue->direct_fd : -1;
}

static inline bool xp_wake_is_pending(const struct xpoll *queue)
{
	return atomic_load(&queue->wake.state) & XP_WAKE_PENDING;
}

/* This call found out that there is nothing: attention ends at once. */
static inline void xp_attention_over(struct xpoll *queue)
{
	queue->attention.vain = XP_UNATTENDED_MOST;
}

/*
 * Are there changes that a wait with the lock has to take along first?  A thread
 * that is in the kernel alone takes them along as well: nobody changes anything
 * while it is there.
 */
static inline bool xp_has_pending(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->ops->has_pending != NULL) &&
		queue->ops->caps & XP_CAP_CONCURRENT &&
		queue->ops->has_pending(queue->backend);
}

/* Can EXCEPT be had of it? */
static inline bool xp_excepts(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_EXCEPT;
}

/* Of the kernel's set: it grows with each that is made. */
static inline uint32_t xp_set_number(const struct xpoll *queue)
{
	return (uint32_t)queue->counters.rebuilds;
}

static inline bool xp_exact(const struct xpoll *queue)
{
	return !queue->lazy;
}

/* Returns true if the file is known to be of this kind, and the queue is one of epoll. */
static inline bool xp_slot_has_news(const struct xpoll *queue, const struct xp_slot *slot)
{
	return slot->kind == XP_KIND_NEWS && !xp_exact(queue);
}

/* Is there anything that a wait has to check beside candidates and the kernel's set? */
static inline bool xp_is_sourced(const struct xpoll *queue)
{
	return queue->watches > 0 || queue->unpollable.len > 0 || queue->due_ns != INT64_MAX ||
		!xp_list_empty(&queue->registrations.active);
}

/* Is there something left that xpoll_wait has found? */
static inline bool xp_batch_left(const struct xpoll *queue)
{
	return queue->batch.next != queue->batch.end;
}

static inline void xp_batch_begin(struct xpoll *queue, int len)
{
	queue->batch.next = queue->batch.ready;
	queue->batch.end = queue->batch.ready + len;
}

static inline bool xp_wait_full(const struct xp_wait *wait)
{
	return wait->len >= wait->cap;
}

#endif
