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
#include "core/slot.h"
#include "os/fdkind.h"
#include "os/process.h"
#include "os/wakefd.h"
#include "source/source.h"

enum {
	XP_BATCH_CAP = 256,  /* descriptors per xpoll_wait */
	XP_STALE_WATCHED = 16, /* dead registrations counted at a time */
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
	int32_t fd;
	uint32_t generation; /* the slot's, when it was found ready */
	uint32_t events;
};

struct xpoll {
	/* What every wait and change looks at, on as few cache lines as can be. */
	_Alignas(XP_CACHE_LINE) const struct xp_backend_ops *ops; /* [I] */
	void *backend;         /* [I] the state; its content: [q] */
	struct xp_slots slots; /* [q] */
	uint32_t process;      /* [q] the process this queue is of (process.c) */
	uint32_t sequence;     /* [q] grows with each ENABLE and kernel change */
	uint32_t wait_epoch;   /* [q] grows with each wait call */
	int candidates_head;   /* [q] queue of slots to check, linked by next */
	int candidates_tail;   /* [q] */
	int candidates_len;    /* [q] */
	int unpollable_len;    /* [q] files to look at, now and then at least */
	int waiters;           /* [q] threads inside the back end's wait */
	int changers;          /* [q] threads that wait for waiters to leave */
	int batch_len;         /* [q] of `ready` */
	int batch_next;        /* [q] what xpoll_revents hands out next */
	atomic_int wake_pending; /* [a] xpoll_wake was called, nobody returned */
	uint32_t wake_all;     /* [q] grows with each xpoll_wake_all */
	bool lazy;             /* [q] not each change goes to the kernel */
	bool harvest_due;      /* [q] ask the kernel though events are at hand */
	uint8_t crowded;       /* [q] harvests until it is tried to fill the array */
	uint8_t unharvested;   /* [q] waits since the kernel was asked */
	uint8_t unharvested_most; /* [I] of these the last asks the kernel */
	uint8_t untried;       /* [q] waits until one tries without sleeping */
	uint8_t vain;          /* [q] waits whose first sleep is taken for vain */
	int watches;           /* [q] descriptors of sources */
	bool unattached;       /* [q] the kernel lacks slots that it should have */
	bool withheld;         /* [q] a slot may have that mark */
	bool polling;          /* [q] a thread is in xpoll_wait */
	bool recheck_wanted;   /* [q] a sleeper may have to look, see settle */
	bool exposed;          /* [q] xpoll_fd was called */
	uint16_t report_modes; /* [I] of XPOLL_CLEAR and its like, in events */
	bool vnode_as_bsd;     /* [I] XPOLL_VNODE_AS_BSD */
	bool attention;        /* [q] its descriptor was made readable */
	bool alarmed;          /* [q] the back end has an alarm set */
	uint8_t attended;      /* [q] calls since then, modulo 256 */
	uint8_t unattended;    /* [q] of these, in a row, that had no reason */
	bool dying;            /* [q] xpoll_destroy was called */
	struct xp_list active; /* [q] struct xp_registration whose condition holds */
	int64_t due_ns;        /* [q] when a source wants to run, or XP_NEVER */
	struct xp_mutex lock;
	struct xp_counters counters; /* [a] */

	struct xp_list queues; /* [g] */

	/* Descriptors. */
	struct xp_regmap unpollable; /* [q] that the kernel cannot wait for */
	struct xp_list unpollable_awake; /* [q] of these: to look at; see unpollable.h */
	struct xp_list unpollable_asleep; /* [q] those that were not ready */
	uint32_t files_pass;         /* [q] passes over those awake */
	struct {
		struct xp_lowat_page **pages;
		int pages_len;
		int64_t pause_ns; /* until the next look at those not reached */
	} lowat; /* [q] see lowat.h */
	int64_t skipped_ns;    /* [q] coarse time of the second unharvested wait */
	struct {
		uint64_t token;
		unsigned count;
	} stale[XP_STALE_WATCHED]; /* [q] */

	/* Everything else. */
	struct xp_regmap registrations; /* [q] */
	struct {
		void *state;
		int64_t due_ns;
		struct xp_pool pool; /* of its registrations */
	} sources[XP_SOURCES]; /* [q] by enum xp_source_id */
	bool on_demand;        /* [q] one of them is XP_ON_DEMAND */
	int64_t change_ns;     /* [q] when this call began to change; or XP_NOW */

	/* Threads. */
	int inside;              /* [q] threads that sleep in a call */
	uint32_t timer_waiter;   /* [q] the sleeper that comes out at awaited_ns; 0: none */
	uint32_t timer_waiters;  /* [q] how many there were */
	int64_t awaited_ns;      /* [q] what it waits for, see timer_waiter.h */
	uint32_t kick_epoch;     /* [q] grows when all waiters must come out */
	int kicked;              /* [q] waiters from before that */
	bool several;            /* [q] two threads have waited at a time */
	bool leader;             /* [q] a thread has the turn to wait */
	int followers;           /* [q] threads that wait for their turn */
	int called;              /* [q] of these, from before kick_epoch grew */
	bool turn_signalled;     /* [q] followers come out: turn is readable */
	struct xp_wakefd turn;   /* [I] its fd is -1: not needed */
	int yielders;            /* [q] threads that have passed the turn on */
	pthread_cond_t thread_left; /* signalled when a thread leaves */

	/* The poll-like level's batch. */
	struct xp_ready ready[XP_BATCH_CAP]; /* [q] */
};

/* One wait call in progress; lives on the caller's stack. */
struct xp_wait {
	struct xpoll_event *events; /* NULL: the poll-like level */
	int cap;
	int len;
	int64_t deadline_ns;
	const sigset_t *mask; /* of each sleep */
	sigset_t *held;       /* what was blocked before it held signals back */
	uint32_t wait_epoch; /* this call's number */
	uint32_t sequence; /* the queue's, before the kernel was asked */
	uint32_t set;      /* number of the kernel's set that was asked */
	uint32_t wake_all;
	int counts;     /* none is pending from this event on, see event_count.h */
	unsigned fruitless; /* times the kernel was asked again at once */
	unsigned passed_over; /* filters that the look or report at hand is not for */
	int again;      /* reports of what this call had reported already */
	bool listed;    /* the lists of sources and files were looked at */
	bool exhausted; /* the kernel had no more */
	bool news;      /* it reported something that nothing else had reported */
	bool kicker;    /* it calls out the next of those that were called out */
	bool slept;     /* for the first time, or more often */
	bool renew;     /* a dead registration keeps reporting: make the set again */
	bool holds;     /* signals are handled while it sleeps and not in between */
	bool timed_out; /* the last sleep ended at the deadline */
};

/* This call found out that there is nothing: attention ends at once. */
static inline void xp_attention_over(struct xpoll *queue)
{
	queue->unattended = XP_UNATTENDED_MOST;
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
	return (uint32_t)xp_counter_read(&queue->counters.rebuilds);
}

static inline bool xp_exact(const struct xpoll *queue)
{
	return !queue->lazy;
}

static inline bool xp_wait_full(const struct xp_wait *wait)
{
	return wait->len >= wait->cap;
}

#endif
