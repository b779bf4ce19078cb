/*
 * timerfd for systems that lack it: a thread of this library makes the descriptor of an expired
 * timer readable.
 *
 * One lock guards the state of all timers.  The first timerfd_settime(2) that arms a timer starts
 * the thread, which sleeps until the next timer is due.  read(2) computes the number of expirations
 * from the clock, so the number is right even if the thread is late.  Like on Linux, a periodic
 * timer that has expired makes no further edge before the next read(2), timerfd_gettime(2) or
 * timerfd_settime(2).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/time.h"
#include "pipe.h"
#include "real.h"

enum {
	/* the longest sleep (ns) of the thread while a timer depends on a clock that may be set */
	CLOCK_CHECK_NS = 1000000000,
	/*
	 * if realtime_offset_ns changes by more than this (ns) between two checks, the real-time
	 * clock was set; adjtime(2) changes it by less
	 */
	CLOCK_STEP_NS = 20000000,
};

struct ep_timer {
	struct ep_object object;
	struct ep_timer *next; /* next in timers.all */
	struct ep_pipe pipe;
	clockid_t clock;       /* the clock of timerfd_create(2) */
	/* clock of due_ns: `clock`, but CLOCK_MONOTONIC for a relative time on CLOCK_REALTIME */
	clockid_t due_clock;
	int64_t due_ns;        /* next expiration (if is_expired: the last one); 0: disarmed */
	int64_t interval_ns;
	/* if is_cancel_on_set: the last result of realtime_offset_ns */
	int64_t offset_ns;
	uint64_t ticks;        /* number of expirations that no read(2) has returned yet */
	/*
	 * The timer has expired, and does not expire again while this member is true.  read(2) and
	 * timerfd_settime(2) set this member to false, and so does timerfd_gettime(2) if the timer
	 * is periodic.
	 */
	bool is_expired;
	/* the timer is set by TFD_TIMER_CANCEL_ON_SET to an absolute time on CLOCK_REALTIME */
	bool is_cancel_on_set;
	/* The real-time clock was set; until read(2) fails with ECANCELED, or timerfd_settime(2) */
	bool is_canceled;
};

static struct {
	/*
	 * Guards all timers.  Calls of the program lock it by ep_lock, which blocks signals.  The
	 * thread, in which all signals are always blocked, locks it directly.
	 */
	pthread_mutex_t lock;
	struct ep_locked before_fork; /* the result of ep_lock in fork_prepare, for fork_end */
	struct ep_timer *all;
	/*
	 * the thread was started; in a forked child this is a copy of the parent's value until
	 * ep_revive starts the child's thread
	 */
	bool has_thread;
	/*
	 * signalled when a timer was set or armed again, to have the thread compute its sleep again
	 */
	pthread_cond_t changed;
} timers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pool_list pool;

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return timeout_ns(&now);
}

/*
 * Returns the real-time clock minus the monotonic clock.  Reads both again if the thread may have
 * been preempted in between, because the difference would then look like a clock that was set.
 */
static int64_t realtime_offset_ns(void)
{
	int64_t begin_ns, realtime_ns;

	do {
		begin_ns = now_ns(CLOCK_MONOTONIC);
		realtime_ns = now_ns(CLOCK_REALTIME);
	} while (now_ns(CLOCK_MONOTONIC) - begin_ns > CLOCK_STEP_NS / 2);
	return realtime_ns - begin_ns;
}

/* --- Expirations, under the lock ---------------------------------------------------------- */

/*
 * Make the timer's descriptor readable if the timer has expired, or if it has is_cancel_on_set and
 * the real-time clock was set since the last call of this function.
 */
static void expire_or_cancel(struct ep_timer *timer)
{
	if (timer->is_cancel_on_set) {
		int64_t before_ns = timer->offset_ns;

		timer->offset_ns = realtime_offset_ns();
		if (llabs(timer->offset_ns - before_ns) > CLOCK_STEP_NS) {
			timer->is_canceled = true;
			ep_pipe_notify(&timer->pipe);
		}
	}
	if (timer->due_ns == 0 || timer->is_expired || now_ns(timer->due_clock) < timer->due_ns)
		return;
	timer->is_expired = true;
	timer->ticks++;
	if (timer->interval_ns == 0)
		timer->due_ns = 0;
	ep_pipe_notify(&timer->pipe);
}

