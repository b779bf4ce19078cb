/*
 * Goal: NOTE_TRACK follows a tree of processes: each child becomes a
 * registration that begins with NOTE_CHILD and its parent's ID, no process is
 * missed, and NOTE_TRACKERR reports that one may have been missed (S22, S18,
 * hazard 15).
 * Method: trees of helpers; the example of the kqueue paper; many forks at a
 * time; limits.
 */
#include "history.h"

#include <sys/resource.h>

/*
 * "Kqueue: a generic and scalable event notification facility", section 5: A forks B and C, C forks
 * D, D execs and exits.  In the paper D's first event includes its exit, but it has no room for the
 * exit status, so here the exit is the next event.
 * Complaint: Forks and execs cannot be followed on Linux.
 */
XT_TEST(example_of_the_paper)
{
	struct helper b;
	struct helper c;
	struct helper d;
	struct xpoll_event events[8];
	struct xpoll_event end;
	int i;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper a = helper_start();
	XT_OK(xt_change(queue, (uint64_t)a.pid, PROC, XPOLL_ADD, ALL, 0, &a));
	b = helper_fork(a);
	c = helper_fork(a);
	d = helper_fork(c);
	helper_exec_other(d, "/bin/true");
	helper_await_end(d);

	XT_EQ(xpoll_event(queue, NULL, 0, events, 8, XT_SOON), 4);
	i = xt_find(events, 4, (uint64_t)a.pid, PROC);
	XT_CHECK(i >= 0);
	XT_EXPECT_EQ(events[i].fflags, FORK);
	i = xt_find(events, 4, (uint64_t)b.pid, PROC);
	XT_CHECK(i >= 0);
	XT_EXPECT_EQ(events[i].fflags, CHILD);
	XT_EXPECT_EQ(events[i].data, a.pid);
	i = xt_find(events, 4, (uint64_t)c.pid, PROC);
	XT_CHECK(i >= 0);
	XT_EXPECT_EQ(events[i].fflags, CHILD | FORK);
	XT_EXPECT_EQ(events[i].data, a.pid);
	i = xt_find(events, 4, (uint64_t)d.pid, PROC);
	XT_CHECK(i >= 0);
	XT_EXPECT_EQ(events[i].fflags, CHILD | EXEC);
	XT_EXPECT_EQ(events[i].data, c.pid);
	for (i = 0; i < 4; i++)
		XT_EXPECT(events[i].udata == &a);

	XT_GETS(queue, &end, d.pid, PROC);
	XT_EXPECT_EQ(end.fflags, EXIT);
	XT_EXPECT_EQ(end.flags, XPOLL_EOF);
	XT_EXPECT_EQ(end.data, helper_reap(c, d.pid));
	XT_NONE(queue);
}

XT_TEST(tracked_children_are_registrations)
{
	struct helper child;
	struct history history = {0};
	struct xpoll_event now;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	XT_OK(xt_change(queue, (uint64_t)parent.pid, PROC, XPOLL_ADD, ALL, 0,
	                queue));
	child = helper_fork(parent);
	XT_CHECK(history_until(queue, &history, child.pid, CHILD));
	XT_EQ(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &now), 0);
	XT_EXPECT_EQ(now.fflags, ALL);
	XT_EXPECT(now.udata == queue);
	/* Changing the registration of one child does not affect the others. */
	XT_OK(xt_change(queue, (uint64_t)child.pid, PROC, XPOLL_ADD, EXIT, 0,
	                &history));
	XT_EQ(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &now), 0);
	XT_EXPECT_EQ(now.fflags, EXIT);
	(void)helper_fork(child);
	XT_NONE(queue);
	helper_exit(child, 2);
	XT_GETS(queue, &now, child.pid, PROC);
	XT_EXPECT_EQ(now.fflags, EXIT);
	XT_EXPECT(now.udata == &history);
	free(history.told);
}

XT_TEST(deleted_child_is_silent_and_the_rest_goes_on)
{
	struct helper child[2];
	struct helper grandchild;
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, ALL);
	for (int i = 0; i < 2; i++) {
		child[i] = helper_fork(parent);
		XT_CHECK(history_until(queue, &history, child[i].pid, CHILD));
	}
	XT_OK(xt_flag(queue, (uint64_t)child[0].pid, PROC, XPOLL_DELETE));
	(void)helper_fork(child[0]);
	helper_exit(child[0], 0);
	(void)helper_reap(parent, child[0].pid);
	grandchild = helper_fork(child[1]);
	XT_CHECK(history_until(queue, &history, grandchild.pid, CHILD));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_of(&history, grandchild.pid)->parent, child[1].pid);
	XT_EXPECT_EQ(history_of(&history, child[0].pid)->notes, CHILD);
	XT_EXPECT_EQ(history_count(&history, CHILD), 3);
	free(history.told);
}

