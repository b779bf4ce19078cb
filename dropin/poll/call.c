/*
 * What a call does: find its set, see what changed, look, and sleep.
 *
 *   claimed     find the set, synchronise, look, report
 *   unclaimed   sleep in a real poll(2) on the epoll descriptor and the hot ones
 *
 * The sleep is a call of the C library, with the signal mask that the program asked
 * for: it is interrupted, restarted, cancelled and left by longjmp just as the
 * program's own would be, since no set is claimed meanwhile.  A call may need
 * several sleeps.  From the first one on signals are handled inside of them only,
 * or one between two sleeps would interrupt none.
 * If another thread or a signal handler has used the set in between, all starts
 * over with what the array holds by then.
 */
#include "call.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/compiler.h"
#include "base/result.h"
#include "base/time.h"
#include "os/sys.h"
#include "real.h"
#include "settings.h"
#include "sites.h"
#include "stats.h"

/* What run returns when the set is no longer what it was. */
#define AGAIN INT_MIN

/* What look returns when the real call has to speak for itself, this time. */
#define SPEAK (INT_MIN + 1)

/* Calls in a row that begin with the sleep. */
#define UNLOOKED_MOST 16

int64_t call_left_ns(const struct call *call)
{
	int64_t left_ns;

	if (call->deadline_ns == XP_NOW || call->deadline_ns == XP_NEVER)
		return call->deadline_ns;
	left_ns = call->deadline_ns - xp_sys_now();
	return left_ns > 0 ? left_ns : 0;
}

int64_t call_deadline(int64_t timeout_ns)
{
	return timeout_ns == 0 ? XP_NOW : xp_deadline(xp_sys_now(), timeout_ns);
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / XP_NS_PER_SEC),
		.tv_nsec = (long)(ns % XP_NS_PER_SEC),
	};
}

const struct timespec *call_timeout(const struct call *call,
                                    struct timespec *left)
{
	int64_t left_ns;

	if (!call->was_asleep)
		return call->timeout;
	left_ns = call_left_ns(call);
	if (left_ns == XP_NEVER)
		return NULL;
	*left = to_timespec(left_ns);
	return left;
}

static void release_signals(void *argument)
{
	const struct call *call = argument;

	if (call->holds)
		xp_sys_signals_release(call->held);
}

static int pass(struct call *call)
{
	int rc;

	stats_add(&stats.passed, 1);
	if (XP_LIKELY(!call->holds))
		return call->ops->pass(call);
	pthread_cleanup_push(release_signals, call);
	rc = call->ops->pass(call);
	pthread_cleanup_pop(0);
	return rc;
}

/* --- Which set ------------------------------------------------------------------- */

/* An array that moved: a set of the same place with nearly the same content. */
static struct set *adopt(struct call *call)
{
	struct set *set = NULL;

	while ((set = pool_next_of(call->site, set)) != NULL) {
		if (call->ops->mapped(call, set) && call->ops->resembles(call, set)) {
			set->key = call->key;
			return set;
		}
		pool_release(set);
	}
	return NULL;
}

static struct set *make(struct call *call)
{
	struct set *set = NULL;

	/* Both make system calls, which none may that passes through. */
	if (pool_is_running() && call->ops->mapped(call, NULL))
		set = pool_new(call->site, call->key, call->awake_ns,
		               call->ops->highest(call));
	return set;
}

/* Give up a set that is not worth it, or that does not work. */
static void give_up(struct call *call, struct set *set)
{
	sites_regret(call->site, set->watch.calls);
	pool_drop(set);
}

static struct set *find_set(struct call *call)
{
	struct set *set = pool_find(call->site, call->key);

	if (XP_UNLIKELY(!set))
		set = adopt(call);
	if (XP_UNLIKELY(!set) && !sites_ripe(call->site))
		return NULL;
	call->awake_ns = xp_sys_now_coarse();
	if (XP_UNLIKELY(!set))
		set = make(call);
	if (!set)
		return NULL;
	atomic_store_explicit(&set->used_ns, call->awake_ns, memory_order_relaxed);
	if (XP_UNLIKELY(call->awake_ns - set->mapped_ns > settings.recheck_ns) &&
	    settings.recheck_ns != 0) {
		set->mapped_ns = call->awake_ns;
		set->mapped_to = 0;
		set->most = 0;
	}
	if (XP_LIKELY(call->ops->mapped(call, set)))
		return set;
	pool_release(set);
	return NULL;
}

/* --- Looking ----------------------------------------------------------------------- */

/*
 * Within settings.recheck_ns each descriptor is looked at: who sleeps for half
 * of it goes through all of them in the other half at the latest.
 */
