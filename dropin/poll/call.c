/*
 * Runs one call of poll, ppoll, select or pselect from its beginning to its end.
 *
 * A set (pool.h) is an epoll instance with the descriptors of one array.  The thread claims the
 * set, updates it from the array, polls it and stores the results.  If nothing is ready, the thread
 * releases the set and sleeps in poll(2) of the epoll descriptor and of the hot descriptors: those
 * of the array that are polled directly, because epoll cannot watch them.  A real call is a call of
 * the C library's function with the program's arguments.
 *
 * The sleep is a call of the C library with the signal mask that the program passed, and no set is
 * claimed meanwhile.  So signals interrupt and restart it, and cancellation and longjmp leave it,
 * like the program's own call.  A call may need several sleeps.  From the first one on signals are
 * blocked except during the sleeps, because a signal between two sleeps would interrupt neither.
 * If, after a sleep, another thread or a signal handler is using the set, or has changed the bits
 * that the set requests, the call starts over with the present contents of the array.
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

/* Result of a sleep: another call has claimed or changed the set, so start this call over. */
#define RESTART INT_MIN

/* Result of poll_set: the C library's function has to make this call. */
#define USE_REAL (INT_MIN + 1)

/* One in this many calls that could begin with the sleep polls first: see sleep_is_first. */
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

static int pass_to_library(struct call *call)
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
 * Returns how many bytes, from the address of this call's array on, are known to be mapped after a
 * real call: a later call with its array in there needs no real call to have the memory checked.
 * The kernel maps whole pages, so count to the end of the array's last page; but no more entries
 * than the limit of open files, because poll(2) fails with EINVAL beyond that.
 */
static size_t known_mapped_size(const struct call *call)
{
	uintptr_t from = call->memory.at[0];
	uintptr_t end = from + call->memory.size + PAGE_SIZE_LEAST - 1;
	size_t size = (end & ~(uintptr_t)(PAGE_SIZE_LEAST - 1)) - from;
	size_t most = kernel_descriptor_limit() * sizeof *call->fds;

	return size < most ? size : most;
}

/*
 * Record that a real call was made: its memory is known to be mapped, and the next real call is due
 * after half of settings.recheck_ns.  An event that epoll does not report is found by the next real
 * call.  xpoll-poll(7) allows a delay of settings.recheck_ns; the other half is a margin.
 */
static void note_real_call(const struct call *call, struct set *set)
{
	set->checked_memory = call->memory;
	if (call->bit_sets.nfds == 0)
		set->checked_memory.size = known_mapped_size(call);
	set->recheck_due_ns = xp_sys_now_coarse() + settings.recheck_ns / 2;
}

/* Returns true if the last real call of the set has shown that this call's memory is mapped. */
static bool memory_was_checked(const struct call *call, const struct set *set)
{
	for (int i = 0; i < BITS_KINDS; i++)
		if (call->memory.at[i] != 0 && call->memory.at[i] != set->checked_memory.at[i])
			return false;
	return call->memory.size <= set->checked_memory.size;
}

/* Returns true if the period after which a real call checks the set again is over. */
static bool recheck_is_due(const struct call *call, const struct set *set)
{
	return settings.recheck_ns != 0 && call->awake_ns >= set->recheck_due_ns;
}

/*
 * Make the real call, because there is no unclaimed set for this array.  If the call site has
 * called often enough without a set, make one for its next call.
 */
static int run_without_set(struct call *call)
{
	int rc = pass_to_library(call);
	struct set *set;

	if (rc < 0 || !sites_set_is_due(call->site))
		return rc;
	set = pool_new(call->site, call->key, xp_sys_now_coarse());
	if (set) {
		note_real_call(call, set);
		pool_release(set);
	}
	return rc;
}

/*
 * Drop a claimed set that costs more than it saves, or that does not work.  The call site has to
 * call more often before it gets the next set.
 */
static void give_up(struct call *call, struct set *set)
{
	sites_back_off(call->site, set->watch.calls);
	pool_drop(set);
}

/*
 * Release the claimed set, make the real call, and compare its results with the set.  That is done
 * for new memory, because the kernel then checks that all of it is mapped, and once in each period
 * (recheck_is_due), to find out whether the descriptors still refer to the registered files.
 */