XT_TEST(children_stay_tracked_when_the_parent_is_deleted_or_ends)
{
	struct helper child;
	struct helper grandchild[2];
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, ALL);
	child = helper_fork(parent);
	XT_CHECK(history_until(queue, &history, child.pid, CHILD));
	XT_OK(xt_flag(queue, (uint64_t)parent.pid, PROC, XPOLL_DELETE));
	grandchild[0] = helper_fork(child);
	XT_CHECK(history_until(queue, &history, grandchild[0].pid, CHILD));
	helper_exit(parent, 0);
	(void)helper_wait(parent);
	grandchild[1] = helper_fork(grandchild[0]);
	XT_CHECK(history_until(queue, &history, grandchild[1].pid, CHILD));
	XT_CALL(helper_exec(grandchild[1]));
	XT_CHECK(history_until(queue, &history, grandchild[1].pid, EXEC));
	helper_exit(grandchild[1], 3);
	XT_CHECK(history_until(queue, &history, grandchild[1].pid, EXIT));
	XT_EXPECT_EQ(history_of(&history, grandchild[1].pid)->status, 3 << 8);
	XT_EXPECT(!(history_of(&history, parent.pid)->notes & EXIT));
	free(history.told);
}

XT_TEST(exits_of_grandchildren_have_their_status)
{
	struct helper child;
	struct helper grandchild;
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, TRACK | EXIT);
	child = helper_fork(parent);
	grandchild = helper_fork(child);
	XT_CHECK(history_until(queue, &history, grandchild.pid, CHILD));
	helper_kill(grandchild, SIGTERM);
	XT_CHECK(history_until(queue, &history, grandchild.pid, EXIT));
	XT_EXPECT_EQ(history_of(&history, grandchild.pid)->status, SIGTERM);
	XT_EXPECT_EQ(history_of(&history, grandchild.pid)->parent, child.pid);
	XT_EXPECT_EQ(helper_reap(child, grandchild.pid), SIGTERM);
	helper_exit(child, 5);
	XT_EXPECT_EQ(helper_reap(parent, child.pid), 5 << 8);
	XT_CHECK(history_until(queue, &history, child.pid, EXIT));
	XT_EXPECT(history_of(&history, child.pid)->notes & UNKNOWN ||
	          history_of(&history, child.pid)->status == 5 << 8);
	/* NOTE_FORK was not requested. */
	XT_EXPECT_EQ(history_count(&history, FORK), 0);
	free(history.told);
}

/* The children were forked, exited and were reaped before the first wait. */
XT_TEST(children_that_are_gone_already_are_told_whole)
{
	enum { COUNT = 100 };
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, ALL);
	XT_CALL(helper_burst(parent, COUNT, 7));
	XT_CHECK(history_until_count(queue, &history, COUNT, CHILD | EXIT));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_count(&history, CHILD | EXIT), COUNT);
	XT_EXPECT_EQ(history_count(&history, CHILD), COUNT);
	XT_EXPECT_EQ(history_count(&history, TRACKERR), 0);
	for (int i = 0; i < history.len; i++) {
		const struct told *told = &history.told[i];

		if (!(told->notes & CHILD))
			continue;
		XT_EXPECT_EQ(told->parent, parent.pid);
		if (history_by_connector())
			XT_EXPECT(!(told->notes & UNKNOWN));
		if (!(told->notes & UNKNOWN))
			XT_EXPECT_EQ(told->status, 7 << 8);
	}
	XT_EXPECT_EQ(history_of(&history, parent.pid)->notes, FORK);
	free(history.told);
}

XT_TEST(vforked_child_is_told)
{
	struct history history = {0};
	pid_t child;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, ALL);
	child = helper_vfork(parent);
	XT_CHECK(history_until(queue, &history, child, CHILD | EXIT));
	XT_EXPECT_EQ(history_of(&history, child)->parent, parent.pid);
	free(history.told);
}

XT_TEST(child_of_a_new_thread_has_the_process_as_parent)
{
	struct helper child;
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, TRACK);
	child = helper_fork_by_thread(parent);
	XT_CHECK(history_until(queue, &history, child.pid, CHILD));
	XT_EXPECT_EQ(history_of(&history, child.pid)->parent, parent.pid);
	free(history.told);
}