static int64_t recheck_period_ns(void)
{
	return settings.recheck_ns / 2;
}

/* A slice of the full look, if one is owed; true: look again. */
static bool recheck(struct call *call, struct set *set)
{
	int missed;

	if (set->recheck.owed == 0)
		return false;
	missed = recheck_slice(&set->recheck, &set->watch);
	call->rechecked++;
	stats_add(&stats.missed, (uint64_t)missed);
	stats_add(&stats.rechecks, set->recheck.at == 0);
	return missed > 0;
}

/*
 * What is ready now, handed out; 0: nothing.  SPEAK; or -EBADF: the set does
 * not work.
 */
static int look(struct call *call, struct set *set, const struct pollfd *sleep,
                int len)
{
	struct watch *watch = &set->watch;
	int rc;

	watch->shared = call->deadline_ns == XP_NOW && set->sleepers > 0;
	rc = len > 0 ? watch_take(watch, sleep, len) : watch_look(watch);
	if (XP_UNLIKELY(rc < 0 || watch->failed))
		return -EBADF;
	rc = call->ops->report(call, set);
	/* Ready in a way that this call does not ask for would keep us awake. */
	return rc < 0 || (rc == 0 && watch->ready_len > 0) ? SPEAK : rc;
}

/* --- Is the set worth it? ---------------------------------------------------------- */

/*
 * A real poll(2) checks each descriptor.  The set saves these checks, and costs system calls
 * beside the first, a check of each hot descriptor, and some for each that is ready, because
 * epoll_wait(2) takes longer for it than poll(2).  The unit is one check.
 */
#define SYSCALL_COST 10
#define READY_COST   3

/* A set is given up when it has lost as much as so many real calls cost. */
#define WORTH_CALLS 64

/*
 * The end of a call that found so many, or of one that the real function answers (SPEAK).
 * Releases the set, or gives it up.
 */
static void account(struct call *call, struct set *set, int rc)
{
	struct watch *watch = &set->watch;
	int64_t all = (int64_t)call->count;
	int64_t cost = SYSCALL_COST * ((int64_t)watch->syscalls - 1) + watch->hot_len;

	stats_add(&stats.syscalls, watch->syscalls);
	stats_add(&stats.changes, watch->changes);
	watch->syscalls = 0;
	watch->changes = 0;
	cost += rc == SPEAK ? all : READY_COST * (int64_t)rc;
	set->worth += all - cost;
	if (set->worth > WORTH_CALLS * all)
		set->worth = WORTH_CALLS * all;
	if (XP_UNLIKELY(set->worth < -WORTH_CALLS * all) && settings.after != 0)
		give_up(call, set);
	else
		pool_release(set);
}

/* --- Sleeping ----------------------------------------------------------------------- */

/*
 * What was closed unseen before this call, a full look finds; what is closed
 * during the call, poll(2) would not notice either.  So one full look is enough.
 */
static int64_t sleep_ns(const struct call *call, const struct set *set)
{
	int64_t left_ns = call_left_ns(call);

	if (settings.recheck_ns != 0 && left_ns > recheck_period_ns() &&
	    call->rechecked < recheck_slices(&set->watch))
		return recheck_period_ns();
	return left_ns;
}

static void hold_signals(struct call *call)
{
	if (call->holds)
		return;
	xp_sys_signals_hold(call->held);
	call->holds = true;
	if (!call->mask)
		call->mask = call->held;
	stats_add(&stats.syscalls, 2);
}

static int sleep_for(struct call *call, int64_t ns, struct pollfd *fds,
                     int len)
{
	struct timespec time = to_timespec(ns);
	int rc;

	stats_add(&stats.syscalls, 1);
	pthread_cleanup_push(release_signals, call);
	rc = real.ppoll(fds, (nfds_t)len, ns == XP_NEVER ? NULL : &time, call->mask);
	pthread_cleanup_pop(0);
	return rc;
}

/*
 * Of what has become hot during the sleep: as it is now.  The others must not be
 * looked at again, as there are files of which that consumes what there is.
 */
static int look_at_new(const struct watch *watch, struct pollfd *sleep, int len)
{
	struct pollfd now[WATCH_SLEEP_LEN];
	int now_len = watch_sleepers(watch, now);

	for (int i = 0; i < now_len; i++)
		for (int k = 0; k < len; k++)
			if (sleep[k].fd == now[i].fd)
				now[i].fd = ~k; /* which poll ignores */
	(void)xp_sys_poll_now(now, (size_t)now_len);
	for (int i = 0; i < now_len; i++)
		if (now[i].fd < 0)
			now[i] = sleep[~now[i].fd];
	memcpy(sleep, now, (size_t)now_len * sizeof *now);
	return now_len;
}

