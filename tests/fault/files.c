/*
 * Goal: a file that gets the number of a closed one, and the number of its inode,
 * is another file to READ, WRITE and VNODE (S1, S7), where it is the kernel's watch
 * that knows, and where it is the time of its birth.
 * Method: the calls are wrapped at link time: all files have one inode.
 */
#include "xt.h"

#include <errno.h>

#include "linux/sys_linux.h"
#include "sys/sys.h"

static bool one_inode;  /* for all regular files */
static bool no_births;  /* the file system does not keep them */
static bool no_watches; /* there is no inotify instance left */

XT_WRAP(xp_sys_fstat_born);
int __wrap_xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	int rc = __real_xp_sys_fstat_born(fd, status, born_ns);

	if (rc == 0 && one_inode && S_ISREG(status->st_mode))
		status->st_ino = 42;
	if (no_births)
		*born_ns = 0;
	return rc;
}

XT_WRAP(xp_sys_fstat);
int __wrap_xp_sys_fstat(int fd, struct stat *status)
{
	int rc = __real_xp_sys_fstat(fd, status);

	if (rc == 0 && one_inode && S_ISREG(status->st_mode))
		status->st_ino = 42;
	return rc;
}

XT_WRAP(xp_sys_inotify_open);
int __wrap_xp_sys_inotify_open(void)
{
	return no_watches ? -EMFILE : __real_xp_sys_inotify_open();
}

static void world(bool births, bool watches)
{
	one_inode = true;
	no_births = !births;
	no_watches = !watches;
}

static int make(void)
{
	int fd = xt_make("f", "");

	xt_close(fd);
	return xt_keep(open(xt_name("f"), O_RDWR | O_CLOEXEC));
}

/* A file system that stores birth times gives each file another one. */
static void rotate(int number)
{
	struct stat status;
	int64_t before = 0;
	int64_t now = 0;
	int fresh = number;

	(void)__real_xp_sys_fstat_born(number, &status, &before);
	(void)unlink(xt_name("f"));
	xt_close(number);
	for (int i = 0; i < 100000 && (i == 0 || (before && now == before)); i++) {
		if (i > 0) {
			(void)unlink(xt_name("f"));
			xt_close(fresh);
		}
		fresh = make();
		(void)__real_xp_sys_fstat_born(fresh, &status, &now);
	}
	if (fresh != number)
		xt_number(fresh, number);
}

static void append(int fd)
{
	XT_EQ(pwrite(fd, "more", 4, 0), 4);
}

static const int modes[] = {XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT, 0};

/* Births unknown: the watch shows it; no watches: the birth does. */
XT_TEST(add_of_a_rotated_file_reads_the_new_one)
{
	for (int i = 0; i < 12; i++) {
		struct xpoll_event event;
		struct xpoll *queue;
		int fd = make();

		world(i / 4 != 0, i / 4 != 1);
		queue = xt_open_quiet();
		XT_OK(xt_add(queue, fd, READ, modes[i % 4]));
		XT_NONE(queue);
		rotate(fd);
		XT_OK(xt_add(queue, fd, READ, 0));
		XT_EQ(xpoll_lookup(queue, (uint64_t)fd, READ, &event), 0);
		XT_EXPECT_EQ(event.flags, 0);
		XT_NONE(queue);
		XT_CALL(append(fd));
		XT_GETS(queue, NULL, fd, READ);
		XT_GETS(queue, NULL, fd, READ);
		xt_destroy(queue);
		xt_close(fd);
	}
}

/* Nobody names it: nothing of the new file comes for the old registration. */
XT_TEST(rotated_file_that_was_not_added_is_silent)
{
	for (int i = 0; i < 6; i++) {
		struct xpoll_event event;
		struct xpoll *queue;
		int fd = make();

		world(true, i < 3);
		queue = xt_open_quiet();
		XT_OK(xt_add(queue, fd, READ, modes[i % 3]));
		if (i & 1)
			XT_NONE(queue);
		rotate(fd);
		XT_CALL(append(fd));
		XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
		XT_NONE(queue);
		xt_destroy(queue);
		xt_close(fd);
	}
}

XT_TEST(write_of_a_rotated_file_starts_clean)
{
	for (int i = 0; i < 3; i++) {
		struct xpoll_event event;
		struct xpoll *queue;
		int fd = make();

		world(true, true);
		queue = xt_open_quiet();
		XT_OK(xt_add(queue, fd, WRITE, modes[i]));
		rotate(fd);
		XT_OK(xt_add(queue, fd, WRITE, 0));
		XT_EQ(xpoll_lookup(queue, (uint64_t)fd, WRITE, &event), 0);
		XT_EXPECT_EQ(event.flags, 0);
		XT_GETS(queue, NULL, fd, WRITE);
		XT_GETS(queue, NULL, fd, WRITE);
		rotate(fd);
		XT_STATUS(xt_flag(queue, (uint64_t)fd, WRITE, XPOLL_DELETE),
		          ENOENT);
		xt_destroy(queue);
		xt_close(fd);
	}
}

/* The kernel's watch ends with the old file; the new one has lost its name, too. */
XT_TEST(vnode_of_a_rotated_file_ends)
{
	struct xpoll_event event;
	struct xpoll *queue;
	int fd = make();

	world(true, true);
	queue = xt_open_quiet();
	XT_OK(xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD,
	                XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE, 0, NULL));
	rotate(fd);
	XT_EQ(unlink(xt_name("f")), 0);
	XT_CALL(append(fd));
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	XT_STATUS(xt_flag(queue, (uint64_t)fd, VNODE, XPOLL_DELETE), ENOENT);
}
