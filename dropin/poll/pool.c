/*
 * The pool of sets (pool.h): how a set is claimed, made and dropped.
 *
 * The state of a set goes FREE -> CLAIMED <-> IDLE, and in the end CLAIMED -> RETIRED -> CLAIMED ->
 * FREE.  A dropped set is RETIRED until no thread is in pool_detach, which removes entries from the
 * sets' epoll instances.  Only then is its epoll descriptor closed: otherwise the program could get
 * the same number for an epoll instance of its own, and that thread would remove an entry from it.
 */
#include "pool.h"

#include <limits.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/time.h"
#include "linux/sys_linux.h"
#include "numbers.h"
#include "stats.h"
#include "sys/sys.h"

/* States of a set: unused; made, but in no call; in a call; dropped, with epoll_fd still open. */
enum { FREE, IDLE, CLAIMED, RETIRED };

/* If all sets are used, one that was unused for this long is dropped for another array. */
#define UNUSED_NS (10 * XP_NS_PER_SEC)

/* Value of epoll_fd after pool_number_reused; no descriptor has this number. */
#define EPOLL_FD_GONE INT_MAX

/*
 * Values of *process, on a page that the kernel clears in a forked child:
 *
 *   FORKED    this is a forked child that has not started its pool yet
 *   STARTING  a thread is starting the pool
 *   RUNNING   calls may use sets
 *   PASSING   every call passes through to the C library (pool_stop_for_unshare,
 *             pool_stop_for_seccomp)
 */
enum { FORKED, STARTING, RUNNING, PASSING };

static struct set sets[NUMBERS_SETS];
static _Atomic int sets_len;  /* all sets from this index on were never used */
static _Atomic int detaching; /* number of threads in pool_detach */
/* points to the state, FORKED to PASSING, in the page that a fork clears; NULL: no pool */
static _Atomic uint32_t *process;
static _Atomic int process_id;    /* ID of the process that has started the pool */
static _Atomic bool sandboxed; /* the process has installed a seccomp filter; inherited by fork */

/* --- Descriptors ------------------------------------------------------------------ */

/*
 * Returns true if fd is one of our epoll instances, and the program has not put another file there
 * by a system call of its own.
 */
static bool is_our_instance(int fd)
{
	return numbers_is_own(fd) && kernel_is_our_instance(fd);
}

/* --- Processes ------------------------------------------------------------------- */

bool pool_init(void)
{
	process = xp_sys_wipe_on_fork_page();
	if (!process || !numbers_init())
		return false;
	process_id = kernel_pid();
	*process = RUNNING;
	return true;
}

/*
 * In a forked child: close the epoll instance of a set of the parent, and free the set's memory,
 * unless a thread of the parent was working on the set, whose memory may be inconsistent then.
 */
static void forget_parents_set(struct set *set)
{
	if (is_our_instance(set->watch.epoll_fd))
		xp_sys_close(set->watch.epoll_fd);
	if (set->state != CLAIMED) {
		memory_free(&set->watch.slots_memory);
		memory_free(&set->watch.events_memory);
		memory_free(&set->watch.ready_memory);
		array_free(&set->array);
		memory_free(&set->selected);
	}
	set->watch = (struct watch){.epoll_fd = EPOLL_FD_GONE};
	set->array = (struct array){0};
	set->selected = (struct memory){0};
}

/*
 * In a forked child: drop all sets, counters and descriptors' states of the parent, and store the
 * child's process ID.  Memory of a set that a thread of the parent had claimed stays allocated.
 */
static void start_over_in_child(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		struct set *set = &sets[i];

		if (set->state == FREE)
			continue;
		forget_parents_set(set);
		set->array_version++;
		set->sleepers = 0;
		set->state = FREE;
	}
	numbers_reset();
	stats_reset();
	detaching = 0;
	process_id = kernel_pid();
}

bool pool_is_running(void)
{
	uint32_t forked = FORKED;

	if (!process)
		return false;
	if (*process == RUNNING)
		return true;
	if (sandboxed)
		return false;
	if (!atomic_compare_exchange_strong(process, &forked, STARTING))
		return false;
	start_over_in_child();
	*process = RUNNING;
	return true;
}

/*
 * From now on every call passes through: the threads will have different tables of descriptors, but
 * this library has one state of each descriptor for all threads.  A thread that sleeps or has
 * claimed a set completes its call.  A forked child has one thread, and uses sets again.
 */
void pool_stop_for_unshare(void)
{
	if (pool_is_running())
		*process = PASSING;
}

/* Makes no system call, because the filter that was just installed might refuse it. */
void pool_stop_for_seccomp(void)
{
	uint32_t running = RUNNING;

	sandboxed = true;
	if (process)
		atomic_compare_exchange_strong(process, &running, PASSING);
}

bool pool_is_ours(void)
{
	/* A child of vfork(2) shares this memory, but has another process ID. */
	return pool_is_running() && process_id == kernel_pid();
}

/* --- Claims ----------------------------------------------------------------------- */

/* Claim a set whose state is `from`.  Returns false if the set is in another state by now. */
static bool claim_in_state(struct set *set, int from)
{
	return atomic_compare_exchange_strong(&set->state, &from, CLAIMED);
}

void pool_release(struct set *set)
{
	XP_ASSERT(set->state == CLAIMED);
	/*
	 * memory_order_release: the thread that claims the set next sees all changes of this one.
	 */
	atomic_store_explicit(&set->state, IDLE, memory_order_release);
}

