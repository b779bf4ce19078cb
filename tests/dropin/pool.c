/*
 * Goal: the number of sets is limited, sets of threads that have left are
 * reused, and a forked child closes only the drop-in's own descriptors.
 * Method: white box.  Sets without arrays; the test provides the time.
 */
#include "pool.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "numbers.h"
#include "xt.h"

enum { SITE = 0x1000, SECOND = 1000000000 };

#define UNUSED_NS (INT64_C(10) * SECOND)

static struct set *sets[NUMBERS_SETS];

static struct set *take(int key, int64_t now_ns)
{
	struct set *set = pool_new(SITE, (uintptr_t)key + 1, now_ns);

	if (set)
		pool_release(set);
	return set;
}

static void make_all(void *started)
{
	atomic_store((atomic_int *)started, 1);
	for (int i = 0; i < NUMBERS_SETS; i++)
		(void)take(i, 0);
}

/* The process forks while sets are made for the first time. */
static void fork_while_sets_are_made(void *unused)
{
	atomic_int started = 0;
	struct xt_thread *thread;
	int null = xt_open_path("/dev/null", O_RDONLY);

	(void)unused;
	XT_CHECK(null == 0 || dup2(null, 0) == 0);
	thread = xt_start(make_all, &started);
	xt_until(&started, 1);
	for (int i = 0; i < 3; i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) /* the first use of the sets in a child resets them */
			_exit(pool_is_ours() && fcntl(0, F_GETFD) >= 0 ? 0 : 1);
		XT_EXPECT_EQ(waitpid(child, &status, 0), child);
		XT_EXPECT_EQ(status, 0);
	}
	xt_join(thread);
}

/*
 * Has to be the first test: the unused part of the table still holds zeros, and 0 is a valid
 * descriptor.
 */
XT_TEST(forked_beside_another_thread_a_child_keeps_its_descriptors)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer bears no fork beside other threads");
	for (int i = 0; i < 40; i++)
		XT_CHECK(xt_child(fork_while_sets_are_made, NULL));
}

/* Take all sets, of which the first one has been unused for longest. */
static void take_all(void)
{
	for (int i = 0; i < NUMBERS_SETS; i++) {
		sets[i] = take(i, i);
		XT_CHECK(sets[i] != NULL);
	}
}

static bool is_known(int key)
{
	struct set *set = pool_claim(SITE, (uintptr_t)key + 1, sets[key % NUMBERS_SETS]->used_ns);

	if (set)
		pool_release(set);
	return set != NULL;
}

static void drop_all(void)
{
	for (int key = 0; key <= 100; key++) {
		struct set *set = pool_claim(SITE, (uintptr_t)key + 1, 0);

		if (set)
			pool_drop(set);
	}
}

XT_TEST(longest_unused_set_makes_room_and_not_before_its_time)
{
	int64_t in_time = UNUSED_NS;
	int before = xt_count_open();

	XT_CALL(take_all());
	XT_CHECK(!take(100, in_time - 1));
	XT_EQ(xt_count_open(), before + NUMBERS_SETS);
	for (int i = 0; i < NUMBERS_SETS; i++)
		XT_CHECK(is_known(i));
	XT_CHECK(take(100, in_time));
	XT_CHECK(is_known(100));
	for (int i = 0; i < NUMBERS_SETS; i++)
		XT_EQ(is_known(i), i > 0);
	XT_EQ(xt_count_open(), before + NUMBERS_SETS);
	drop_all();
	XT_EQ(xt_count_open(), before);
}

XT_TEST(set_that_is_given_up_keeps_no_memory)
{
	struct set *set = pool_new(SITE, 1, 0);
	struct pollfd fds[60];

	XT_CHECK(set != NULL);
	for (int i = 0; i < 60; i++)
		fds[i] = (struct pollfd){.fd = i, .events = POLLIN};
	XT_EQ(array_sync(&set->array, &set->watch, fds, 60), 60);
	XT_EQ(watch_poll(&set->watch), 0);
	pool_drop(set);
	XT_CHECK(!set->array.image_memory.base && !set->array.next_memory.base &&
	         !set->array.changed_memory.base &&
	         !set->array.reported_memory.base);
	XT_CHECK(!set->watch.slots_memory.base && !set->watch.events_memory.base &&
	         !set->watch.ready_memory.base && !set->selected.base);
}

/* The threads have left by longjmp, or were cancelled. */
XT_TEST(set_of_sleepers_that_have_gone_makes_room_too)
{
	XT_CALL(take_all());
	for (int i = 0; i < NUMBERS_SETS; i++)
		pool_add_sleeper(sets[i]);
	XT_CHECK(!take(100, UNUSED_NS - 1));
	XT_CHECK(take(100, UNUSED_NS) == sets[0]);
	/*
	 * A thread that was given up wakes after all: neither it nor its number of sleepers is
	 * counted.
	 */
	XT_EQ(sets[0]->sleepers, 0);
	pool_remove_sleeper(sets[0]);
	XT_EQ(sets[0]->sleepers, 0);
	XT_CHECK(!pool_reclaim(sets[0], sets[0]->array_version - 1));
	for (int i = 1; i < NUMBERS_SETS; i++)
		pool_remove_sleeper(sets[i]);
	drop_all();
}

XT_TEST(number_that_cannot_be_open_gets_no_memory)
{
	struct set *set = pool_new(SITE, 1, 0);
	size_t limit = kernel_descriptor_limit();

	XT_CHECK(set != NULL && limit > 100 && limit < 100000);
	XT_CHECK(watch_reserve_slot(&set->watch, 60));
	XT_CHECK(!watch_reserve_slot(&set->watch, 100000));
	XT_CHECK(watch_reserve_slot(&set->watch, (int)limit - 1));
	XT_CHECK(set->watch.slots_memory.size <=
	         2 * limit * sizeof *set->watch.slots + 4096);
	pool_drop(set);
}