/*
 * If this timer is periodic and has expired: add the number of expirations after the first to
 * `ticks`, and arm the timer again for the next expiration, which will make a new edge.
 */
static void rearm_periodic(struct ep_timer *timer)
{
	int64_t missed;

	if (!timer->is_expired || timer->interval_ns == 0)
		return;
	missed = (now_ns(timer->due_clock) - timer->due_ns) / timer->interval_ns;
	/* A clock that was set back after the expiration has not reached due_ns again: add 0. */
	if (missed < 0)
		missed = 0;
	timer->ticks += (uint64_t)missed;
	timer->due_ns += (missed + 1) * timer->interval_ns;
	timer->is_expired = false;
	pthread_cond_signal(&timers.changed);
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / XP_NS_PER_SEC),
	                         .tv_nsec = (long)(ns % XP_NS_PER_SEC)};
}

/* Returns the timer's interval and the time until its next expiration, like timerfd_gettime(2). */
static struct itimerspec remaining_setting(struct ep_timer *timer)
{
	int64_t left_ns;

	expire_or_cancel(timer);
	rearm_periodic(timer);
	left_ns = timer->due_ns == 0 ? 0 : timer->due_ns - now_ns(timer->due_clock);
	/* Return at least 1 ns for an armed timer, because 0 means that it is not armed. */
	if (timer->due_ns != 0 && left_ns <= 0)
		left_ns = 1;
	return (struct itimerspec){.it_interval = to_timespec(timer->interval_ns),
	                           .it_value = to_timespec(left_ns)};
}

/* --- The thread --------------------------------------------------------------------------- */

/*
 * Expire all timers that are due.  Called with the lock.  Returns how long (ns) the thread may
 * sleep then: until the next timer is due, but at most CLOCK_CHECK_NS if a timer depends on a clock
 * that may be set, because only reading that clock shows this; XP_NEVER: without a limit.
 */
static int64_t expire_due_timers(void)
{
	int64_t first_ns = XP_NEVER;

	for (struct ep_timer *timer = timers.all; timer; timer = timer->next) {
		bool is_armed, is_checked;
		int64_t left_ns;

		expire_or_cancel(timer);
		is_armed = timer->due_ns != 0 && !timer->is_expired;
		left_ns = is_armed ? timer->due_ns - now_ns(timer->due_clock) : XP_NEVER;
		is_checked = (is_armed && timer->due_clock != CLOCK_MONOTONIC) ||
		             timer->is_cancel_on_set;
		if (is_checked && left_ns > CLOCK_CHECK_NS)
			left_ns = CLOCK_CHECK_NS;
		if (left_ns < first_ns)
			first_ns = left_ns;
	}
	return first_ns < 0 ? 0 : first_ns;
}

/*
 * Let the thread sleep until a timer is set or armed again, at most left_ns; XP_NEVER: without a
 * limit.  Called with the lock, which is released during the sleep.
 */
static void sleep_for(int64_t left_ns)
{
	struct timespec end;

	if (left_ns == XP_NEVER) {
		pthread_cond_wait(&timers.changed, &timers.lock);
		return;
	}
#ifdef __APPLE__
	end = to_timespec(left_ns);
	pthread_cond_timedwait_relative_np(&timers.changed, &timers.lock, &end);
#else
	end = to_timespec(xp_deadline(now_ns(CLOCK_MONOTONIC), left_ns));
	pthread_cond_timedwait(&timers.changed, &timers.lock, &end);
#endif
}

static void *run_timer_thread(void *unused)
{
	(void)unused;
	ep_inside = true;
	pthread_mutex_lock(&timers.lock);
	for (;;) {
		int64_t left_ns = expire_due_timers();

		if (left_ns > 0)
			sleep_for(left_ns);
	}
	return NULL;
}

