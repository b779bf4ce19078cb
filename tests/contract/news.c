/*
 * Goal: files whose poll function clears what it reports (mount tables and
 * performance counters) are reported like all others: each change once to each
 * filter, whatever checks the library makes in between (S3, S4, S8, S9).
 * Method: mounts in a namespace, page faults of a child; the same change is
 * made repeatedly, and poll(2) on an open file of its own shows when there is
 * news.
 */
#include "kernel_files.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static const char no_namespaces[] = "no namespace of mounts here";
static const char no_counters[] = "no performance counters here";

/* Returns true for poll and select, which cannot deliver edges of such a file. */
static bool refuses_edges(void)
{
	return !xt_is("epoll");
}

static bool make(struct kernel_file *file, const char *name)
{
	const char *lacks = strcmp(name, "perf") == 0 ? no_counters : no_namespaces;

	(void)kernel_files_begin();
	if (kernel_file_make(file, kernel_kind(name)))
		return true;
	xt_skip(lacks);
	return false;
}

/* Returns which filters one wait delivers, as the sum of 1 for READ and 2 for EXCEPT. */
static int came(struct xpoll *queue)
{
	struct xpoll_event events[4];
	int count = xpoll_event(queue, NULL, 0, events, 4, 0);
	int filters = 0;

	for (int i = 0; i < count; i++)
		filters |= events[i].filter == READ ? 1 : events[i].filter == EXCEPT ? 2 : 4;
	return filters;
}

/* Returns a queue with READ and EXCEPT of such a file; NULL: this system has none. */
static struct xpoll *queue_of_both(struct kernel_file *file, const char *name)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);

	if (!make(file, name))
		return NULL;
	XT_EXPECT_STATUS(xt_add(queue, file->fds[FILE_QUEUE], READ, 0), 0);
	XT_EXPECT_STATUS(xt_add(queue, file->fds[FILE_QUEUE], EXCEPT, 0), 0);
	return queue;
}

/* S8: a level-triggered EXCEPT of such a file is delivered once for each change. */
static void level_news(const char *name)
{
	struct kernel_file file;
	struct xpoll *queue = queue_of_both(&file, name);

	if (!queue)
		return;
	for (int i = 0; i < 10; i++) {
		XT_EXPECT_EQ(came(queue), 1);
		file.kind->stir(&file);
		XT_EXPECT_EQ(came(queue), 3);
	}
}

XT_TEST(news_of_mounts_by_level_come_once)
{
	level_news("mounts");
}

/* S12: the poll-like level returns the bits of poll(2), including POLLERR. */
XT_TEST(news_of_mounts_at_the_poll_like_level_are_the_bits_of_poll)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	int all = POLLIN | POLLOUT | POLLPRI;
	struct kernel_file file;

	if (!make(&file, "mounts"))
		return;
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, all, file.fds[FILE_QUEUE], NULL), 0);
	for (int i = 0; i < 4; i++) {
		file.kind->stir(&file);
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EXPECT_EQ(xpoll_revents(queue, NULL), xt_poll(file.fds[FILE_POLL], all));
		XT_EQ(xpoll_wait(queue, 0), 1);
		XT_EXPECT_EQ(xpoll_revents(queue, NULL), POLLIN);
	}
}

XT_TEST(news_of_a_counter_come)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct kernel_file file;

	if (!make(&file, "perf"))
		return;
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], READ, 0));
	for (int i = 0; i < 20; i++) {
		XT_EXPECT_EQ(came(queue), 0);
		file.kind->stir(&file);
		XT_EXPECT_EQ(came(queue), 1);
	}
}

/*
 * S4: the library's poll(2) for the other filter clears the news, which must still be delivered to
 * READ after its ENABLE.
 */
XT_TEST(news_of_a_counter_while_read_is_disabled_beside_another_filter_come_after_enable)
{
	struct kernel_file file;
	struct xpoll *queue = queue_of_both(&file, "perf");

	if (!queue)
		return;
	for (int i = 0; i < 20; i++) {
		XT_EXPECT_EQ(came(queue), 0);
		XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], READ, XPOLL_DISABLE));
		file.kind->stir(&file);
		for (int waits = 0; waits < 3; waits++)
			XT_EXPECT_EQ(came(queue), 0);
		XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], READ, XPOLL_ENABLE));
		XT_EXPECT_EQ(came(queue), 1);
	}
}

/* S4: a record of READ, which carries the error, does not consume the news of a disabled EXCEPT. */
static void record_of_read_leaves_except(const char *name)
{
	struct xpoll_ready ready;
	struct kernel_file file;
	struct xpoll *queue = queue_of_both(&file, name);

	if (!queue)
		return;
	for (int i = 0; i < 10; i++) {
		XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], EXCEPT, XPOLL_DISABLE));
		file.kind->stir(&file);
		if (i % 2) {
			XT_EQ(xpoll_pwait(queue, &ready, 1, 0, NULL), 1);
		} else {
			XT_EQ(xpoll_wait(queue, 0), 1);
			ready.events = xpoll_revents(queue, NULL);
		}
		XT_EXPECT_EQ(ready.events & ~POLLERR, POLLIN);
		XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], EXCEPT, XPOLL_ENABLE));
		XT_EXPECT_EQ(came(queue), 3);
	}
}

