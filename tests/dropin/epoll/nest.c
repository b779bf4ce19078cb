/*
 * Goal: the sets that Linux refuses to nest are refused: rings, and more than five levels, in
 * whatever order the levels are joined.  A set can be nested while another thread uses it.
 * Method: chains of sets of all lengths are joined.  ThreadSanitizer runs the test with a thread.
 */
#include "kit.h"

enum { LEVELS_MOST = 5 };

XT_TEST(rings_of_sets_are_refused)
{
	int sets[3];

	for (int i = 0; i < 3; i++)
		sets[i] = kit_open();
	XT_OK(kit_add(sets[0], sets[1], EPOLLIN));
	XT_STATUS(kit_add(sets[1], sets[0], EPOLLIN), ELOOP);
	XT_OK(kit_add(sets[1], sets[2], EPOLLIN));
	XT_STATUS(kit_add(sets[2], sets[0], EPOLLIN), ELOOP);
	XT_OK(kit_del(sets[0], sets[1]));
	XT_OK(kit_add(sets[2], sets[0], EPOLLIN));
}

/* Make a chain of sets: each is added to the one before. */
static void make_chain(int *sets, int len)
{
	for (int i = 0; i < len; i++) {
		sets[i] = epoll_create1(EPOLL_CLOEXEC);
		if (i > 0)
			XT_OK(kit_add(sets[i - 1], sets[i], EPOLLIN));
	}
}

static void close_chain(const int *sets, int len)
{
	for (int i = 0; i < len; i++)
		close(sets[i]);
}

XT_TEST(chains_have_five_levels)
{
	for (int above = 1; above <= LEVELS_MOST; above++)
		for (int below = 1; below <= LEVELS_MOST; below++) {
			int outer[LEVELS_MOST], inner[LEVELS_MOST];

			make_chain(outer, above);
			make_chain(inner, below);
			XT_STATUS(kit_add(outer[above - 1], inner[0], EPOLLIN),
			          above + below > LEVELS_MOST ? ELOOP : 0);
			close_chain(outer, above);
			close_chain(inner, below);
		}
}

/* The longest of several paths counts, and a level that is removed does not. */
XT_TEST(levels_are_those_of_the_longest_path)
{
	int longest[3], inner[2], outer = kit_open();
	struct xt_pair pipe = xt_pipe();

	make_chain(longest, 3);
	make_chain(inner, 2);
	XT_OK(kit_add(outer, inner[0], EPOLLIN));
	XT_OK(kit_add(longest[2], inner[0], EPOLLIN));
	XT_STATUS(kit_add(inner[1], kit_open(), EPOLLIN), ELOOP);
	XT_OK(kit_add(inner[1], pipe.r, EPOLLIN));
	xt_put(pipe.w);
	KIT_GETS(longest[0], longest[1], EPOLLIN);
	XT_OK(kit_del(longest[0], longest[1]));
	XT_OK(kit_add(inner[1], kit_open(), EPOLLIN));
	close_chain(longest, 3);
	close_chain(inner, 2);
}

struct used {
	int set, fd;
	atomic_int stops;
};

static void wait_and_change(void *argument)
{
	struct used *used = argument;
	struct epoll_event event;

	/* Relaxed, so that the sanitizer does not take this variable for what orders the calls. */
	while (!atomic_load_explicit(&used->stops, memory_order_relaxed)) {
		(void)epoll_wait(used->set, &event, 1, 0);
		(void)kit_mod(used->set, used->fd, EPOLLIN);
	}
}

XT_TEST(a_set_is_nested_while_another_thread_uses_it)
{
	for (int round = 0; round < 20; round++) {
		int outer = kit_open();
		struct xt_pair pipe = xt_pipe();
		struct used used = {.set = kit_open(), .fd = pipe.r};
		struct xt_thread *thread;

		XT_OK(kit_add(used.set, pipe.r, EPOLLIN));
		thread = xt_start(wait_and_change, &used);
		XT_OK(kit_add(outer, used.set, EPOLLIN));
		atomic_store_explicit(&used.stops, 1, memory_order_relaxed);
		xt_join(thread);
		xt_put(pipe.w);
		KIT_GETS(outer, used.set, EPOLLIN);
		KIT_HAS(used.set, pipe.r, EPOLLIN);
	}
}
