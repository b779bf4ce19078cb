/*
 * Goal: many VNODE registrations: several for one file, thousands of files with
 * one descriptor, little room for events (S11), and an overflow of the kernel's
 * queue.
 * Method: the queue's counters and the number of open descriptors;
 * /proc/self/fdinfo of the inotify instance shows the kernel's watches.
 */
#include "vnode.h"

#ifdef __linux__
#include <dirent.h>

/* Returns the number of watches of this process's inotify instances. */
static int watches_in_kernel(void)
{
	DIR *directory = opendir("/proc/self/fdinfo");
	struct dirent *entry;
	int count = 0;

	while (directory && (entry = readdir(directory))) {
		char path[300];
		char line[512];

		(void)snprintf(path, sizeof path, "/proc/self/fdinfo/%s",
		               entry->d_name);
		FILE *info = fopen(path, "r");
		while (info && fgets(line, sizeof line, info))
			count += strncmp(line, "inotify wd:", 11) == 0;
		if (info)
			(void)fclose(info);
	}
	if (directory)
		(void)closedir(directory);
	return count;
}

/* With kqueue(2) no call returns the number of watches, so there is nothing to compare. */
static bool watches_are(int count)
{
	return xt_kqueue() || XT_EXPECT_EQ(watches_in_kernel(), count);
}

#else

static bool watches_are(int count)
{
	(void)count;
	return true;
}

#endif

/* Count open descriptors, also above those that the harness checks. */
static int descriptors_open(int most)
{
	int count = 0;

	for (int fd = 0; fd < most; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

XT_TEST(two_descriptors_of_one_file_share_a_watch)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[4];
	int file = xt_make("f", "text");
	int again = xt_keep(open(xt_name("f"), O_RDONLY));
	int copy = xt_dup(file);

	XT_OK(link(xt_name("f"), xt_name("hard")));
	int hard = xt_keep(open(xt_name("hard"), O_RDONLY));
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, again, 0, XPOLL_NOTE_ATTRIB));
	XT_OK(vnode_add(queue, copy, 0, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND));
	XT_OK(vnode_add(queue, hard, 0, XPOLL_NOTE_EXTEND));
	XT_CHECK(watches_are(1));

	XT_EQ(pwrite(file, "T", 1, 0), 1);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, XT_SOON), 2);
	XT_OK(fchmod(file, 0600));
	VNODE_GETS(queue, again, XPOLL_NOTE_ATTRIB);
	xt_put(file);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 4, XT_SOON), 3);

	/* DELETE removes only the watches that no other registration needs. */
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)copy, VNODE, XPOLL_DELETE));
	xt_put(file);
	VNODE_GETS(queue, hard, XPOLL_NOTE_EXTEND);
	XT_OK(xt_flag(queue, (uint64_t)hard, VNODE, XPOLL_DELETE));
	xt_put(file);
	XT_NONE(queue);
	XT_OK(fchmod(file, 0644));
	VNODE_GETS(queue, again, XPOLL_NOTE_ATTRIB);
	XT_CHECK(watches_are(1));
	XT_OK(xt_flag(queue, (uint64_t)again, VNODE, XPOLL_DELETE));
	/* The last watch of a deleted registration ends with its first report. */
	xt_put(file);
	XT_NONE(queue);
	XT_CHECK(watches_are(0));
}

/* The watch of a deleted registration serves the next one of the same file. */
XT_TEST(deleted_and_added_again_begins_with_now)
{
	static const uint32_t notes[] = {QUIET_NOTES, XPOLL_NOTE_ATTRIB, XPOLL_NOTE_WRITE};
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);
	uint64_t ident = (uint64_t)file;

	for (int i = 0; i < 12; i++) {
		int fd = i % 2 ? copy : file;

		XT_OK(vnode_add(queue, file, 0, notes[i % 3]));
		if (i & 1)
			xt_put(file);
		XT_OK(xt_flag(queue, ident, VNODE, XPOLL_DELETE));
		if (i & 2)
			xt_put(file);
		if (i & 4)
			XT_OK(fchmod(file, 0600));
		XT_OK(vnode_add(queue, fd, 0, QUIET_NOTES));
		XT_NONE(queue);
		xt_put(file);
		VNODE_GETS(queue, fd, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
		XT_OK(fchmod(file, 0640));
		VNODE_GETS(queue, fd, XPOLL_NOTE_ATTRIB);
		XT_OK(xt_flag(queue, (uint64_t)fd, VNODE, XPOLL_DELETE));
	}
}