/* A whole tree: each process is reported once, with its parent. */
XT_TEST(tree_of_many_levels_is_told_whole)
{
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper root = history_helper(queue, ALL);
	XT_CALL(helper_grow(root, 3, 4));
	XT_CHECK(history_until_count(queue, &history, 3 + 9 + 27 + 81, CHILD));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history.len, 1 + 3 + 9 + 27 + 81);
	XT_EXPECT_EQ(history_count(&history, FORK), 1 + 3 + 9 + 27);
	XT_EXPECT_EQ(history_count(&history, TRACKERR), 0);
	for (int i = 0; i < history.len; i++)
		if (history.told[i].pid != root.pid)
			XT_EXPECT(history_of(&history, history.told[i].parent)->notes &
			          FORK);
	free(history.told);
}

XT_TEST(two_hundred_that_fork_at_once_are_told_whole)
{
	enum { COUNT = 200 };
	struct history history = {0};

	HISTORY_OR_SKIP();
	(void)xt_raise_files(4 * COUNT);
	struct xpoll *queue = xt_open_quiet();
	struct helper root = history_helper(queue, ALL);
	XT_CALL(helper_storm(root, COUNT));
	XT_CHECK(history_until_count(queue, &history, 2 * COUNT, CHILD));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_count(&history, CHILD | FORK), COUNT);
	XT_EXPECT_EQ(history_count(&history, TRACKERR), 0);
	XT_EXPECT_EQ(history.len, 1 + 2 * COUNT);
	free(history.told);
}

/* S11: with room for one event, no process is lost. */
XT_TEST(tree_comes_one_event_at_a_time)
{
	struct xpoll_event event;
	int children = 0;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper root = history_helper(queue, TRACK);
	XT_CALL(helper_grow(root, 30, 1));
	for (int i = 0; i < 30; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT_EQ(event.fflags, CHILD);
		children++;
	}
	XT_EQ(children, 30);
	XT_NONE(queue);
}

/* DISABLE of the parent does not affect its children: as in FreeBSD, they start enabled. */
XT_TEST(children_of_a_disabled_parent_are_told)
{
	struct helper child;
	struct xpoll_event event;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	XT_OK(xt_change(queue, (uint64_t)parent.pid, PROC,
	                XPOLL_ADD | XPOLL_DISABLE, ALL, 0, NULL));
	child = helper_fork(parent);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, CHILD);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)parent.pid, PROC, XPOLL_ENABLE));
	XT_GETS(queue, &event, parent.pid, PROC);
	XT_EXPECT_EQ(event.fflags, FORK);
}

XT_TEST(dispatched_child_waits_for_enable)
{
	struct helper child;
	struct xpoll_event event;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = helper_start();
	XT_OK(xt_change(queue, (uint64_t)parent.pid, PROC,
	                XPOLL_ADD | XPOLL_DISPATCH, TRACK | EXIT, 0, NULL));
	child = helper_fork(parent);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, CHILD);
	helper_exit(child, 1);
	XT_EXPECT_EQ(helper_reap(parent, child.pid), 1 << 8);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)child.pid, PROC, XPOLL_ENABLE));
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags & ~UNKNOWN, EXIT);
	XT_NONE(queue);
}

/* NOTE_TRACK that is added later follows children from then on. */
XT_TEST(track_can_be_added_later)
{
	struct helper child[2];
	struct history history = {0};

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open();
	struct helper parent = history_helper(queue, FORK);
	child[0] = helper_fork(parent);
	XT_CHECK(history_until(queue, &history, parent.pid, FORK));
	XT_OK(history_watch(queue, parent.pid, ALL));
	child[1] = helper_fork(parent);
	XT_CHECK(history_until(queue, &history, child[1].pid, CHILD));
	(void)helper_fork(child[0]);
	(void)helper_fork(child[1]);
	XT_CHECK(history_until(queue, &history, child[1].pid, FORK));
	history_hear(queue, &history);
	XT_EXPECT_EQ(history_of(&history, child[0].pid)->notes, 0);
	XT_EXPECT_EQ(history_count(&history, CHILD), 2);
	free(history.told);
}

/*
 * The program adds a child whose birth was not delivered yet: that ADD changes the tracked
 * registration.
 */