/*
 * Sleep until something may be ready.  1: look, the set is claimed; 0: the time
 * is over; -1: errno is set, EINTR as a rule; AGAIN.  Enters claimed, and leaves
 * unclaimed but for 1.
 */
static int sleep_and_claim(struct call *call, struct set *set,
                           struct pollfd *fds, int *len)
{
	uint32_t turn = set->turn;
	int64_t ns = sleep_ns(call, set);
	int rc;

	hold_signals(call);
	*len = watch_sleepers(&set->watch, fds);
	pool_sleep(set);
	pool_release(set);
	call->was_asleep = true;
	rc = sleep_for(call, ns, fds, *len);
	call->awake_ns = xp_sys_now_coarse();
	pool_awake(set);
	if (rc < 0)
		return rc;
	if (rc == 0 && call_left_ns(call) == 0)
		return 0;
	if (!pool_reclaim(set, turn))
		return AGAIN;
	atomic_store_explicit(&set->used_ns, call->awake_ns, memory_order_relaxed);
	/* What was closed meanwhile poll(2) looks at again; select(2) varies. */
	if (call->fds && watch_hear(&set->watch))
		*len = look_at_new(&set->watch, fds, *len);
	if (rc == 0) /* Nothing has come for as long as a look at all takes. */
		set->recheck.owed = recheck_slices(&set->watch);
	return 1;
}

/*
 * Begin with the sleep?  A look that finds nothing is a system call too many, so
 * where the last one found nothing the next calls do without, but for one in a
 * while: it may have changed.
 */
static bool sleep_is_first(const struct call *call, struct set *set)
{
	if (!set->slept || call->was_asleep || call->deadline_ns == XP_NOW ||
	    set->recheck.owed > 0 || set->watch.failed)
		return false;
	if (++set->unlooked < UNLOOKED_MOST)
		return true;
	set->unlooked = 0;
	return false;
}

/* --- All of it -------------------------------------------------------------------------- */

/*
 * Look; true: that is the end of the call, the set is released, and *rcp what
 * it returns.
 */
static bool look_ends(struct call *call, struct set *set,
                      const struct pollfd *sleep, int len, int *rcp)
{
	int rc;

	do {
		rc = look(call, set, sleep, len);
		len = 0;
	} while (rc >= 0 && XP_UNLIKELY(recheck(call, set)));
	if (rc == -EBADF || rc == SPEAK) {
		if (rc == SPEAK)
			account(call, set, SPEAK);
		else
			give_up(call, set);
		*rcp = pass(call);
		return true;
	}
	if (!call->was_asleep)
		set->slept = rc == 0;
	/* A signal mask has to be in force at least for a moment. */
	if (rc == 0 && (call->deadline_ns != XP_NOW || call->mask))
		return false;
	account(call, set, rc);
	if (rc == 0)
		call->ops->clear(call);
	*rcp = xp_result(rc);
	return true;
}

/* With a claimed set; releases it.  The result, -1 with errno, or AGAIN. */
static int run(struct call *call, struct set *set)
{
	struct pollfd sleep[WATCH_SLEEP_LEN];
	int64_t changed = call->ops->sync(call, set);
	int len = 0;
	int rc;

	if (XP_UNLIKELY(changed < 0)) {
		give_up(call, set);
		return pass(call);
	}
	if (changed > 0) {
		set->turn++;
		stats_add(&stats.changed, (uint64_t)changed);
	}
	watch_begin(&set->watch);
	for (;;) {
		if (settings.recheck_ns != 0)
			recheck_reckon(&set->recheck, &set->watch, call->awake_ns,
			               recheck_period_ns());
		if (!sleep_is_first(call, set)) {
			if (look_ends(call, set, sleep, len, &rc))
				return rc;
			len = 0;
			/* There is time now: on with what is owed. */
			if (set->recheck.owed > 0)
				continue;
		}
		rc = sleep_and_claim(call, set, sleep, &len);
		if (rc == 0)
			call->ops->clear(call);
		if (rc == -1 && errno != EINTR) /* Our few may be too many. */
			return pass(call);
		if (rc != 1)
			return rc;
	}
}

bool call_try(struct call *call, int *rcp)
{
	struct set *set = find_set(call);
	sigset_t held; /* not in the call, most of which are passed through or do not sleep */
	int rc;

	if (!set)
		return false;
	call->held = &held;
	pthread_testcancel();
	while ((rc = set ? run(call, set) : pass(call)) == AGAIN)
		set = find_set(call);
	release_signals(call);
	*rcp = rc;
	return true;
}
