/*
 * Claiming, making and dropping sets.
 *
 * A set's state goes FREE -> CLAIMED <-> IDLE, and CLAIMED -> RETIRED -> FREE.
 * The epoll descriptor of a RETIRED set may still be in use by a thread that
 * is closing something, and is closed when there is no such thread.  Otherwise
 * the thread might remove an entry from an epoll instance of the program's that
 * got the same number.
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

/* A set that was not used for so long makes room for another array. */
#define UNUSED_NS (10 * XP_NS_PER_SEC)

/* In place of a descriptor: a number that is never open. */
#define GONE INT_MAX

/* Values of *process, whose page reads as zeros in a forked child. */
enum { FORKED, STARTING, RUNNING, PARTED };

static struct set sets[NUMBERS_SETS];
static _Atomic int sets_len; /* those after it have never been used */
static _Atomic int detaching; /* threads that may use a set's descriptor */
static _Atomic uint32_t *process;
static _Atomic int process_id;
static _Atomic bool sandboxed; /* the process has installed a filter; kept by a fork */

/* --- Descriptors ------------------------------------------------------------------ */

/* Returns true if fd is our epoll instance, and no bare system call has replaced it. */
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
 * Every call passes through from now on, because a number is no longer the same file for all
 * threads, but there is one table of numbers.
 * A thread that sleeps, or has claimed a set, goes on with its descriptors.  A forked child
 * has one thread, and starts again.
 */
void pool_part(void)
{
	if (pool_is_running())
		*process = PARTED;
}

/* Makes no system call, which the filter might refuse. */
void pool_sandboxed(void)
{
	uint32_t running = RUNNING;

	sandboxed = true;
	if (process)
		atomic_compare_exchange_strong(process, &running, PARTED);
}

bool pool_is_ours(void)
{
	/* A child of vfork has our memory, and another process number. */
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
	/* Pairs with the next claim, which sees what was done before this. */
	atomic_store_explicit(&set->state, IDLE, memory_order_release);
}

void pool_sleep(struct set *set)
{
	atomic_fetch_add(&set->sleepers, 1);
}

void pool_awake(struct set *set)
{
	int sleepers = set->sleepers;

	/* The set may be for another array by now, with a count of 0. */
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

/* Closes retired instances, unless a closing thread may be about to use one. */
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
 * Claims the set that has been unused for longest, if that is UNUSED_NS.  A thread that sleeps
 * on a set marks it as used when it wakes up, unless it has left by longjmp, or ended.
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
		/* The bit says that the set is not retired. */
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
	numbers_disown(fd); /* The number is the program's by now. */
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