static int run_real(struct call *call, struct set *set)
{
	uint32_t version = set->array_version;
	int rc;

	pool_release(set);
	rc = pass_to_library(call);
	if (rc < 0 || !pool_reclaim(set, version))
		return rc;
	note_real_call(call, set);
	if (settings.recheck_ns != 0)
		stats_add(&stats.late_closes,
		          watch_recheck(&set->watch, call->ops->results(call, set), call->count));
	/* Count watch_recheck's system calls here, so that book_costs charges no set for them. */
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
 * The unit of set->balance is one check of a descriptor in the kernel.  A set saves the checks of a
 * real poll(2).  A set costs a check of each hot descriptor (not watched by epoll: watch.h),
 * SYSCALL_COST for each system call beyond the one of the real poll(2), and READY_COST for each
 * ready descriptor, because epoll_wait(2) takes longer than poll(2) to report one.
 */
#define SYSCALL_COST 10
#define READY_COST   3

/*
 * The balance is limited to this many times the cost of a real call (by the C library's function).
 * A set whose balance falls below the negative of that limit is given up.
 */
#define BALANCE_LIMIT_CALLS 64

/*
 * Add the checks that this call saves to the set's balance, unless the call has slept and so has
 * added them before.  Subtract the cost of the system calls that were made since the last booking.
 */
static void book_costs(const struct call *call, struct set *set)
{
	struct watch *watch = &set->watch;

	if (!call->was_asleep)
		set->balance += (int64_t)call->polled_count - watch->hot_len;
	set->balance -= SYSCALL_COST * (int64_t)watch->syscalls;
	stats_add(&stats.syscalls, watch->syscalls);
	watch->syscalls = 0;
}

/*
 * Complete the set's balance at the end of a call, then release the set, or give it up if it costs
 * too much.  rc is the number of ready descriptors, or USE_REAL.
 */
static void account_and_release(struct call *call, struct set *set, int rc)
{
	int64_t all = (int64_t)call->polled_count;

	book_costs(call, set);
	/* The first system call is no extra cost: the C library's function makes one, too. */
	set->balance += SYSCALL_COST - (rc == USE_REAL ? all : READY_COST * (int64_t)rc);
	if (set->balance > BALANCE_LIMIT_CALLS * all)
		set->balance = BALANCE_LIMIT_CALLS * all;
	if (XP_UNLIKELY(set->balance < -BALANCE_LIMIT_CALLS * all) && settings.after != 0)
		give_up(call, set);
	else
		pool_release(set);
}

/* --- Polling ----------------------------------------------------------------------- */

/*
 * Poll the set and store the results for the program.  If len > 0, `sleep` has the results of the
 * sleep that has just ended, so the descriptors that epoll does not watch are not polled again.
 * Returns the number of ready descriptors; USE_REAL; or -EBADF if the set does not work.
 */
static int poll_set(struct call *call, struct set *set, const struct pollfd *sleep,
                int len)
{
	struct watch *watch = &set->watch;
	int rc;

	watch->has_other_sleepers = call->deadline_ns == XP_NOW && set->sleepers > 0;
	rc = len > 0 ? watch_take_revents(watch, sleep, len) : watch_poll(watch);
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
 * Poll the set.  Returns true if that ends the call: then the set is released or given up, and *rcp
 * is the result of the call.  Returns false if the call has to sleep; then the set is still
 * claimed.
 */
static bool poll_ends_call(struct call *call, struct set *set,
                      const struct pollfd *sleep, int len, int *rcp)
{
	int rc = poll_set(call, set, sleep, len);

	if (rc == -EBADF || rc == USE_REAL) {
		if (rc == USE_REAL)
			account_and_release(call, set, USE_REAL);
		else
			give_up(call, set);
		*rcp = pass_to_library(call);
		return true;
	}
	if (!call->was_asleep)
		set->last_poll_empty = rc == 0;
	/* A call with a mask has to sleep even if its timeout is 0: the sleep applies the mask. */
	if (rc == 0 && (call->deadline_ns != XP_NOW || call->mask))
		return false;
	account_and_release(call, set, rc);
	if (rc == 0)
		call->ops->clear(call);
	*rcp = xp_public_result(rc);
	return true;
}

/* --- Sleeping ----------------------------------------------------------------------- */

/* Returns how long to sleep: until the deadline, but at most until the next real call is due. */
static int64_t sleep_ns(const struct call *call, const struct set *set)
{
	int64_t left_ns = call_left_ns(call);
	int64_t most_ns = set->recheck_due_ns - call->awake_ns;

	return settings.recheck_ns != 0 && left_ns > most_ns ? most_ns : left_ns;
}

/* Block all signals until the call ends, except in sleeps, which apply call->mask. */
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

/* Sleep in the C library's ppoll(2).  A cancelled thread restores its signal mask. */
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
 * `sleep` has the len entries that the sleep has polled.  Replace them by entries for all
 * descriptors that are hot (not watched by epoll) now: poll those that became hot during the sleep,
 * and keep the results of the others, because another poll may clear them.  Returns the new len.
 */
static int poll_newly_hot(const struct watch *watch, struct pollfd *sleep, int len)
{
	struct pollfd now[WATCH_POLLFDS_MOST];
	int now_len = watch_fill_pollfds(watch, now);

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
 * Release the set, sleep until a descriptor may be ready, and claim the set again.  Returns 1 if it
 * is claimed.  Otherwise another call may use it, and the result is 0: the timeout has passed; -1
 * with errno, mostly EINTR; RESTART: another call has claimed or changed the set.
 */
static int sleep_and_claim(struct call *call, struct set *set,
                           struct pollfd *fds, int *len)
{
	uint32_t version = set->array_version;
	int64_t ns = sleep_ns(call, set);
	int rc;

	hold_signals(call);
	*len = watch_fill_pollfds(&set->watch, fds);
	/* Book the costs now, because a cancellation may end the call in the sleep. */
	book_costs(call, set);
	pool_add_sleeper(set);
	pool_release(set);
	call->was_asleep = true;
	rc = sleep_for(call, ns, fds, *len);
	call->awake_ns = xp_sys_now_coarse();
	pool_remove_sleeper(set);
	if (rc < 0)
		return rc;
	if (rc == 0 && call_left_ns(call) == 0)
		return 0;
	if (!pool_reclaim(set, version))
		return RESTART;
	atomic_store_explicit(&set->used_ns, call->awake_ns, memory_order_relaxed);
	/*
	 * Like poll(2), which checks all descriptors when it wakes up, find those that were closed
	 * during the sleep, to report POLLNVAL.  select(2) reports no closes: skip this.
	 */
	if (call->bit_sets.nfds == 0 && watch_read_closes(&set->watch)) {
		*len = poll_newly_hot(&set->watch, fds, *len);
		/* A reused descriptor was registered just now and may be ready: poll epoll, too. */
		fds[0].revents |= POLLIN;
	}
	return 1;
}

/*
 * Returns true if the call begins with the sleep, without a poll before it.  A poll that finds
 * nothing wastes a system call.  So if the last call that polled first found nothing, the next
 * calls of the set sleep first, except every SLEEPS_FIRST_MOST-th, which polls first again.
 */
static bool sleep_is_first(const struct call *call, struct set *set)
{
	if (!set->last_poll_empty || call->was_asleep || call->deadline_ns == XP_NOW ||
	    set->watch.failed)
		return false;
	if (++set->sleep_first_count < SLEEPS_FIRST_MOST)
		return true;
	set->sleep_first_count = 0;
	return false;
}

/* --- The whole call ---------------------------------------------------------------------- */

/*
 * Poll and sleep in turn until the call ends, with a claimed set that has the array's contents, and
 * release the set.  Returns the call's result, -1 with errno, or RESTART.
 */
static int poll_and_sleep(struct call *call, struct set *set)
{
	struct pollfd sleep[WATCH_POLLFDS_MOST];
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
		/* EINVAL: epoll_fd is one entry too many (RLIMIT_NOFILE), so use the C library */
		if (rc == -1 && errno != EINTR)
			return pass_to_library(call);
		if (rc != 1)
			return rc;
	}
}

/*
 * Do the call with a claimed set, which is released or dropped.  Returns the call's result, -1 with
 * errno, or RESTART.
 */
static int run_with_set(struct call *call, struct set *set)
{
	int64_t changed;

	set->watch.instance_checked = false;
	if (XP_UNLIKELY(recheck_is_due(call, set) ||
	                !memory_was_checked(call, set)))
		return run_real(call, set);
	if (!call->ops->expand(call, set)) {
		if (set->array.len > 0)
			pool_release(set);
		else
			give_up(call, set);
		return pass_to_library(call);
	}
	changed = array_sync(&set->array, &set->watch, call->fds, call->count);
	if (XP_UNLIKELY(changed < 0)) {
		give_up(call, set);
		return pass_to_library(call);
	}
	set->array_version += changed > 0;
	return poll_and_sleep(call, set);
}

int call_run(struct call *call)
{
	/* Not in struct call, whose initialisation would clear the whole mask each time. */
	sigset_t restore_mask;
	struct set *set;
	int rc;

	call->restore_mask = &restore_mask;
	pthread_testcancel();
	do {
		call->awake_ns = xp_sys_now_coarse();
		set = pool_claim(call->site, call->key, call->awake_ns);
		rc = set ? run_with_set(call, set) : run_without_set(call);
	} while (rc == RESTART);
	release_signals(call);
	return rc;
}
