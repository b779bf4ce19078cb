/*
 * The wait loop: what is at hand, then the kernel.
 *
 * Back ends that cannot serve several threads let one at a time into the
 * kernel, the leader; the others wait for their turn.  A thread that changes
 * something makes the leader come out first.
 */
#include "core/wait.h"

#include <errno.h>
#include <pthread.h>

#include "base/assert.h"
#include "base/time.h"
#include "core/candidate.h"
#include "core/deliver.h"
#include "core/keeper.h"
#include "core/pollike.h"
#include "core/watch.h"
#include "os/sys.h"

enum {
	FIRED_CAP = 256,
	/* Entries taken from the kernel when the caller's array is full. */
	PRIVATE_CAP = 64,
	/* Waits that may be served without asking the kernel. */
	UNHARVESTED_MOST = 16,
};

void xp_kick(struct xpoll *queue)
{
	if (queue->waiters > 0)
		queue->ops->wake(queue->backend);
}

/* Followers come out while the gate is open; the kernel wakes all of them. */
static void gate_open(struct xpoll *queue)
{
	static const uint64_t one = 1;

	if (queue->followers == 0 || queue->gate_open)
		return;
	queue->gate_open = true;
	xp_sys_write(queue->turn_fd, &one, sizeof one);
}

static void gate_close(struct xpoll *queue)
{
	uint64_t count;

	if (!queue->gate_open)
		return;
	queue->gate_open = false;
	xp_sys_read(queue->turn_fd, &count, sizeof count);
}

void xp_kick_all(struct xpoll *queue)
{
	queue->kick_epoch++;
	queue->kicked = queue->waiters;
	queue->called = queue->followers;
	xp_kick(queue);
	gate_open(queue);
}

/* A sleeping thread's state, for when it is cancelled. */
struct sleeper {
	struct xpoll *queue;
	uint32_t kick_epoch;
	uint32_t keeper; /* not 0: it minds kept_ns */
	bool follower;
	bool poll_level;
};

/* Back from the kernel, with the lock. */
static void waiter_left(struct xpoll *queue, uint32_t kick_epoch)
{
	XP_ASSERT(queue->waiters > 0);
	queue->waiters--;
	xp_keeper_answered(queue);
	if (kick_epoch != queue->kick_epoch)
		queue->kicked--;
	XP_ASSERT(queue->kicked >= 0 && queue->kicked <= queue->waiters);
	/* A kick lets one out; that one lets the next out. */
	if (queue->kicked > 0)
		xp_kick(queue);
	if (queue->changers > 0)
		pthread_cond_broadcast(&queue->quiet);
}

static void follower_left(struct xpoll *queue, uint32_t kick_epoch)
{
	XP_ASSERT(queue->followers > 0);
	queue->followers--;
	if (kick_epoch != queue->kick_epoch && --queue->called == 0)
		pthread_cond_broadcast(&queue->quiet);
	XP_ASSERT(queue->called >= 0 && queue->called <= queue->followers);
	/* If nobody has the turn it is this thread's now. */
	if (queue->called == 0)
		gate_close(queue);
	if (queue->yielders > 0)
		pthread_cond_broadcast(&queue->quiet);
}

static void turn_pass(struct xpoll *queue)
{
	queue->leader = false;
	gate_open(queue);
}

static bool concurrent(const struct xpoll *queue)
{
	return queue->ops->caps & XP_CAP_CONCURRENT;
}

/* One sleeper comes out, for whatever reason: it looks at everything. */
static void call_one(struct xpoll *queue)
{
	xp_kick(queue);
	if (xp_keeper_missing(queue))
		xp_keeper_called(queue);
}

/*
 * This thread leaves with what it has; others that sleep must not miss what
 * it leaves behind.
 */
static void pass_on(struct xpoll *queue)
{
	queue->look_wanted = false;
	if (queue->waiters == 0)
		return;
	if (queue->candidates_len > 0)
		xp_candidates_publish(queue);
	if (queue->candidates_len > 0 || !xp_list_empty(&queue->active) ||
	    queue->files_len > 0 || atomic_load(&queue->wake_pending) ||
	    xp_keeper_missing(queue))
		call_one(queue);
}