/* A later registration of a file does not deliver earlier changes. */
XT_TEST(second_registration_of_a_file_begins_with_now)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	xt_put(file);
	XT_OK(vnode_add(queue, copy, 0, QUIET_NOTES));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_NONE(queue);
}

/* What was before its ADD does not keep a disabled registration from what follows ENABLE. */
XT_TEST(disabled_registration_that_comes_later_gets_what_follows_enable)
{
	struct xpoll *queue = xt_open_quiet();
	int files[2] = {xt_make("f", "text"), xt_make("g", "text")};
	int copy = xt_dup(files[0]);

	for (int i = 0; i < 2; i++)
		XT_OK(vnode_add(queue, files[i], XPOLL_DISABLE, XPOLL_NOTE_WRITE));
	/* Two in turns, so that the kernel cannot merge the reports. */
	for (int i = 0; i < 40; i++)
		xt_put(files[i % 2]);
	XT_OK(vnode_add(queue, copy, XPOLL_DISABLE, XPOLL_NOTE_WRITE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)copy, VNODE, XPOLL_ENABLE));
	XT_NONE(queue);
	xt_put(files[0]);
	VNODE_GETS(queue, copy, XPOLL_NOTE_WRITE);
}

/* One check for each wake-up; two if the first found something. */
static bool wakes_at_most(struct xpoll *queue, int file, int most)
{
	struct xpoll_stats before = xt_stats(queue);
	struct xpoll_stats after;

	for (int i = 0; i < 100; i++) {
		XT_EXPECT_EQ(pwrite(file, "T", 1, 0), 1);
		if (!xt_none(__FILE__, __LINE__, queue))
			return false;
	}
	after = xt_stats(queue);
	return XT_EXPECT(after.syscalls_wait - before.syscalls_wait <=
	                 100 + (uint64_t)most);
}

/* Notes that are not requested any more wake a thread only a few times. */
XT_TEST(notes_given_up_do_not_wake)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);

	XT_SINGLE_ONLY(); /* the test counts waits */
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, copy, 0, XPOLL_NOTE_ATTRIB));
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_NONE(queue);
	XT_CHECK(wakes_at_most(queue, file, 10));
	XT_OK(fchmod(file, 0600));
	VNODE_GETS(queue, copy, XPOLL_NOTE_ATTRIB);
}

XT_TEST(deleted_registration_wakes_once)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");

	XT_SINGLE_ONLY();
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_CHECK(wakes_at_most(queue, file, 1));
	XT_CHECK(watches_are(0));
}

/* S1: a change before the ADD that requests its note is not reported. */
XT_TEST(notes_that_are_added_begin_with_now)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_ATTRIB | XPOLL_NOTE_WRITE));
	for (int i = 0; i < 4; i++) {
		XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
		XT_OK(fchmod(file, i % 2 ? 0600 : 0640));
		XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_ATTRIB));
		XT_NONE(queue);
		xt_put(file);
		XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_EXTEND));
		XT_NONE(queue);
		XT_EQ(pwrite(file, "x", 1, 0), 1);
		XT_NONE(queue);
		XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_ATTRIB));
		XT_OK(fchmod(file, i % 2 ? 0644 : 0604));
		VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
	}
}

