/*
 * A call, from its beginning to its end.
 *
 * While the set is claimed: synchronise it with the array, poll it, store the results.
 * While it is not claimed: sleep in a real poll(2) of the epoll descriptor and the hot descriptors.
 *
 * The sleep is a call of the C library with the signal mask that the program passed, and no set is
 * claimed meanwhile.  So signals interrupt and restart it, and cancellation and longjmp leave it,
 * like the program's own call.  A call may need several sleeps.  From the first one on signals are
 * blocked except during the sleeps, because a signal between two sleeps would interrupt neither. If
 * another thread or a signal handler has used the set during a sleep, the call starts over with the
 * present contents of the array.
 */
#include "call.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/compiler.h"
#include "base/result.h"
#include "base/time.h"
#include "real.h"
#include "settings.h"
#include "sites.h"
#include "stats.h"
#include "sys/sys.h"

/* Result of a step: the set has changed, so start the call over. */
#define RESTART INT_MIN

/* Result of poll_set: the real function has to make this call. */
#define USE_REAL (INT_MIN + 1)

/* A call that would sleep first polls first after this many that slept first. */
#define SLEEPS_FIRST_MOST 16

/* --- Time ------------------------------------------------------------------------ */

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

/* --- The real call ------------------------------------------------------------------ */

static void release_signals(void *argument)
{
	const struct call *call = argument;

	if (call->holds_signals)
		xp_sys_signals_release(call->restore_mask);
}

static int pass(struct call *call)
{
	int rc;

	stats_add(&stats.passed, 1);
	if (XP_LIKELY(!call->holds_signals))
		return call->ops->pass(call);
	pthread_cleanup_push(release_signals, call);
	rc = call->ops->pass(call);
	pthread_cleanup_pop(0);
	return rc;
}

/*
 * Returns the size of memory that counts as checked by the last real call.  It extends to the end
 * of the array's last page, but not beyond the limit of descriptors, so that not each additional
 * entry needs a real call.
 */
static size_t size_checked(const struct call *call)
{
	uintptr_t from = call->memory.at[0];
	uintptr_t end = from + call->memory.size + PAGE_SIZE_LEAST - 1;
	size_t size = (end & ~(uintptr_t)(PAGE_SIZE_LEAST - 1)) - from;
	size_t most = kernel_descriptor_limit() * sizeof *call->fds;

	return size < most ? size : most;
}

/*
 * Record that a real call was made, and when the next is due.  Each descriptor is to be checked by
 * a real call within settings.recheck_ns, and a call may sleep for half of that time.
 */
static void renew(const struct call *call, struct set *set)
{
	set->memory = call->memory;
	if (call->bits.count == 0)
		set->memory.size = size_checked(call);
	set->recheck_ns = xp_sys_now_coarse() + settings.recheck_ns / 2;
}

/* Returns true if the last real call has checked all memory of this call. */
static bool is_known(const struct call *call, const struct set *set)
{
	for (int i = 0; i < BITS_KINDS; i++)
		if (call->memory.at[i] != 0 && call->memory.at[i] != set->memory.at[i])
			return false;
	return call->memory.size <= set->memory.size;
}

static bool recheck_is_due(const struct call *call, const struct set *set)
{
	return settings.recheck_ns != 0 && call->awake_ns >= set->recheck_ns;
}

/*
 * Make the real call, because there is no set.  If this call site has called often enough, make a
 * set for its next call.
 */
static int run_without(struct call *call)
{
	int rc = pass(call);
	struct set *set;

	if (rc < 0 || !sites_ripe(call->site))
		return rc;
	set = pool_new(call->site, call->key, xp_sys_now_coarse());
	if (set) {
		renew(call, set);
		pool_release(set);
	}
	return rc;
}

/* Give up a set that costs more than it saves, or that does not work. */
static void give_up(struct call *call, struct set *set)
{
	sites_regret(call->site, set->watch.calls);
	pool_drop(set);
}

/*
 * Make the real call although there is a set, which is claimed: for the first call with this
 * memory, in which the kernel checks that all of it is mapped, and once in each period.  Its
 * results show whether the descriptors still refer to the files that are registered.
 */
static int run_real(struct call *call, struct set *set)
{
	uint32_t turn = set->turn;
	int rc;

	pool_release(set);
	rc = pass(call);
	if (rc < 0 || !pool_reclaim(set, turn))
		return rc;
	renew(call, set);
	if (settings.recheck_ns != 0)
		stats_add(&stats.missed, watch_compare(&set->watch, call->ops->results(call, set),
		                                       call->count));
	/* The set's balance does not include the rare comparison. */
	stats_add(&stats.syscalls, set->watch.syscalls);
	set->watch.syscalls = 0;
	if (set->watch.failed)
		give_up(call, set);
	else
		pool_release(set);
	return rc;
}

