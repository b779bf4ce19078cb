/*
 * The pool of sets: how they are claimed, made and dropped.
 *
 * The state of a set goes FREE -> CLAIMED <-> IDLE, and CLAIMED -> RETIRED -> FREE.  The epoll
 * descriptor of a RETIRED set is closed only when no thread is inside a close: such a thread may be
 * about to use it, and would otherwise remove an entry from an epoll instance of the program that
 * got the same descriptor.
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

enum { FREE, IDLE, CLAIMED, RETIRED };

/* A set that was unused for this long makes room for another array. */
#define UNUSED_NS (10 * XP_NS_PER_SEC)

/* Value of an epoll_fd that is lost: a descriptor that is never open. */
#define GONE INT_MAX

/* Values of *process, on a page that reads as zeros in a forked child. */
enum { FORKED, STARTING, RUNNING, PARTED };

static struct set sets[NUMBERS_SETS];
static _Atomic int sets_len; /* number of sets that were ever used */
static _Atomic int detaching; /* number of threads that may use the epoll descriptor of a set */
static _Atomic uint32_t *process;
static _Atomic int process_id;
static _Atomic bool sandboxed; /* the process has installed a seccomp filter; inherited by fork */

/* --- Descriptors ------------------------------------------------------------------ */

/*
 * Returns true if fd is our epoll instance, and the program has not replaced it by a system call of
 * its own.
 */
static bool is_instance(int fd)
{
	return numbers_is_own(fd) && kernel_is_instance(fd);
}

/* --- Processes ------------------------------------------------------------------- */

bool pool_init(void)
{
	process = xp_sys_wiped_page();
	if (!process || !numbers_init())
		return false;
	process_id = kernel_pid();
	*process = RUNNING;
	return true;
}

/*
 * Forgets a set of the parent, in a forked child.  The memory of a set that another thread of
 * the parent had claimed may be inconsistent, so it is not freed.
 */
static void forget(struct set *set)
{
	if (is_instance(set->watch.epoll_fd))
		xp_sys_close(set->watch.epoll_fd);
	if (set->state != CLAIMED) {
		memory_free(&set->watch.slots_memory);
		memory_free(&set->watch.events_memory);
		memory_free(&set->watch.ready_memory);
		array_free(&set->array);
		memory_free(&set->selected);
	}
	set->watch = (struct watch){.epoll_fd = GONE};
	set->array = (struct array){0};
	set->selected = (struct memory){0};
}

static void start_over(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		struct set *set = &sets[i];

		if (set->state == FREE)
			continue;
		forget(set);
		set->turn++;
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
	start_over();
	*process = RUNNING;
	return true;
}

/*
 * From now on every call passes through, because threads have different tables of descriptors now,
 * but this library has one table for all.  A thread that sleeps or has claimed a set completes its
 * call.  A forked child has one thread, and uses sets again.
 */
void pool_part(void)
{
	if (pool_is_running())
		*process = PARTED;
}

/* This function makes no system call, because the filter might refuse it. */
void pool_sandboxed(void)
{
	uint32_t running = RUNNING;

	sandboxed = true;
	if (process)
		atomic_compare_exchange_strong(process, &running, PARTED);
}

bool pool_is_ours(void)
{
	/* A child of vfork(2) shares our memory, but has another process ID. */
	return pool_is_running() && process_id == kernel_pid();
}

/* --- Claims ----------------------------------------------------------------------- */

static bool claim(struct set *set, int from)
{
	return atomic_compare_exchange_strong(&set->state, &from, CLAIMED);
}

void pool_release(struct set *set)
{
	XP_ASSERT(set->state == CLAIMED);
	/* Release: the thread that claims the set next sees all changes. */
	atomic_store_explicit(&set->state, IDLE, memory_order_release);
}

void pool_sleep(struct set *set)
{
	atomic_fetch_add(&set->sleepers, 1);
}

