/*
 * Goal: VNODE handles reports that are hard to cause: file systems that are
 * unmounted, watches that the kernel ends, lost reports, refused watches.
 * Method: the library gets a pipe of this program as its inotify instance.
 */
#include "linux/sys_linux.h"
#include "sys/sys.h"
#include "xt.h"

#include <sys/inotify.h>
#include <sys/vfs.h>

/* --- In place of src/linux/sys_files.c --------------------------------------- */

static struct xt_pair instance;
static int next_number; /* number of the next watch */
static int add_error;
static int removed; /* number of the last watch that was removed */
static uint32_t asked; /* event mask of the last watch that was added */

int xp_sys_inotify_open(void)
{
	instance = xt_pipe();
	/* The library closes the instance, so give it a duplicate. */
	return dup(instance.r);
}

int xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask)
{
	(void)inotify_fd, (void)path;
	asked = mask;
	return add_error ? -add_error : next_number;
}

int xp_sys_inotify_remove(int inotify_fd, int watch)
{
	(void)inotify_fd;
	removed = watch;
	return 0;
}

int64_t xp_sys_fs_type(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) < 0 ? -errno : (int64_t)status.f_type;
}

/* ------------------------------------------------------------------------ */

static struct xpoll *start(void)
{
	next_number = 1;
	add_error = 0;
	removed = 0;
	return xt_open_quiet();
}

static void report(int number, uint32_t mask)
{
	struct inotify_event event = {.wd = number, .mask = mask};

	if (write(instance.w, &event, sizeof event) != (ssize_t)sizeof event)
		xt_fail(__FILE__, __LINE__, "write: %s", xt_error_name(errno));
}

static int add(struct xpoll *queue, int fd, uint32_t notes)
{
	return xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD, notes, 0, NULL);
}

static void expect(struct xpoll *queue, int fd, uint32_t notes, int64_t data)
{
	struct xpoll_event event;

	XT_GETS(queue, &event, fd, VNODE);
	XT_EXPECT_EQ(event.fflags, notes);
	XT_EXPECT_EQ(event.data, data);
}

XT_TEST(unmounted_file_system_is_revoke)
{
	struct xpoll *queue = start();
	int file = xt_file("text");

	XT_OK(add(queue, file, XPOLL_NOTE_REVOKE | XPOLL_NOTE_WRITE));
	report(1, IN_UNMOUNT);
	report(1, IN_IGNORED);
	XT_CALL(expect(queue, file, XPOLL_NOTE_REVOKE, 0));
	/* The registration stays without a watch until the program deletes it. */
	report(1, IN_MODIFY);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_EXPECT_EQ(removed, 0);
}

XT_TEST(lost_reports_are_suspected)
{
	struct xpoll *queue = start();
	int grown = xt_file("text");
	int named = xt_file("text");

	XT_OK(add(queue, grown, XPOLL_NOTE_EXTEND | XPOLL_NOTE_DELETE));
	next_number = 2;
	XT_OK(add(queue, named, XPOLL_NOTE_RENAME | XPOLL_NOTE_LINK));
	report(-1, IN_Q_OVERFLOW);
	XT_CALL(expect(queue, named, XPOLL_NOTE_RENAME, 1));
	XT_NONE(queue);
	XT_EQ(pwrite(grown, "more text", 9, 0), 9);
	report(-1, IN_Q_OVERFLOW);
	XT_OK(xt_flag(queue, (uint64_t)named, VNODE, XPOLL_DISABLE));
	XT_CALL(expect(queue, grown, XPOLL_NOTE_EXTEND, 1));
	/* A later report that is not in doubt is delivered, too. */
	XT_EQ(pwrite(grown, "and more text", 13, 0), 13);
	report(1, IN_MODIFY);
	XT_CALL(expect(queue, grown, XPOLL_NOTE_EXTEND, 0));
}

XT_TEST(watch_ended_by_the_kernel_ends_the_registration_of_a_lost_file)
{
	struct xpoll *queue = start();
	struct xpoll_event now;
	int file = xt_make("f", "text");

	/*
	 * The device and inode number are the same, but the file has a name, so it is another file.
	 */
	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	report(1, IN_DELETE_SELF);
	report(1, IN_IGNORED);
	XT_NONE(queue);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)file, VNODE, &now), ENOENT);
}

XT_TEST(watch_ended_with_the_last_name_is_made_again)
{
	struct xpoll *queue = start();
	int file = xt_file("text"); /* a file without a name */

	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	next_number = 7;
	report(1, IN_DELETE_SELF);
	report(1, IN_IGNORED);
	XT_NONE(queue);
	report(7, IN_MODIFY);
	XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
	/* The new watch is refused, so the library polls the file from time to time. */
	add_error = ENOSPC;
	report(7, IN_IGNORED);
	XT_NONE(queue);
	XT_EXPECT(xpoll_next_timeout(queue) >= 0);
	xt_put(file);
	XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
}