void pool_add_sleeper(struct set *set)
{
	atomic_fetch_add(&set->sleepers, 1);
}

void pool_remove_sleeper(struct set *set)
{
	int sleepers = set->sleepers;

	/* The count is 0 if the set was dropped and made for another array during the sleep. */
	while (sleepers > 0 &&
	       !atomic_compare_exchange_weak(&set->sleepers, &sleepers,
	                                     sleepers - 1))
		;
}

bool pool_reclaim(struct set *set, uint32_t version)
{
	if (!pool_is_running() || !claim_in_state(set, IDLE))
		return false;
	if (set->array_version == version)
		return true;
	pool_release(set);
	return false;
}

struct set *pool_claim(uintptr_t site, uintptr_t key, int64_t now_ns)
{
	if (!pool_is_running())
		return NULL;
	for (int i = 0; i < sets_len; i++) {
		struct set *set = &sets[i];

		if (set->key != key || set->site != site || !claim_in_state(set, IDLE))
			continue;
		atomic_store_explicit(&set->used_ns, now_ns, memory_order_relaxed);
		if (set->key == key && set->site == site)
			return set;
		pool_release(set);
	}
	return NULL;
}

/* --- Making and dropping -------------------------------------------------------------- */

/*
 * Close the epoll instances of retired sets, unless a thread is in pool_detach, which may be about
 * to use one.  The last thread that leaves pool_detach calls this function again.
 */
static void close_retired(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		struct set *set = &sets[i];
		bool open;
		int fd;

		if (set->state != RETIRED || detaching > 0 || !claim_in_state(set, RETIRED))
			continue;
		fd = set->watch.epoll_fd;
		open = is_our_instance(fd);
		numbers_disown(fd);
		if (open)
			xp_sys_close(fd);
		set->state = FREE;
	}
}

void pool_drop(struct set *set)
{
	XP_ASSERT(set->state == CLAIMED);
	set->array_version++;
	set->site = 0;
	set->key = 0;
	(void)watch_fini(&set->watch);
	array_free(&set->array);
	memory_free(&set->selected);
	stats_add(&stats.evicted, 1);
	set->state = RETIRED;
	close_retired();
}

/*
 * Claim the set that has been unused for the longest time.  Returns NULL if that is less than
 * UNUSED_NS, or if another thread claims the set first.  Threads that sleep do not make a set count
 * as used: they set used_ns when they wake up, and some may have left the sleep by longjmp, or have
 * ended.
 */
static struct set *claim_oldest_idle(int64_t now_ns)
{
	struct set *oldest = NULL;

	for (int i = 0; i < NUMBERS_SETS; i++)
		if (sets[i].state == IDLE &&
		    (!oldest || sets[i].used_ns < oldest->used_ns))
			oldest = &sets[i];
	if (!oldest || now_ns - oldest->used_ns < UNUSED_NS || !claim_in_state(oldest, IDLE))
		return NULL;
	if (now_ns - oldest->used_ns >= UNUSED_NS)
		return oldest;
	pool_release(oldest);
	return NULL;
}

/* Claim a set that is FREE; NULL: there is none. */
static struct set *claim_free(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		int len = i;

		if (sets[i].state != FREE || !claim_in_state(&sets[i], FREE))
			continue;
		atomic_compare_exchange_strong(&sets_len, &len, i + 1);
		return &sets[i];
	}
	return NULL;
}

struct set *pool_new(uintptr_t site, uintptr_t key, int64_t now_ns)
{
	struct set *set = pool_is_running() ? claim_free() : NULL;

	if (!set && pool_is_running()) {
		set = claim_oldest_idle(now_ns);
		if (set)
			pool_drop(set);
		set = set ? claim_free() : NULL;
	}
	if (!set)
		return NULL;
	if (watch_init(&set->watch, (int)(set - sets)) < 0) {
		set->state = FREE;
		return NULL;
	}
	set->site = site;
	set->key = key;
	set->array_version++;
	set->sleepers = 0;
	set->used_ns = now_ns;
	set->checked_memory = (struct extent){0};
	set->last_poll_empty = false;
	set->balance = 0;
	set->sleep_first_count = 0;
	stats_add(&stats.sets, 1);
	return set;
}

/* --- For threads that close descriptors -------------------------------------------------- */

void pool_detach(int fd, uint64_t relying)
{
	atomic_fetch_add(&detaching, 1);
	for (int i = 0; i < NUMBERS_SETS; i++)
		/*
		 * A set clears its bits before it is retired.  So while the set's bit of fd is set,
		 * epoll_fd is the set's instance, which stays open until `detaching` is 0.
		 */
		if ((relying >> i & 1) && numbers_set_relies(fd, i))
			xp_sys_epoll_ctl(sets[i].watch.epoll_fd, EPOLL_CTL_DEL, fd, 0, 0);
	if (atomic_fetch_sub(&detaching, 1) == 1)
		close_retired();
}

bool pool_keeps(int fd)
{
	if (!numbers_is_own(fd) || !pool_is_ours())
		return false;
	if (is_our_instance(fd))
		return true;
	numbers_disown(fd); /* the program has closed our instance and uses the number now */
	return false;
}

void pool_number_reused(int number)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		int expected = number;

		atomic_compare_exchange_strong(&sets[i].watch.epoll_fd, &expected,
		                               EPOLL_FD_GONE);
	}
	numbers_disown(number);
}