/* --- Is the set worth it? ---------------------------------------------------------- */

/*
 * The balance of a set, in units of one check of a descriptor in the kernel.  A real poll(2) checks
 * each descriptor.  The set saves these checks.  It costs the system calls beyond one, a check of
 * each hot descriptor, and some units for each ready descriptor, because epoll_wait(2) takes longer
 * for it than poll(2).
 */
#define SYSCALL_COST 10
#define READY_COST   3

/* A set is given up when its balance is below minus the cost of this many real calls. */
#define WORTH_CALLS 64

/*
 * Adds to the balance what the call saves, once, and subtracts the system calls made since the last
 * time.
 */
static void book(const struct call *call, struct set *set)
{
	struct watch *watch = &set->watch;

	if (!call->was_asleep)
		set->worth += (int64_t)call->checks - watch->hot_len;
	set->worth -= SYSCALL_COST * (int64_t)watch->syscalls;
	stats_add(&stats.syscalls, watch->syscalls);
	watch->syscalls = 0;
}

/*
 * Ends a call with the number of ready descriptors, or with USE_REAL.  Releases the set, or gives
 * it up.
 */
static void account(struct call *call, struct set *set, int rc)
{
	int64_t all = (int64_t)call->checks;

	book(call, set);
	/* The real function would make one system call, too. */
	set->worth += SYSCALL_COST - (rc == USE_REAL ? all : READY_COST * (int64_t)rc);
	if (set->worth > WORTH_CALLS * all)
		set->worth = WORTH_CALLS * all;
	if (XP_UNLIKELY(set->worth < -WORTH_CALLS * all) && settings.after != 0)
		give_up(call, set);
	else
		pool_release(set);
}

/* --- Looking ----------------------------------------------------------------------- */

/*
 * Polls the set and stores the results for the program.  Returns the number of ready descriptors;
 * USE_REAL; or -EBADF if the set does not work.  `sleep`: results of a sleep, if len > 0.
 */
static int poll_set(struct call *call, struct set *set, const struct pollfd *sleep,
                int len)
{
	struct watch *watch = &set->watch;
	int rc;

	watch->shared = call->deadline_ns == XP_NOW && set->sleepers > 0;
	rc = len > 0 ? watch_take(watch, sleep, len) : watch_poll(watch);
	if (XP_UNLIKELY(rc < 0 || watch->failed))
		return -EBADF;
	rc = call->ops->report(call, set);
	/*
	 * The set is ready only for events that this call did not request, so a sleep on it would
	 * return at once: the real function has to make the call.
	 */
	return rc < 0 || (rc == 0 && watch->ready_len > 0) ? USE_REAL : rc;
}

/*
 * Polls the set.  Returns true if that ends the call: the set is released, and *rcp is the result.
 */
static bool poll_ends_call(struct call *call, struct set *set,
                      const struct pollfd *sleep, int len, int *rcp)
{
	int rc = poll_set(call, set, sleep, len);

	if (rc == -EBADF || rc == USE_REAL) {
		if (rc == USE_REAL)
			account(call, set, USE_REAL);
		else
			give_up(call, set);
		*rcp = pass(call);
		return true;
	}
	if (!call->was_asleep)
		set->last_poll_empty = rc == 0;
	/* With a signal mask even a call without a timeout has to sleep, which applies the mask. */
	if (rc == 0 && (call->deadline_ns != XP_NOW || call->mask))
		return false;
	account(call, set, rc);
	if (rc == 0)
		call->ops->clear(call);
	*rcp = xp_result(rc);
	return true;
}

/* --- Sleeping ----------------------------------------------------------------------- */

/* Returns how long to sleep: until the caller's timeout, or until the next real call is due. */
static int64_t sleep_ns(const struct call *call, const struct set *set)
{
	int64_t left_ns = call_left_ns(call);
	int64_t most_ns = set->recheck_ns - call->awake_ns;

	return settings.recheck_ns != 0 && left_ns > most_ns ? most_ns : left_ns;
}