XT_TEST(news_of_mounts_while_except_is_disabled_outlive_a_record_of_read)
{
	record_of_read_leaves_except("mounts");
}

XT_TEST(news_of_the_host_name_while_except_is_disabled_outlive_a_record_of_read)
{
	record_of_read_leaves_except("hostname");
}

/* A mount table is always readable; if READ is disabled, a wait sleeps nevertheless. */
XT_TEST(disabled_read_of_a_mount_table_lets_a_wait_sleep)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct kernel_file file;
	struct xpoll_stats before, after;
	struct xpoll_event event;

	if (!make(&file, "mounts"))
		return;
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], READ, 0));
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, 0));
	XT_EXPECT_EQ(came(queue), 1);
	XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], READ, XPOLL_DISABLE));
	XT_EQ(xpoll_stats(queue, &before, sizeof before), 0);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 20000000), 0);
	XT_EQ(xpoll_stats(queue, &after, sizeof after), 0);
	XT_EXPECT(after.syscalls_wait - before.syscalls_wait < 10);
	XT_OK(xt_flag(queue, file.fds[FILE_QUEUE], READ, XPOLL_ENABLE));
	XT_EXPECT_EQ(came(queue), 1);
	XT_EXPECT_EQ(came(queue), 1);
}

/* S9: CLEAR works, or ADD fails with ENOTSUP. */
static void news_by_edge(const char *name, int other_mode)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct kernel_file file;

	if (!make(&file, name))
		return;
	if (refuses_edges()) {
		XT_STATUS(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, XPOLL_CLEAR), ENOTSUP);
		XT_EXPECT_EQ(came(queue), 0);
		XT_OK(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, 0));
		return;
	}
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], READ, other_mode));
	XT_EXPECT_EQ(came(queue), 1);
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, XPOLL_CLEAR));
	(void)came(queue);
	for (int i = 0; i < 10; i++) {
		XT_EXPECT_EQ(came(queue) & 2, 0);
		file.kind->stir(&file);
		XT_EXPECT_EQ(came(queue) & 2, 2);
	}
}

XT_TEST(news_of_mounts_by_edge_are_not_lost)
{
	news_by_edge("mounts", XPOLL_CLEAR);
}

XT_TEST(news_of_mounts_by_edge_beside_a_level_are_not_lost)
{
	news_by_edge("mounts", 0);
}

XT_TEST(news_of_mounts_by_edge_beside_dispatch_are_not_lost)
{
	news_by_edge("mounts", XPOLL_DISPATCH);
}

/* S4, S3: news from before the ADD, and from while the filter was disabled */
static void news_before(const char *name, int filters, int mode)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct kernel_file file;

	if (!make(&file, name))
		return;
	file.kind->stir(&file);
	/* In the other order the ADD of READ clears the news on epoll (DIFFERENCES.md). */
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, mode));
	if (filters & 1)
		XT_OK(xt_add(queue, file.fds[FILE_QUEUE], READ, mode));
	XT_EXPECT_EQ(came(queue), filters);
	for (int i = 0; i < 4; i++) {
		XT_OK(xt_flag(queue, (uint64_t)file.fds[FILE_QUEUE], EXCEPT, XPOLL_DISABLE));
		file.kind->stir(&file);
		XT_EXPECT_EQ(came(queue) & 2, 0);
		XT_OK(xt_flag(queue, (uint64_t)file.fds[FILE_QUEUE], EXCEPT, XPOLL_ENABLE));
		XT_EXPECT_EQ(came(queue) & 2, 2);
	}
}

XT_TEST(news_of_mounts_before_add_and_enable_come)
{
	news_before("mounts", 2, 0);
}

XT_TEST(news_of_mounts_before_add_and_enable_come_beside_a_level)
{
	news_before("mounts", 3, 0);
}

XT_TEST(news_of_mounts_before_add_and_enable_come_with_dispatch)
{
	news_before("mounts", 2, XPOLL_DISPATCH);
}

/*
 * S8: the timer makes the wait sleep in several steps, between which the library may block signals
 * and sleep in poll(2).
 */
