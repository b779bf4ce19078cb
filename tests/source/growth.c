/*
 * Goal: READ of regular files (S13) is ready while the offset is not at the
 * end, and again when the file grows, also while a wait sleeps; there is no
 * busy loop.
 * Method: lseek(2) and fstat(2) are the oracles; the queue's counters show how
 * often it has checked the file.
 */
#include "growth.h"

XT_TEST(file_that_grows_is_ready_again)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "text");

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_GETS(queue, NULL, log.r, READ);
	XT_EQ(xt_drain(log.r), 4);
	XT_NONE(queue);
	for (int i = 0; i < 10; i++) {
		append(log.w, "more");
		XT_GETS(queue, NULL, log.r, READ);
		XT_EQ(xt_drain(log.r), 4);
		XT_NONE(queue);
	}
}

/*
 * The case of tail -f.
 * Complaint: Regular files, directories, /dev/null are refused.
 */
XT_TEST(growth_wakes_a_wait_that_sleeps)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");

	XT_OK(xt_add(queue, log.r, READ, 0));
	for (int i = 0; i < 20; i++) {
		struct xt_thread *writer = xt_start(append_later, &log.w);

		XT_GETS(queue, NULL, log.r, READ);
		xt_join(writer);
		XT_EQ(xt_drain(log.r), 4);
	}
	XT_NONE(queue);
}

/* After log rotation ext4 may give the new file the inode number of the old one. */
XT_TEST(file_under_the_number_of_one_that_was_removed_is_read)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH};
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");
	struct xpoll_event now;

	if (xt_sunos())
		XT_SKIP("no call of this system tells of a file's birth");
	for (int i = 0; i < 12; i++) {
		int number = log.r;

		XT_OK(xt_add(queue, number, READ, modes[i % 3]));
		XT_EQ(xpoll_lookup(queue, (uint64_t)number, READ, &now), 0);
		XT_EXPECT_EQ(now.flags, modes[i % 3]);
		if (i >= 6)
			XT_NONE(queue);
		append(log.w, "more");
		XT_GETS(queue, NULL, number, READ);
		XT_EQ(xt_drain(number), 4);
		XT_EQ(unlink(xt_name("f")), 0);
		xt_close(log.r);
		xt_close(log.w);
		log = log_make("f", "");
		if (log.r != number)
			xt_number(log.r, number);
		log.r = number;
	}
}

/* The wait is asleep before the file is registered. */
XT_TEST(growth_wakes_a_wait_that_slept_before_the_file_was_added)
{
	struct xt_sleeper sleeper = {.queue = xt_open(), .timeout_ns = XT_SOON};
	struct log log = log_make("f", "");
	struct xt_thread *thread = xt_start(xt_sleep, &sleeper);

	xt_asleep(thread);
	XT_OK(xt_add(sleeper.queue, log.r, READ, XPOLL_DISPATCH));
	xt_asleep(thread);
	append(log.w, "more");
	xt_join(thread);
	XT_EQ(sleeper.rc, 1);
	XT_EXPECT_EQ(sleeper.event.ident, log.r);
	XT_EXPECT_EQ(sleeper.event.filter, READ);
}

XT_TEST(growth_is_activity_for_clear)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "text");

	XT_OK(xt_add(queue, log.r, READ, XPOLL_CLEAR));
	XT_GETS(queue, NULL, log.r, READ);
	XT_NONE(queue);
	append(log.w, "more");
	XT_GETS(queue, NULL, log.r, READ);
	XT_NONE(queue);
	XT_EQ(xt_drain(log.r), 8);
	XT_NONE(queue);
	struct xt_thread *writer = xt_start(append_later, &log.w);
	XT_GETS(queue, NULL, log.r, READ);
	xt_join(writer);
	XT_NONE(queue);
}

XT_TEST(growth_and_oneshot_and_dispatch)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");
	uint64_t ident = (uint64_t)log.r;

	XT_OK(xt_add(queue, log.r, READ, XPOLL_DISPATCH));
	XT_NONE(queue);
	append(log.w, "more");
	XT_GETS(queue, NULL, log.r, READ);
	XT_NONE(queue);
	XT_EQ(xt_drain(log.r), 4);
	append(log.w, "more");
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, log.r, READ);
	XT_EQ(xt_drain(log.r), 4);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	XT_OK(xt_add(queue, log.r, READ, XPOLL_ONESHOT));
	XT_NONE(queue);
	append(log.w, "more");
	XT_GETS(queue, NULL, log.r, READ);
	append(log.w, "more");
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), ENOENT);
}