static void make_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
#ifndef __APPLE__
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
	pthread_cond_init(&timers.changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* Start the thread, unless it was started.  Called with the lock.  Returns 0 or -errno. */
static int start_thread(void)
{
	int rc;

	if (timers.has_thread)
		return 0;
	make_condition();
	rc = ep_thread_start(run_timer_thread);
	timers.has_thread = rc == 0;
	return rc;
}

/* --- read ----------------------------------------------------------------------------------- */

/*
 * Store in *ticks the number of expirations since the last read; 0: none.  Returns 0; or
 * -ECANCELED, once, if the real-time clock was set and the timer has TFD_TIMER_CANCEL_ON_SET.
 */
static int try_read(struct ep_timer *timer, uint64_t *ticks)
{
	struct ep_locked before = ep_lock(&timers.lock);
	int rc = 0;

	expire_or_cancel(timer);
	if (timer->is_canceled) {
		timer->is_canceled = false;
		rc = -ECANCELED;
	} else if (timer->ticks > 0) {
		rearm_periodic(timer);
	}
	*ticks = rc < 0 ? 0 : timer->ticks;
	timer->ticks = 0;
	if (*ticks > 0 || rc < 0) {
		timer->is_expired = false;
		ep_pipe_drain(&timer->pipe);
	}
	ep_unlock(&timers.lock, before);
	return rc;
}

ssize_t ep_timer_read(struct ep_object *object, int fd, void *buffer, size_t size)
{
	struct ep_timer *timer = (struct ep_timer *)object;
	uint64_t ticks;
	int rc;

	if (size < sizeof ticks)
		return -EINVAL;
	while ((rc = try_read(timer, &ticks)) == 0 && ticks == 0) {
		rc = ep_pipe_wait(object, &timer->pipe, &timers.lock, fd);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	memcpy(buffer, &ticks, sizeof ticks);
	return sizeof ticks;
}

/* --- The calls -------------------------------------------------------------------------------- */

static void end_timer(struct ep_object *object)
{
	struct ep_timer *timer = (struct ep_timer *)object;
	struct ep_timer **link = &timers.all;
	struct ep_locked before;

	before = ep_lock(&timers.lock);
	while (*link != timer)
		link = &(*link)->next;
	*link = timer->next;
	ep_unlock(&timers.lock, before);
	ep_pipe_close(&timer->pipe);
	pool_give(&pool, &object->free);
}

/*
 * Returns a timer that is not armed, in the memory of an ended one or new memory; NULL: no memory.
 */
static struct ep_timer *allocate(void)
{
	struct ep_timer *timer = pool_take(&pool);

	if (!timer) {
		timer = calloc(1, sizeof *timer);
		if (!timer)
			return NULL;
		timer->object.kind = EP_TIMER;
		timer->object.end = end_timer;
	}
	timer->due_ns = timer->interval_ns = 0;
	timer->ticks = 0;
	timer->is_expired = timer->is_cancel_on_set = timer->is_canceled = false;
	return timer;
}

static int open_timer(clockid_t clock, int flags)
{
	struct ep_timer *timer = allocate();
	int fd = timer ? ep_pipe_open(&timer->pipe, flags) : -ENOMEM;
	struct ep_locked before;

	if (fd < 0) {
		if (timer)
			pool_give(&pool, &timer->object.free);
		return fd;
	}
	timer->clock = timer->due_clock = clock;
	before = ep_lock(&timers.lock);
	timer->next = timers.all;
	timers.all = timer;
	ep_unlock(&timers.lock, before);
	atomic_store(&timer->object.refs, 1);
	return ep_publish(&timer->object, fd);
}

EXPORT int timerfd_create(int clockid, int flags)
{
	bool is_known = clockid == CLOCK_REALTIME || clockid == CLOCK_MONOTONIC;

#ifdef CLOCK_BOOTTIME
	is_known |= clockid == CLOCK_BOOTTIME;
#endif
	if (!is_known || flags & ~EP_PIPE_FLAGS)
		return xp_public_result(-EINVAL);
	return xp_public_result(open_timer((clockid_t)clockid, flags));
}

/*
 * Returns the timer that fd refers to, with a reference that the caller ends by ep_object_drop.  If
 * fd refers to no timer, returns NULL and stores a negative errno value in *rc.
 */
static struct ep_timer *hold_timer(int fd, int *rc)
{
	struct ep_object *object;
	int saved = errno;

	ep_revive();
	object = ep_object_hold(fd, EP_TIMER);
	if (!object)
		*rc = ep_real()->fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
	errno = saved;
	return (struct ep_timer *)object;
}

/* Do a timerfd_settime(2) with valid arguments.  Called with the lock.  Returns 0 or -errno. */
static int set_timer(struct ep_timer *timer, int flags, const struct itimerspec *value)
{
	bool is_absolute = flags & TFD_TIMER_ABSTIME;
	int64_t value_ns = timeout_ns(&value->it_value);
	int rc = value_ns > 0 ? start_thread() : 0;

	if (rc < 0)
		return rc;
	timer->due_clock = is_absolute || timer->clock != CLOCK_REALTIME ? timer->clock
	                                                            : CLOCK_MONOTONIC;
	timer->interval_ns = timeout_ns(&value->it_interval);
	timer->due_ns = value_ns == 0 || is_absolute
		? value_ns : xp_deadline(now_ns(timer->due_clock), value_ns);
	timer->ticks = 0;
	timer->is_expired = timer->is_canceled = false;
	timer->is_cancel_on_set = is_absolute && flags & TFD_TIMER_CANCEL_ON_SET &&
		timer->clock == CLOCK_REALTIME && value_ns > 0;
	timer->offset_ns = timer->is_cancel_on_set ? realtime_offset_ns() : 0;
	ep_pipe_drain(&timer->pipe);
	expire_or_cancel(timer);
	if (timer->due_ns > 0 || timer->is_cancel_on_set)
		pthread_cond_signal(&timers.changed);
	return 0;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                           struct itimerspec *old_value)
{
	struct ep_timer *timer;
	struct itimerspec old;
	struct ep_locked before;
	int rc = 0;

	if (!new_value)
		return xp_public_result(-EFAULT);
	if (flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
	    !timeout_is_valid(&new_value->it_value) || !timeout_is_valid(&new_value->it_interval))
		return xp_public_result(-EINVAL);
	timer = hold_timer(fd, &rc);
	if (!timer)
		return xp_public_result(rc);
	before = ep_lock(&timers.lock);
	old = remaining_setting(timer);
	rc = set_timer(timer, flags, new_value);
	ep_unlock(&timers.lock, before);
	ep_object_drop(&timer->object);
	if (rc == 0 && old_value)
		*old_value = old;
	return xp_public_result(rc);
}

EXPORT int timerfd_gettime(int fd, struct itimerspec *curr_value)
{
	int rc = 0;
	struct ep_timer *timer = hold_timer(fd, &rc);
	struct ep_locked before;

	if (!timer)
		return xp_public_result(rc);
	before = ep_lock(&timers.lock);
	*curr_value = remaining_setting(timer);
	ep_unlock(&timers.lock, before);
	ep_object_drop(&timer->object);
	return 0;
}

/* --- Fork ---------------------------------------------------------------------------------- */

static void fork_prepare(void)
{
	timers.before_fork = ep_lock(&timers.lock);
}

/* Called after fork(2) in parent and child: unlock the lock that fork_prepare has locked. */
static void fork_end(void)
{
	ep_unlock(&timers.lock, timers.before_fork);
}

static void revive_thread(void)
{
	struct ep_locked before = ep_lock(&timers.lock);

	/* Ignore an error: a later timerfd_settime(2) tries again to start the thread. */
	timers.has_thread = false;
	(void)start_thread();
	ep_unlock(&timers.lock, before);
}

/*
 * In a forked child, which has copies of the timers but not the thread: give each timer a pipe of
 * its own.  If the parent had the thread, have the next ep_revive start one in the child.
 */
static void fork_child(void)
{
	for (struct ep_timer *timer = timers.all; timer; timer = timer->next) {
		bool is_readable = timer->pipe.unread_bytes > 0;

		ep_pipe_unshare(&timer->object, &timer->pipe);
		if (is_readable && timer->pipe.unread_bytes == 0)
			ep_pipe_notify(&timer->pipe);
	}
	if (timers.has_thread)
		ep_add_revival(revive_thread);
	fork_end();
}

__attribute__((constructor)) static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_end, fork_child);
}