XT_TEST(news_of_mounts_during_a_sleep_that_a_timer_limits_come)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct kernel_file file;

	if (!make(&file, "mounts"))
		return;
	XT_OK(xt_add(queue, file.fds[FILE_QUEUE], EXCEPT, 0));
	XT_EXPECT_EQ(came(queue), 0);
	for (int i = 0; i < 10; i++) {
		struct xt_sleeper sleeper = {.queue = queue, .timeout_ns = -1};
		struct xt_thread *thread;

		xt_threads_reuse();
		XT_OK(xt_change(queue, 1, XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_ONESHOT,
		                XPOLL_NOTE_NSECONDS, XT_SOON, NULL));
		thread = xt_start(xt_sleep, &sleeper);
		xt_asleep(thread);
		file.kind->stir(&file);
		xt_join(thread);
		XT_EQ(sleeper.rc, 1);
		XT_EQ(sleeper.event.filter, EXCEPT);
		(void)came(queue);
	}
}

/* S12: a full terminal hangs up, so it has POLLHUP without POLLOUT. */
XT_TEST(hang_up_comes_to_who_waits_for_writing_alone)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct xt_pair pty = xt_pty();

	xt_fill(pty.w);
	/*
	 * Wait only after the hang-up: the kernel may make some room before, and then an event
	 * would be correct.
	 */
	XT_OK(xt_add(queue, pty.w, WRITE, 0));
	xt_close(pty.r);
	XT_CHECK(xt_poll_until(pty.w, POLLHUP, POLLHUP));
	XT_EXPECT_EQ(came(queue), 4);
	XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, POLLOUT, pty.w, NULL), 0);
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, pty.w, NULL), 0);
	XT_EQ(xpoll_wait(queue, 0), 1);
	XT_EXPECT_EQ(xpoll_revents(queue, NULL), xt_poll(pty.w, POLLOUT));
}

/* Returns the bits of the file that xpoll_pwait returns now; 0: no record. */
static int pwait_bits(struct xpoll *queue, const struct kernel_file *file)
{
	struct xpoll_ready ready[2] = {{.events = 0}};
	int count = xpoll_pwait(queue, ready, 2, 0, NULL);

	XT_EXPECT(count == 0 || (count == 1 && (int)ready[0].fd == file->fds[FILE_QUEUE]));
	return ready[0].events;
}

/* S10, S12: the file is ready, with news, when it is added: one record has both, once. */
XT_TEST(news_of_a_whole_descriptor_come_with_one_record)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	int all = POLLIN | POLLPRI;
	struct kernel_file file;

	if (!make(&file, "mounts"))
		return;
	int fd = file.fds[FILE_QUEUE];
	for (int i = 0; i < 12; i++) {
		int mode = i % 2 ? XPOLL_DISPATCH : XPOLL_ONESHOT;

		file.kind->stir(&file);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD | XPOLL_WHOLE | mode, all, fd, NULL), 0);
		XT_EXPECT_EQ(pwait_bits(queue, &file), xt_poll(file.fds[FILE_POLL], all));
		XT_EXPECT_EQ(pwait_bits(queue, &file), 0);
		if (mode == XPOLL_ONESHOT)
			continue;
		/* News that comes while the descriptor is disabled is kept until ENABLE. */
		file.kind->stir(&file);
		XT_EXPECT_EQ(pwait_bits(queue, &file), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, all, fd, NULL), 0);
		XT_EXPECT_EQ(pwait_bits(queue, &file), xt_poll(file.fds[FILE_POLL], all));
		XT_EXPECT_EQ(pwait_bits(queue, &file), 0);
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, all, fd, NULL), 0);
		XT_EXPECT_EQ(pwait_bits(queue, &file), POLLIN);
		XT_EQ(xpoll_ctl(queue, XPOLL_DELETE, all, fd, NULL), 0);
	}
}

/* The library's check of enabled filters finds READ, and only the kernel reports EXCEPT. */
static void news_beside_a_check(int mode)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	int all = POLLIN | POLLPRI;
	struct kernel_file file;

	if (!make(&file, "mounts"))
		return;
	int fd = file.fds[FILE_QUEUE];
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD | mode, all, fd, NULL), 0);
	for (int i = 0; i < 6; i++) {
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, all, fd, NULL), 0);
		XT_EXPECT_EQ(pwait_bits(queue, &file), xt_poll(file.fds[FILE_POLL], all));
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLPRI, fd, NULL), 0);
		for (int k = 0; k <= i; k++) {
			XT_EQ(xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, fd, NULL), 0);
			XT_EXPECT_EQ(pwait_bits(queue, &file), 0);
		}
		file.kind->stir(&file);
		XT_EQ(xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, fd, NULL), 0);
		XT_EXPECT_EQ(pwait_bits(queue, &file), xt_poll(file.fds[FILE_POLL], all));
		XT_EXPECT_EQ(pwait_bits(queue, &file), mode ? 0 : POLLIN);
	}
}

XT_TEST(news_beside_a_check_come_with_one_record)
{
	XT_CALL(news_beside_a_check(0));
	XT_CALL(news_beside_a_check(XPOLL_DISPATCH));
	XT_CALL(news_beside_a_check(XPOLL_DISPATCH | XPOLL_WHOLE));
}