/* As in FreeBSD, only an offset exactly at the end is not ready. */
XT_TEST(offset_beyond_the_end_is_ready)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "text");

	XT_OK(xt_add(queue, log.r, READ, XPOLL_DISPATCH));
	XT_EQ(lseek(log.r, 100, SEEK_SET), 100);
	XT_GETS(queue, NULL, log.r, READ);
	XT_EQ(xt_get(log.r), 0);
	XT_EQ(lseek(log.r, 4, SEEK_SET), 4);
	XT_OK(xt_flag(queue, (uint64_t)log.r, READ, XPOLL_ENABLE));
	XT_NONE(queue);
	XT_OK(ftruncate(log.w, 0));
	XT_GETS(queue, NULL, log.r, READ);
}

/* S3: a disabled registration wakes a thread a bounded number of times. */
XT_TEST(growth_while_disabled_is_silent_and_wakes_a_few_times)
{
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open_quiet();
	struct log log = log_make("f", "");
	uint64_t ident = (uint64_t)log.r;

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	for (int round = 0; round < 3; round++) {
		XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
		struct xpoll_stats before = xt_stats(queue);
		for (int i = 0; i < 100; i++) {
			append(log.w, "x");
			XT_NONE(queue);
		}
		struct xpoll_stats after = xt_stats(queue);
		XT_EXPECT(after.syscalls_wait - before.syscalls_wait < 120);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_GETS(queue, NULL, log.r, READ);
		XT_EQ(xt_drain(log.r), 100);
		XT_NONE(queue);
		append(log.w, "x");
		XT_GETS(queue, NULL, log.r, READ);
		XT_EQ(xt_drain(log.r), 1);
	}
}

XT_TEST(file_at_its_end_does_not_keep_the_wait_busy)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct log log = log_make("f", "");

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	struct xpoll_stats before = xt_stats(queue);
	int64_t start = xt_now();
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 50000000), 0);
	/*
	 * Where the kernel reports no growth, the library checks the file each 100 ms, and one
	 * check may be due at once.
	 */
	uint64_t looks = 1 + (uint64_t)(xt_now() - start) / 100000000;
	struct xpoll_stats after = xt_stats(queue);
	uint64_t sleeps = after.syscalls_wait - before.syscalls_wait;

	/* The bound grows with the time; poll and select poll twice before they sleep. */
	XT_EXPECT(sleeps <= 2 + looks);
	XT_EXPECT(after.syscalls_check - before.syscalls_check <= 3 * sleeps);
}

enum { LOGS = 800 }; /* descriptor numbers below FD_SETSIZE, for select */

static void logs_add(struct xpoll *queue, struct log *logs)
{
	XT_FILES(2 * LOGS + 100);
	for (int i = 0; i < LOGS && !xt_failures(); i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "f%d", i);
		logs[i] = log_make(name, "");
		XT_OK(xt_add(queue, logs[i].r, READ, 0));
	}
	XT_NONE(queue);
}

XT_TEST(many_files_at_their_ends_cost_little_and_use_one_descriptor)
{
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open_quiet();
	struct log logs[LOGS] = {{0}};
	struct xpoll_event event;
	int before = xt_count_open();

	XT_CALL(logs_add(queue, logs));
	if (!logs[LOGS - 1].r)
		return;
	/*
	 * The files share one descriptor of the library; a model of the kernel has another one, and
	 * the drop-in one for each file.
	 */
	XT_EXPECT(xt_count_open() <= before + 2 * LOGS + 1 + xt_is("port") ||
	          getenv("MODEL_KERNEL"));
	struct xpoll_stats start = xt_stats(queue);
	for (int i = 0; i < 100; i++)
		XT_NONE(queue);
	struct xpoll_stats end = xt_stats(queue);
	/* Each wait checks some of the files in turn, because their offsets may have been moved. */
	XT_EXPECT(end.syscalls_check - start.syscalls_check <= 100 * 2 * 32);
	for (int i = 0; i < LOGS; i += 100) {
		append(logs[i].w, "x");
		XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT_EQ(event.ident, logs[i].r);
		XT_EXPECT_EQ(xt_drain(logs[i].r), 1);
	}
	/* An offset that was moved back is detected within this number of waits. */
	XT_NONE(queue);
	XT_EQ(lseek(logs[100].r, 0, SEEK_SET), 0);
	int waits = 0;
	while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 0)
		XT_CHECK(++waits <= LOGS / 16 + 1);
	XT_EXPECT_EQ(event.ident, logs[100].r);
}