XT_TEST(reports_of_unknown_watches_are_ignored)
{
	struct xpoll *queue = start();
	int file = xt_file("text");

	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	report(99, IN_MODIFY);
	report(99, IN_IGNORED);
	XT_NONE(queue);
	report(1, IN_MODIFY);
	XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
}

XT_TEST(refusals_are_told_and_change_nothing)
{
	static const int errors[] = {ENOSPC, ENOMEM, EMFILE};
	struct xpoll *queue = start();
	struct xpoll_event now;
	int file = xt_file("text");

	for (int i = 0; i < 3; i++) {
		add_error = errors[i];
		XT_STATUS(add(queue, file, XPOLL_NOTE_WRITE), errors[i]);
		XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	}
	add_error = 0;
	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 3; i++) {
		add_error = errors[i];
		XT_STATUS(add(queue, file, XPOLL_NOTE_ATTRIB), errors[i]);
		XT_OK(xpoll_lookup(queue, (uint64_t)file, VNODE, &now));
		XT_EXPECT_EQ(now.fflags, XPOLL_NOTE_WRITE);
	}
	report(1, IN_MODIFY);
	XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
	/*
	 * Without permission or without /proc the file cannot be watched: notes that polling can
	 * detect are supported, and OPEN is not.
	 */
	add_error = EACCES;
	XT_STATUS(add(queue, file, XPOLL_NOTE_OPEN), EPERM);
	add_error = ENOENT;
	XT_STATUS(add(queue, file, XPOLL_NOTE_OPEN), ENOTSUP);
	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	XT_EXPECT(xpoll_next_timeout(queue) >= 0);
}

/* A second registration of a file reads reports of changes before it, which it must not deliver. */
XT_TEST(second_registration_gets_no_report_of_an_earlier_change)
{
	struct xpoll *queue = start();
	struct xpoll_event events[3];
	int file = xt_file("text");
	int copy = xt_dup(file);

	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	report(1, IN_MODIFY);
	XT_OK(add(queue, copy, XPOLL_NOTE_WRITE));
	XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
	XT_NONE(queue);
	report(1, IN_MODIFY);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 3, XT_SOON), 2);
}

/*
 * While no registration uses the watch, it may end, or the kernel may lose the report of its end.
 */
XT_TEST(watch_of_a_deleted_registration_is_not_used_after_its_end)
{
	static const uint32_t ends[] = {IN_UNMOUNT, IN_IGNORED, IN_MODIFY, IN_Q_OVERFLOW, 0};
	struct xpoll *queue = start();
	int file = xt_file("text");

	for (int i = 0; i < 5; i++) {
		next_number = i + 1;
		XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
		asked = 0;
		XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
		if (ends[i])
			report(ends[i] == IN_Q_OVERFLOW ? -1 : i + 1, ends[i]);
		next_number = i + 20;
		XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
		XT_EXPECT_EQ(asked != 0, ends[i] != 0);
		XT_EXPECT_EQ(removed == i + 1, ends[i] != 0);
		XT_NONE(queue);
		report(ends[i] ? i + 20 : i + 1, IN_MODIFY);
		XT_CALL(expect(queue, file, XPOLL_NOTE_WRITE, 0));
		XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
		report(ends[i] ? i + 20 : i + 1, IN_MODIFY);
		XT_NONE(queue);
	}
}

/* The kernel ends the watch between the two calls: the registration gets a new one. */
XT_TEST(watch_that_ends_while_a_second_registration_joins_is_made_again)
{
	struct xpoll *queue = start();
	struct xpoll_event events[3];
	int file = xt_file("text"); /* a file without a name */
	int copy = xt_dup(file);

	XT_OK(add(queue, file, XPOLL_NOTE_WRITE));
	report(1, IN_IGNORED);
	XT_OK(add(queue, copy, XPOLL_NOTE_WRITE));
	XT_NONE(queue);
	report(1, IN_MODIFY);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 3, XT_SOON), 2);
}

/* The watch has another number than before, so the descriptor refers to another file now. */
XT_TEST(number_used_again_is_found_by_the_watch)
{
	struct xpoll *queue = start();
	struct xpoll_event now;
	int file = xt_file("text");

	XT_OK(xt_change(queue, (uint64_t)file, VNODE, XPOLL_ADD | XPOLL_DISABLE,
	                XPOLL_NOTE_WRITE, 0, NULL));
	next_number = 2;
	XT_OK(add(queue, file, XPOLL_NOTE_ATTRIB));
	XT_EXPECT_EQ(removed, 1);
	XT_OK(xpoll_lookup(queue, (uint64_t)file, VNODE, &now));
	XT_EXPECT_EQ(now.flags, XPOLL_CLEAR);
	XT_EXPECT(asked & IN_ATTRIB && !(asked & IN_MODIFY));
	report(2, IN_ATTRIB);
	XT_CALL(expect(queue, file, XPOLL_NOTE_ATTRIB, 0));
}