static void hold_signals(struct call *call)
{
	if (call->holds_signals)
		return;
	xp_sys_signals_hold(call->restore_mask);
	call->holds_signals = true;
	if (!call->mask)
		call->mask = call->restore_mask;
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
 * Polls descriptors that have become hot during the sleep.  The others must not be polled again,
 * because a poll may consume their readiness.
 */
static int poll_new_hot(const struct watch *watch, struct pollfd *sleep, int len)
{
	struct pollfd now[WATCH_SLEEP_LEN];
	int now_len = watch_sleepers(watch, now);

	for (int i = 0; i < now_len; i++)
		for (int k = 0; k < len; k++)
			if (sleep[k].fd == now[i].fd)
				now[i].fd = ~k; /* poll(2) ignores a negative descriptor */
	(void)xp_sys_poll_now(now, (size_t)now_len);
	for (int i = 0; i < now_len; i++)
		if (now[i].fd < 0)
			now[i] = sleep[~now[i].fd];
	memcpy(sleep, now, (size_t)now_len * sizeof *now);
	return now_len;
}

/*
 * Releases the set and sleeps until a descriptor may be ready.  Returns 1 with the set claimed
 * again.  Otherwise it is not claimed: 0, timeout; -1 with errno, mostly EINTR; RESTART, another
 * call uses the set or has used it.
 */
static int sleep_and_claim(struct call *call, struct set *set,
                           struct pollfd *fds, int *len)
{
	uint32_t turn = set->turn;
	int64_t ns = sleep_ns(call, set);
	int rc;

	hold_signals(call);
	*len = watch_sleepers(&set->watch, fds);
	book(call, set); /* The call may end while the set is not claimed. */
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
		return RESTART;
	atomic_store_explicit(&set->used_ns, call->awake_ns, memory_order_relaxed);
	/*
	 * At a wake-up the real poll(2) would check closed descriptors again, and report them;
	 * select(2) does not.
	 */
	if (call->bits.count == 0 && watch_read_closes(&set->watch)) {
		*len = poll_new_hot(&set->watch, fds, *len);
		/* A descriptor that was registered again may be ready: harvest the instance. */
		fds[0].revents |= POLLIN;
	}
	return 1;
}

/*
 * Returns true if the call begins with the sleep.  A poll that finds nothing wastes a system call.
 * So if the last call that polled first found nothing, the next calls sleep first, except every
 * SLEEPS_FIRST_MOST-th.
 */
static bool sleep_is_first(const struct call *call, struct set *set)
{
	if (!set->last_poll_empty || call->was_asleep || call->deadline_ns == XP_NOW ||
	    set->watch.failed)
		return false;
	if (++set->sleeps_first < SLEEPS_FIRST_MOST)
		return true;
	set->sleeps_first = 0;
	return false;
}

/* --- All of it -------------------------------------------------------------------------- */

/* Polls and sleeps, with a synchronised set.  Returns the result, -1 with errno, or RESTART. */
static int poll_and_sleep(struct call *call, struct set *set)
{
	struct pollfd sleep[WATCH_SLEEP_LEN];
	int len = 0;
	int rc;

	watch_begin(&set->watch);
	for (;;) {
		if (!sleep_is_first(call, set) && poll_ends_call(call, set, sleep, len, &rc))
			return rc;
		if (call->was_asleep && recheck_is_due(call, set))
			return run_real(call, set);
		rc = sleep_and_claim(call, set, sleep, &len);
		if (rc == 0)
			call->ops->clear(call);
		if (rc == -1 && errno != EINTR) /* the additional descriptor may exceed the limit */
			return pass(call);
		if (rc != 1)
			return rc;
	}
}

/* Makes the call with a claimed set, which it releases. */
static int run(struct call *call, struct set *set)
{
	int64_t changed;

	set->watch.checked = false;
	if (XP_UNLIKELY(recheck_is_due(call, set) ||
	                !is_known(call, set)))
		return run_real(call, set);
	if (!call->ops->expand(call, set)) {
		if (set->array.len > 0)
			pool_release(set);
		else
			give_up(call, set);
		return pass(call);
	}
	changed = array_sync(&set->array, &set->watch, call->fds, call->count);
	if (XP_UNLIKELY(changed < 0)) {
		give_up(call, set);
		return pass(call);
	}
	set->turn += changed > 0;
	return poll_and_sleep(call, set);
}

int call_run(struct call *call)
{
	sigset_t restore_mask; /* not a member of the call, because most calls do not sleep */
	struct set *set;
	int rc;

	call->restore_mask = &restore_mask;
	pthread_testcancel();
	do {
		call->awake_ns = xp_sys_now_coarse();
		set = pool_find(call->site, call->key, call->awake_ns);
		rc = set ? run(call, set) : run_without(call);
	} while (rc == RESTART);
	release_signals(call);
	return rc;
}