/* S11: with room for one event, each ready file is delivered. */
XT_TEST(many_files_that_grow_all_come)
{
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open_quiet();
	struct log logs[LOGS] = {{0}};
	unsigned char seen[LOGS] = {0};
	struct xpoll_event event;

	XT_CALL(logs_add(queue, logs));
	for (int i = 0; i < LOGS && logs[i].r; i++)
		append(logs[i].w, "x");
	for (int left = logs[LOGS - 1].r ? LOGS : 0, i = 0; left > 0; i++) {
		XT_CHECK(i < 4 * LOGS);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		for (int k = 0; k < LOGS; k++) {
			if (event.ident != (uint64_t)logs[k].r)
				continue;
			left -= !seen[k];
			seen[k] = 1;
			XT_EXPECT(xt_drain(logs[k].r) > 0);
		}
	}
	XT_NONE(queue);
}

XT_TEST(file_without_a_name_grows)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");

	XT_OK(unlink(xt_name("f")));
	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	append(log.w, "x");
	XT_GETS(queue, NULL, log.r, READ);
}

XT_TEST(closed_while_it_sleeps_is_silent)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	struct log log = log_make("f", "");

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	xt_close(log.r);
	append(log.w, "x");
	XT_NONE(queue);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)log.r, READ, &now), ENOENT);
	struct xt_pair pipe = xt_pipe();
	xt_number(pipe.r, log.r);
	XT_NONE(queue);
	XT_OK(xt_add(queue, log.r, READ, 0));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, log.r, READ);
}

XT_TEST(close_fd_ends_it_while_another_goes_on)
{
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");
	int other = xt_keep(open(xt_name("f"), O_RDONLY | O_CLOEXEC));

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_OK(xt_add(queue, other, READ, 0));
	XT_NONE(queue);
	XT_OK(xpoll_close_fd(log.r));
	append(log.w, "x");
	XT_GETS(queue, NULL, other, READ);
}

/* When READ is deleted, WRITE stays registered, and the growth is no longer watched. */
XT_TEST(write_alone_remains)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	struct log log = log_make("f", "text");
	uint64_t ident = (uint64_t)log.w;

	XT_EQ(lseek(log.w, 0, SEEK_SET), 0);
	XT_OK(xt_add(queue, log.w, READ, 0));
	XT_OK(xt_add(queue, log.w, WRITE, XPOLL_DISPATCH));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
	append(log.w, "x");
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
	XT_GETS(queue, NULL, log.w, WRITE);
}

XT_TEST(poll_level_calls_it_ready_at_the_end_too)
{
	XT_SINGLE_ONLY();
	struct xpoll *queue = xt_open();
	struct log log = log_make("f", "");
	void *data = NULL;

	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	for (int i = 0; i < 3; i++) {
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EQ(xpoll_revents(queue, &data), POLLIN);
		XT_EQ(xpoll_revents(queue, &data), 0);
	}
	XT_NONE(queue);
	append(log.w, "x");
	XT_GETS(queue, NULL, log.r, READ);
}

XT_TEST(xpoll_fd_is_readable_when_the_file_grows)
{
	struct xpoll *queue = xt_open_quiet();
	struct log log = log_make("f", "");
	int fd = xpoll_fd(queue);

	if (fd < 0)
		XT_SKIP("no kernel queue in this back end");
	XT_OK(xt_add(queue, log.r, READ, 0));
	XT_NONE(queue);
	XT_EXPECT_EQ(xt_poll(fd, POLLIN), 0);
	append(log.w, "x");
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_GETS(queue, NULL, log.r, READ);
	/* Level-triggered: the file is ready until it is read. */
	XT_CHECK(xt_poll_until(fd, POLLIN, POLLIN));
	XT_EQ(xt_drain(log.r), 1);
	XT_NONE(queue);
	XT_EXPECT_EQ(xt_poll(fd, POLLIN), 0);
}

struct family {
	struct xpoll *queue;
	struct log log;
};

static void child_takes_over(void *argument)
{
	struct family *family = argument;
	uint64_t ident = (uint64_t)family->log.r;

	XT_OK(xpoll_reinit(family->queue));
	XT_NONE(family->queue);
	append(family->log.w, "x");
	XT_GETS(family->queue, NULL, family->log.r, READ);
	XT_OK(xt_flag(family->queue, ident, READ, XPOLL_DELETE));
	xpoll_destroy(family->queue);
}

XT_TEST(forked_child_is_told_of_growth_after_reinit)
{
	XT_SINGLE_ONLY();
	struct family family = {xt_open_quiet(), log_make("f", "")};

	XT_OK(xt_add(family.queue, family.log.r, READ, 0));
	XT_NONE(family.queue);
	XT_CHECK(xt_child(child_takes_over, &family));
	XT_GETS(family.queue, NULL, family.log.r, READ);
	XT_EQ(xt_drain(family.log.r), 1);
	XT_NONE(family.queue);
	append(family.log.w, "x");
	XT_GETS(family.queue, NULL, family.log.r, READ);
}