void pool_awake(struct set *set)
{
	int sleepers = set->sleepers;

	/* The set may have been reused for another array, with a count of 0. */
	while (sleepers > 0 &&
	       !atomic_compare_exchange_weak(&set->sleepers, &sleepers,
	                                     sleepers - 1))
		;
}

bool pool_reclaim(struct set *set, uint32_t turn)
{
	if (!pool_is_running() || !claim(set, IDLE))
		return false;
	if (set->turn == turn)
		return true;
	pool_release(set);
	return false;
}

struct set *pool_find(uintptr_t site, uintptr_t key, int64_t now_ns)
{
	if (!pool_is_running())
		return NULL;
	for (int i = 0; i < sets_len; i++) {
		struct set *set = &sets[i];

		if (set->key != key || set->site != site || !claim(set, IDLE))
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
 * Closes the epoll instances of retired sets, unless a thread that closes a descriptor may be about
 * to use one.
 */
static void reap(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		struct set *set = &sets[i];
		bool open;
		int fd;

		if (set->state != RETIRED || detaching > 0 || !claim(set, RETIRED))
			continue;
		fd = set->watch.epoll_fd;
		open = is_instance(fd);
		numbers_disown(fd);
		if (open)
			xp_sys_close(fd);
		set->state = FREE;
	}
}

void pool_drop(struct set *set)
{
	XP_ASSERT(set->state == CLAIMED);
	set->turn++;
	set->site = 0;
	set->key = 0;
	(void)watch_fini(&set->watch);
	array_free(&set->array);
	memory_free(&set->selected);
	stats_add(&stats.evicted, 1);
	set->state = RETIRED;
	reap();
}

/*
 * Claims the set that has been unused for the longest time, if that is at least UNUSED_NS.
 * Sleeping threads do not count: a thread that sleeps on a set marks it as used when it wakes up,
 * but it may have left by longjmp, or ended.
 */
static struct set *claim_unused(int64_t now_ns)
{
	struct set *oldest = NULL;

	for (int i = 0; i < NUMBERS_SETS; i++)
		if (sets[i].state == IDLE &&
		    (!oldest || sets[i].used_ns < oldest->used_ns))
			oldest = &sets[i];
	if (!oldest || now_ns - oldest->used_ns < UNUSED_NS || !claim(oldest, IDLE))
		return NULL;
	if (now_ns - oldest->used_ns >= UNUSED_NS)
		return oldest;
	pool_release(oldest);
	return NULL;
}

static struct set *claim_free(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		int len = i;

		if (sets[i].state != FREE || !claim(&sets[i], FREE))
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
		set = claim_unused(now_ns);
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
	set->turn++;
	set->sleepers = 0;
	set->used_ns = now_ns;
	set->memory = (struct extent){0};
	set->last_poll_empty = false;
	set->worth = 0;
	set->sleeps_first = 0;
	stats_add(&stats.sets, 1);
	return set;
}

/* --- For closing threads ----------------------------------------------------------------- */

void pool_detach(int fd, uint64_t relying)
{
	atomic_fetch_add(&detaching, 1);
	for (int i = 0; i < NUMBERS_SETS; i++)
		/* The bit in the table shows that the set is not retired. */
		if ((relying >> i & 1) && numbers_relied(fd, i))
			xp_sys_epoll_ctl(sets[i].watch.epoll_fd, EPOLL_CTL_DEL, fd, 0, 0);
	if (atomic_fetch_sub(&detaching, 1) == 1)
		reap();
}

bool pool_keeps(int fd)
{
	if (!numbers_is_own(fd) || !pool_is_ours())
		return false;
	if (is_instance(fd))
		return true;
	numbers_disown(fd); /* the descriptor belongs to the program now */
	return false;
}

void pool_lost(int number)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		int expected = number;

		atomic_compare_exchange_strong(&sets[i].watch.epoll_fd, &expected,
		                               GONE);
	}
	numbers_disown(number);
}