void xp_settle(struct xpoll *queue)
{
	bool wanted = queue->look_wanted && queue->waiters > 0;

	queue->look_wanted = false;
	if (wanted && (!xp_list_empty(&queue->active) ||
	               xp_keeper_missing(queue)))
		call_one(queue);
	if (queue->exposed)
		xp_update_attention(queue);
}

static void cancelled(void *opaque)
{
	struct sleeper *sleeper = opaque;
	struct xpoll *queue = sleeper->queue;

	xp_mutex_lock(&queue->lock);
	if (sleeper->follower) {
		follower_left(queue, sleeper->kick_epoch);
		if (!queue->leader)
			turn_pass(queue);
	} else {
		waiter_left(queue, sleeper->kick_epoch);
		xp_keeper_end(queue, sleeper->keeper);
		if (!concurrent(queue))
			turn_pass(queue);
		/* The kernel may just have handed something to this thread. */
		xp_candidates_all(queue);
		pass_on(queue);
	}
	if (sleeper->poll_level)
		queue->polling = false;
	queue->inside--;
	if (queue->dying)
		pthread_cond_broadcast(&queue->quiet);
	xp_mutex_unlock(&queue->lock);
}

static int sleep_in_kernel(struct xpoll *queue, struct xp_wait *wait,
                           struct xp_fired *fired, int cap)
{
	struct sleeper sleeper = {
		.queue = queue,
		.poll_level = wait->events == NULL,
	};
	/* XP_NOW would neither sleep nor apply the mask. */
	int64_t deadline_ns = wait->deadline_ns == XP_NOW ? 1 : wait->deadline_ns;
	int rc;

	if (queue->waiters++ > 0)
		queue->several = true;
	sleeper.kick_epoch = queue->kick_epoch;
	sleeper.keeper = xp_keeper_begin(queue, &deadline_ns);
	wait->sequence = queue->sequence;
	/* What this thread could have called others for it sees to itself. */
	queue->look_wanted = false;
	if (XP_UNLIKELY(queue->exposed))
		xp_update_attention(queue);
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(cancelled, &sleeper);
	rc = queue->ops->wait(queue->backend, deadline_ns, wait->mask, fired, cap);
	pthread_cleanup_pop(0);
	xp_mutex_lock(&queue->lock);
	waiter_left(queue, sleeper.kick_epoch);
	xp_keeper_end(queue, sleeper.keeper);
	return rc;
}

/* Ask the kernel; look_only: do not sleep. */
static int ask_kernel(struct xpoll *queue, struct xp_wait *wait, bool look_only)
{
	struct xp_fired fired[FIRED_CAP];
	bool at_hand = wait->len > 0;
	int room = wait->cap - wait->len;
	int cap = room > FIRED_CAP ? FIRED_CAP : room;
	int rc;

	if (at_hand && cap < PRIVATE_CAP)
		cap = PRIVATE_CAP;
	queue->harvest_due = false;
	queue->unharvested = 0;
	xp_count(&queue->counters.syscalls_wait);
	if (look_only) {
		wait->sequence = queue->sequence;
		rc = queue->ops->wait(queue->backend, XP_NOW, NULL, fired, cap);
		xp_keeper_answered(queue);
	} else {
		rc = sleep_in_kernel(queue, wait, fired, cap);
	}
	XP_ASSERT(rc <= cap);
	wait->exhausted = rc < cap;
	if (rc > 0)
		xp_deliver_fired(queue, wait, fired, rc);
	if (rc > 0 && at_hand)
		queue->harvest_due = true;
	return rc;
}

/*
 * Must the kernel be asked although events are at hand?  Otherwise those that
 * only it knows of would starve.
 */
static bool harvest_wanted(struct xpoll *queue)
{
	if (queue->harvest_due || ++queue->unharvested >= UNHARVESTED_MOST)
		return true;
	/* A clock tick is a few milliseconds; the first waits are not timed. */
	if (queue->unharvested == 2)
		queue->skipped_ns = xp_sys_now_coarse();
	return queue->unharvested > 2 &&
		xp_sys_now_coarse() != queue->skipped_ns;
}