/* S3: a disabled registration may wake a thread a few times, but not again and again. */
XT_TEST(disabled_registration_wakes_a_bounded_number_of_times)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");
	uint64_t ident = (uint64_t)file;

	XT_SINGLE_ONLY();
	XT_OK(vnode_add(queue, file, XPOLL_DISPATCH, QUIET_NOTES));
	for (int round = 0; round < 3; round++) {
		XT_EQ(pwrite(file, "T", 1, 0), 1);
		VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
		/* The first write is recorded; the later ones would add nothing. */
		XT_EQ(pwrite(file, "T", 1, 0), 1);
		XT_NONE(queue);
		XT_CHECK(wakes_at_most(queue, file, 10));
		xt_put(file);
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
		/* The library detects the growth since then by comparing the file's size. */
		VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
		XT_OK(fchmod(file, 0600));
		VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
		XT_OK(link(xt_name("f"), xt_name("g")));
		XT_NONE(queue);
		XT_OK(unlink(xt_name("g")));
		XT_OK(fchmod(file, 0644));
		XT_OK(rename(xt_name("f"), xt_name("g")));
		XT_NONE(queue);
		XT_OK(rename(xt_name("g"), xt_name("f")));
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
		VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB | XPOLL_NOTE_RENAME |
		           XPOLL_NOTE_LINK);
		XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
	}
}

/* Another registration of the file is still delivered. */
XT_TEST(disabled_registration_does_not_silence_another)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);

	XT_OK(vnode_add(queue, file, XPOLL_DISABLE, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, copy, 0, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 5; i++) {
		xt_put(file);
		VNODE_GETS(queue, copy, XPOLL_NOTE_WRITE);
	}
	XT_OK(xt_flag(queue, (uint64_t)copy, VNODE, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_ENABLE));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

/* Complaint: inotify instances run out; overflow is silent. */
XT_TEST(ten_thousand_files_use_one_descriptor_and_cost_nothing)
{
	enum { COUNT = 10000 };

	XT_SINGLE_ONLY();
	int count = xt_raise_files(COUNT + 100) - 100;
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	int *files = calloc(COUNT, sizeof *files);

	XT_CHECK(files);
	xt_watchdog(90); /* writing so many files may take a busy disk some time */
	if (count > COUNT)
		count = COUNT;
	if (xt_is("select") && count > 1000)
		count = 1000;
	for (int i = 0; i < count && !xt_failures(); i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "f%d", i);
		files[i] = xt_make(name, "");
	}
	int before = descriptors_open(count + 100);
	for (int i = 0; i < count && !xt_failures(); i++)
		XT_EXPECT_STATUS(vnode_add(queue, files[i], 0,
		                           XPOLL_NOTE_WRITE), 0);
	XT_EXPECT_EQ(descriptors_open(count + 100), before + 1);
	XT_EXPECT(watches_are(count));
	XT_NONE(queue);
	struct xpoll_stats start = xt_stats(queue);
	for (int i = 0; i < 100; i++)
		XT_NONE(queue);
	struct xpoll_stats end = xt_stats(queue);
	/* The number of system calls is the same as without a file. */
	XT_EXPECT_EQ(end.syscalls_wait - start.syscalls_wait, 100);
	XT_EXPECT_EQ(end.syscalls_check, start.syscalls_check);
	xt_put(files[count / 2]);
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	XT_EXPECT_EQ(event.ident, files[count / 2]);
	/* S11: all files change at once, with room for one event. */
	for (int i = 0; i < count; i++)
		xt_put(files[i]);
	int seen = 0;
	while (xpoll_event(queue, NULL, 0, &event, 1, 0) == 1) {
		XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_WRITE);
		seen++;
	}
	XT_EXPECT_EQ(seen, count);
	free(files);
}

#ifdef __linux__

/*
 * S23: an overflow of the kernel's queue is reported.
 * Complaint: inotify instances run out; overflow is silent.
 */
