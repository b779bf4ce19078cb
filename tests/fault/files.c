/*
 * Goal: a new file that gets the descriptor and the inode number of a closed
 * one is another file to READ, WRITE and VNODE (S1, S7), whether only the
 * kernel's watch or only the birth time distinguishes the two.
 * Method: the calls are wrapped at link time, so that all files seem to have
 * one inode.
 */
#include "xt.h"

#include <errno.h>

#include "linux/sys_linux.h"
#include "sys/sys.h"

static bool one_inode;  /* fstat(2) shows the same inode for all regular files */
static bool no_births;  /* the file system stores no birth times */
static bool no_watches; /* the limit of inotify instances is reached */

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

static int reused = -1; /* descriptor that another thread reuses before the next watch is added */
static int reused_for;  /* for this file */

XT_WRAP(xp_sys_inotify_add);
int __wrap_xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask)
{
	if (reused >= 0)
		XT_EXPECT(dup2(reused_for, reused) >= 0);
	reused = -1;
	return __real_xp_sys_inotify_add(inotify_fd, path, mask);
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

/*
 * Replace the file behind a descriptor by a new one; where birth times are stored, the new file's
 * differs.
 */
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

/*
 * Three kinds of systems: without birth times (the kernel's watch distinguishes the files), without
 * watches (the birth time does), and with both.
 */
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

/*
 * No call names the descriptor after the rotation: the old registration delivers no event of the
 * new file.
 */
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

/*
 * The kernel's watch ends with the old file.  The new file has lost its name, too, which must not
 * be reported.
 */
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

static void do_nothing(void *unused)
{
	(void)unused;
}

/*
 * Another thread reuses the descriptor while VNODE is added, so the kernel watches the other file.
 * A later registration of the first file must not take over that watch.
 */
XT_TEST(watch_of_a_reused_descriptor_is_not_kept)
{
	struct xt_thread *thread = xt_start(do_nothing, NULL);
	int fd = make(), again = xt_keep(open(xt_name("f"), O_RDWR | O_CLOEXEC));
	struct xpoll_event event;
	struct xpoll *queue;

	world(true, true);
	one_inode = false;
	queue = xt_open_quiet();
	reused_for = xt_file("other");
	reused = fd;
	(void)xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0, NULL);
	XT_EXPECT_EQ(reused, -1);
	(void)xt_flag(queue, (uint64_t)fd, VNODE, XPOLL_DELETE);
	XT_OK(xt_change(queue, (uint64_t)again, VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0, NULL));
	XT_CALL(append(again));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
	XT_EXPECT_EQ(event.ident, (uint64_t)again);
	XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_WRITE);
	xt_join(thread);
}