/* What is at hand, each kind first in its turn. */
static void gather(struct xpoll *queue, struct xp_wait *wait)
{
	if (XP_LIKELY(xp_list_empty(&queue->active) && queue->files_len == 0)) {
		if (queue->candidates_len > 0)
			xp_candidates_check(queue, wait);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		switch ((wait->batch + i) % 3) {
		case 0:
			if (!xp_list_empty(&queue->active))
				xp_deliver_active(queue, wait);
			break;
		case 1:
			if (queue->candidates_len > 0)
				xp_candidates_check(queue, wait);
			break;
		default:
			if (queue->files_len > 0)
				xp_deliver_files(queue, wait);
			break;
		}
	}
}

static bool wake_taken(struct xpoll *queue)
{
	if (!atomic_exchange(&queue->wake_pending, 0))
		return false;
	xp_count(&queue->counters.wakes);
	return true;
}

static bool deadline_passed(const struct xp_wait *wait)
{
	if (wait->deadline_ns == XP_NEVER)
		return false;
	return wait->deadline_ns == XP_NOW || xp_sys_now() >= wait->deadline_ns;
}

/* Is a source's moment here, though this thread may have slept beyond it? */
static bool due_passed(const struct xpoll *queue)
{
	return XP_UNLIKELY(queue->due_ns != XP_NEVER) &&
		xp_sys_now() >= queue->due_ns;
}

/* Is there a reason to return with nothing? */
static bool wait_over(struct xpoll *queue, const struct xp_wait *wait)
{
	if (wait->wake_all != queue->wake_all)
		return true;
	if (atomic_load(&queue->wake_pending) && wake_taken(queue))
		return true;
	return deadline_passed(wait);
}

/*
 * This thread is of the poll-like level and leaves alone what others are to
 * see: make them all come out and look.  Which of them a kick wakes is the
 * kernel's choice, and could be this thread each time.
 */
static void let_others_look(struct xpoll *queue)
{
	queue->changers++;
	xp_kick_all(queue);
	while (queue->kicked > 0)
		xp_mutex_wait(&queue->lock, &queue->quiet);
	if (--queue->changers == 0)
		pthread_cond_broadcast(&queue->quiet);
}

/* What came while this thread sleeps is for others. */
static bool for_others(const struct xpoll *queue, const struct xp_wait *wait)
{
	return !wait->events && !xp_list_empty(&queue->active);
}

/* 0, -EINTR, -EBADF; -EAGAIN: let a follower lead first. */
static int wait_loop(struct xpoll *queue, struct xp_wait *wait)
{
	for (;;) {
		bool look_only;
		int rc;

		/* Let those in who made this thread come out. */
		while (queue->changers > 0)
			xp_mutex_wait(&queue->lock, &queue->quiet);
		if (queue->dying)
			return -EBADF;
		if (XP_UNLIKELY(queue->due_ns != XP_NEVER))
			xp_sources_run_due(queue, wait->cap - wait->len);
		if (XP_UNLIKELY(for_others(queue, wait))) {
			if (queue->waiters > 0)
				let_others_look(queue);
			else if (queue->followers > 0)
				return -EAGAIN;
		}
		gather(queue, wait);
		if (wait->len > 0 && !harvest_wanted(queue))
			return 0;
		/* Ready events go before a wake, so look for them first. */
		look_only = wait->len > 0 ||
			atomic_load(&queue->wake_pending) ||
			wait->wake_all != queue->wake_all ||
			(wait->deadline_ns == XP_NOW && !wait->mask);
		rc = ask_kernel(queue, wait, look_only);
		if (rc == -EINTR && wait->events && xp_sources_interrupted(queue))
			gather(queue, wait);
		if (wait->len > 0)
			return 0;
		if (rc < 0)
			return rc;
		/* What fired may have to be looked at; there may be more of it. */
		if (queue->candidates_len > 0 || !wait->exhausted ||
		    (wait->events && !xp_list_empty(&queue->active)) ||
		    due_passed(queue))
			continue;
		if (wait_over(queue, wait))
			return 0;
	}
}