XT_TEST(overflow_of_the_kernels_queue_is_reported)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[8];
	int noisy[2] = {xt_make("a", "x"), xt_make("b", "x")};
	int quiet = xt_make("c", "text");
	int gone = xt_make("d", "text");
	int named = xt_make("e", "text");
	int most = 0;
	FILE *limit;

	if (xt_kqueue())
		XT_SKIP("no queue of reports that could be too long");
	limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	XT_CHECK(limit);
	XT_EXPECT_EQ(fscanf(limit, "%d", &most), 1);
	(void)fclose(limit);
	if (most <= 0 || most > 1000000)
		XT_SKIP("the kernel's queue is too long to be filled");
	for (int i = 0; i < 2; i++)
		XT_OK(vnode_add(queue, noisy[i], 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, quiet, 0,
	                XPOLL_NOTE_EXTEND | XPOLL_NOTE_DELETE));
	XT_OK(vnode_add(queue, gone, 0, XPOLL_NOTE_EXTEND | XPOLL_NOTE_DELETE));
	XT_OK(vnode_add(queue, named, 0, XPOLL_NOTE_RENAME));
	/* Write to two files in turn, so that the kernel cannot merge the reports. */
	for (int i = 0; i <= most; i++)
		XT_EQ(pwrite(noisy[i % 2], "y", 1, 0), 1);
	XT_OK(unlink(xt_name("d")));
	XT_OK(rename(xt_name("e"), xt_name("f")));
	int seen = 0;
	for (int count = 0; count >= 0 && seen < 4;) {
		count = xpoll_event(queue, NULL, 0, events, 8, XT_SOON);
		XT_CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			XT_EXPECT_EQ(events[i].data, 1);
			XT_EXPECT(events[i].ident != (uint64_t)quiet);
			XT_EXPECT_EQ(events[i].fflags,
			             events[i].ident == (uint64_t)gone
			             ? XPOLL_NOTE_DELETE
			             : events[i].ident == (uint64_t)named
			             ? XPOLL_NOTE_RENAME : XPOLL_NOTE_WRITE);
		}
		seen += count;
	}
	XT_EXPECT_EQ(seen, 4);
	XT_NONE(queue);
	/* The queue continues to report. */
	xt_put(quiet);
	VNODE_GETS(queue, quiet, XPOLL_NOTE_EXTEND);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	VNODE_GETS(queue, named, XPOLL_NOTE_RENAME);
}

/* The kernel reports each removal of a watch: these reports do not fill its queue. */
XT_TEST(many_deletes_without_a_wait_lose_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	int files[2] = {xt_make("a", "x"), xt_make("b", "x")};
	int quiet = xt_make("c", "text");

	XT_OK(vnode_add(queue, quiet, 0, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 20000; i++) {
		XT_OK(vnode_add(queue, files[i % 2], 0, XPOLL_NOTE_WRITE));
		XT_OK(xt_flag(queue, (uint64_t)files[i % 2], VNODE, XPOLL_DELETE));
	}
	XT_NONE(queue);
	xt_put(quiet);
	VNODE_GETS(queue, quiet, XPOLL_NOTE_WRITE);
}

/* Returns a name that makes reports long. */
static const char *long_name(void)
{
	static char name[201];

	memset(name, 'n', sizeof name - 1);
	return name;
}

/* S1: the report of a change before the ADD is behind more reports than an ADD reads. */
XT_TEST(deleted_and_added_again_behind_many_reports_begins_with_now)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[2];
	int file = xt_make("f", "text");
	int directory = xt_keep(open(xt_scratch(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	XT_OK(vnode_add(queue, directory, 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 2000; i++) {
		XT_OK(mkdirat(directory, long_name(), 0700));
		XT_OK(unlinkat(directory, long_name(), AT_REMOVEDIR));
	}
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	xt_put(file);
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 4; i++)
		for (int at = xpoll_event(queue, NULL, 0, events, 2, 0); at-- > 0;)
			XT_EXPECT_EQ(events[at].ident, directory);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

#endif