XT_TEST(add_of_a_child_meets_the_tracked_one)
{
	struct helper child;
	struct xpoll_event event;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, TRACK);
	child = helper_fork(parent);
	XT_OK(xt_change(queue, (uint64_t)child.pid, PROC, XPOLL_ADD, EXIT, 0,
	                &event));
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, CHILD);
	XT_EXPECT_EQ(event.data, parent.pid);
	XT_EXPECT(event.udata == &event);
	helper_exit(child, 0);
	XT_GETS(queue, &event, child.pid, PROC);
	XT_EXPECT_EQ(event.fflags, EXIT);
	XT_NONE(queue);
}

/* S18: the parent's registration reports a child that cannot be registered. */
XT_TEST(child_without_a_descriptor_is_trackerr)
{
	struct helper child;
	struct rlimit limit;
	struct rlimit none;
	struct xpoll_event event;
	int count;

	HISTORY_OR_SKIP();
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, ALL);
	child = helper_fork(parent);
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)dup(0);
	xt_close((int)none.rlim_cur);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	count = xpoll_event(queue, NULL, 0, &event, 1, XT_SOON);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	XT_EQ(count, 1);
	XT_EXPECT_EQ(event.ident, (uint64_t)parent.pid);
	XT_EXPECT_EQ(event.fflags, FORK | TRACKERR);
	XT_EXPECT_FAILS(xpoll_lookup(queue, (uint64_t)child.pid, PROC, &event),
	                ENOENT);
	child = helper_fork(parent);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT(!(event.fflags & TRACKERR));
}

/* S17, S16: several threads wait while processes are forked. */
struct hunt {
	struct xpoll *queue;
	atomic_int children;
	atomic_int exits;
};

static void hunt_for(void *argument)
{
	struct hunt *hunt = argument;
	struct xpoll_event event;

	while (xpoll_event(hunt->queue, NULL, 0, &event, 1, -1) == 1) {
		if (event.fflags & CHILD)
			atomic_fetch_add(&hunt->children, 1);
		if (event.fflags & EXIT)
			atomic_fetch_add(&hunt->exits, 1);
	}
}

XT_TEST(several_waiting_threads_share_a_tree)
{
	enum { COUNT = 100 };
	struct hunt hunt = {.queue = xt_open_quiet()};
	struct xt_thread *threads[3];
	struct helper root;

	HISTORY_OR_SKIP();
	root = helper_start();
	XT_OK(history_watch(hunt.queue, root.pid, TRACK | EXIT));
	for (int i = 0; i < 3; i++)
		threads[i] = xt_start(hunt_for, &hunt);
	helper_burst(root, COUNT, 0);
	helper_exit(root, 0);
	xt_until(&hunt.exits, COUNT + 1);
	for (int i = 0; i < 3; i++)
		xt_send_home(hunt.queue, threads[i]);
	XT_EXPECT_EQ(atomic_load(&hunt.children), COUNT);
	XT_EXPECT_EQ(atomic_load(&hunt.exits), COUNT + 1);
	XT_NONE(hunt.queue);
	(void)helper_wait(root);
}

/*
 * The tracer and the child's descriptor report one exit.  The first report ends the watch, so the
 * second one counts as that of a closed file, and four of one number replace the kernel's set.
 */
XT_TEST(children_whose_exit_is_reported_twice_do_not_replace_the_set)
{
	struct history history = {0};
	uint64_t changes;

	XT_SINGLE_ONLY();
	HISTORY_OR_SKIP();
	if (!xt_is("epoll"))
		XT_SKIP("no report of a descriptor that is not watched in this back end");
	struct xpoll *queue = xt_open_quiet();
	struct helper parent = history_helper(queue, TRACK | EXIT);
	changes = xt_stats(queue).syscalls_change;
	for (int i = 0; i < 8; i++) {
		struct helper child = helper_fork(parent);

		XT_CHECK(history_until(queue, &history, child.pid, CHILD));
		helper_exit(child, 3);
		XT_EXPECT_EQ(helper_reap(parent, child.pid), 3 << 8);
		XT_CHECK(history_until(queue, &history, child.pid, EXIT));
		xt_close(child.fd); /* so that the next child's descriptor has the same number */
	}
	XT_EXPECT(!history_by_connector() || xt_stats(queue).stale_dropped >= 8);
	/* Each child's descriptor is watched, and not removed after its end. */
	XT_EXPECT_EQ(xt_stats(queue).syscalls_change - changes, 8);
	XT_EXPECT_EQ(xt_stats(queue).rebuilds, 0);
	free(history.told);
}