static int sleep_for_turn(struct xpoll *queue, struct xp_wait *wait)
{
	struct sleeper sleeper = {
		.queue = queue,
		.kick_epoch = queue->kick_epoch,
		.follower = true,
		.poll_level = wait->events == NULL,
	};
	struct pollfd turn = {.fd = queue->turn_fd, .events = POLLIN};
	int rc;

	queue->followers++;
	xp_mutex_unlock(&queue->lock);
	pthread_cleanup_push(cancelled, &sleeper);
	rc = xp_sys_poll_wait(&turn, 1, wait->deadline_ns, wait->mask);
	pthread_cleanup_pop(0);
	xp_mutex_lock(&queue->lock);
	follower_left(queue, sleeper.kick_epoch);
	return rc;
}

/* 1: this thread's turn; 0: the wait is over; -EINTR, -EBADF. */
static int turn_take(struct xpoll *queue, struct xp_wait *wait)
{
	while (queue->leader) {
		int rc;

		if (queue->dying)
			return -EBADF;
		if (deadline_passed(wait) || wait->wake_all != queue->wake_all)
			return 0;
		/* The gate is open for those that were called, not for this one. */
		if (queue->called > 0) {
			xp_mutex_wait(&queue->lock, &queue->quiet);
			continue;
		}
		rc = sleep_for_turn(queue, wait);
		if (rc < 0) {
			/* The turn may have come just then: it is another's. */
			if (!queue->leader)
				turn_pass(queue);
			return rc;
		}
	}
	queue->leader = true;
	return 1;
}

/* Have a follower take the turn that was passed on. */
static void yield(struct xpoll *queue)
{
	queue->yielders++;
	while (queue->followers > 0 && !queue->leader && !queue->dying)
		xp_mutex_wait(&queue->lock, &queue->quiet);
	queue->yielders--;
}

static int wait_with_turn(struct xpoll *queue, struct xp_wait *wait)
{
	if (queue->batch_next < queue->batch_len)
		xp_poll_return_batch(queue);
	wait->batch = ++queue->batch;
	return wait_loop(queue, wait);
}

/*
 * A leader of the poll-like level sleeps although there is something for the
 * other level.  That needs no turn, only that nobody sleeps on the array.
 */
static void take_without_turn(struct xpoll *queue, struct xp_wait *wait)
{
	xp_quiesce(queue);
	wait->batch = ++queue->batch;
	if (queue->due_ns != XP_NEVER)
		xp_sources_run_due(queue, wait->cap);
	xp_deliver_active(queue, wait);
}

static int wait_in_turn(struct xpoll *queue, struct xp_wait *wait)
{
	if (queue->leader && wait->events &&
	    (!xp_list_empty(&queue->active) || due_passed(queue)))
		take_without_turn(queue, wait);
	if (wait->len > 0)
		return 0;
	for (;;) {
		int rc = turn_take(queue, wait);

		if (rc <= 0)
			return rc;
		rc = wait_with_turn(queue, wait);
		turn_pass(queue);
		if (rc != -EAGAIN)
			return rc;
		yield(queue);
	}
}

int xp_wait_run(struct xpoll *queue, struct xp_wait *wait)
{
	int rc;

	xp_mutex_assert_held(&queue->lock);
	XP_ASSERT(wait->cap > 0 && wait->len == 0);
	xp_count(&queue->counters.waits);
	queue->inside++;
	wait->wake_all = queue->wake_all;
	if (concurrent(queue)) {
		rc = wait_with_turn(queue, wait);
		pass_on(queue);
	} else {
		rc = wait_in_turn(queue, wait);
	}
	queue->inside--;
	if (queue->dying)
		pthread_cond_broadcast(&queue->quiet);
	if (rc == 0 && wait->len == 0)
		xp_count(&queue->counters.empty_returns);
	else if (rc == 0 && wait->events)
		xp_count_by(&queue->counters.events, (uint64_t)wait->len);
	return rc;
}
