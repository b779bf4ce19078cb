/*
 * Goal: VNODE of directories as FreeBSD documents it: WRITE when an entry is
 * added or removed, LINK if it is a directory, EXTEND if it was moved in or
 * out.
 * Method: make a change, and check that exactly this is reported.
 */
#include "vnode.h"

static int directory(const char *name)
{
	if (mkdir(xt_name(name), 0700) < 0)
		xt_fail(__FILE__, __LINE__, "mkdir: %s", xt_error_name(errno));
	return xt_keep(open(xt_name(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

XT_TEST(entries_that_come_and_go_are_write)
{
	struct xpoll *queue = xt_open();
	int top = directory("d");

	XT_OK(vnode_add(queue, top, 0, QUIET_NOTES));
	xt_close(xt_make("d/f", ""));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(link(xt_name("d/f"), xt_name("d/g")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(unlink(xt_name("d/f")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(symlink("nowhere", xt_name("d/s")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_NONE(queue);
}

XT_TEST(subdirectories_that_come_and_go_are_link)
{
	struct xpoll *queue = xt_open();
	int top = directory("d");

	XT_OK(vnode_add(queue, top, 0, QUIET_NOTES));
	XT_OK(mkdir(xt_name("d/sub"), 0700));
	struct stat status;
	XT_OK(fstat(top, &status));
	if (xt_sunos() && status.st_nlink < 3)
		XT_SKIP("this file system does not count directories");
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE | XPOLL_NOTE_LINK);
	XT_OK(rmdir(xt_name("d/sub")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE | XPOLL_NOTE_LINK);
	XT_NONE(queue);
}

/* On systems with kqueue(2), EXTEND for moves is documented by FreeBSD only. */
#if defined(__FreeBSD__) || defined(__linux__)
enum { MOVES_ARE_TOLD = 1 };
#else
enum { MOVES_ARE_TOLD = 0 };
#endif

XT_TEST(entry_moved_in_or_out_is_extend_and_within_is_not)
{
	if (xt_sunos() || xt_dropin() || !MOVES_ARE_TOLD)
		XT_SKIP("no call of this system tells of them");

	struct xpoll *queue = xt_open();
	int top = directory("d");

	(void)xt_make("f", "");
	XT_OK(vnode_add(queue, top, 0, QUIET_NOTES));
	XT_OK(rename(xt_name("f"), xt_name("d/f")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(rename(xt_name("d/f"), xt_name("d/g")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(rename(xt_name("d/g"), xt_name("f")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	(void)directory("sub");
	XT_OK(rename(xt_name("sub"), xt_name("d/sub")));
	VNODE_GETS(queue, top,
	           XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK);
	XT_OK(rename(xt_name("d/sub"), xt_name("d/sub2")));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_NONE(queue);
}

/* The two reports of a move within the directory may be read separately. */
XT_TEST(many_entries_moved_within_are_no_extend)
{
	if (xt_sunos())
		XT_SKIP("no call of this system tells of them");

	struct xpoll *queue = xt_open();
	int top = directory("d");
	char names[3][203];

	for (int i = 0; i < 3; i++)
		(void)snprintf(names[i], sizeof names[i], "d/%0200d", i);
	XT_OK(mkdir(xt_name(names[0]), 0700));
	XT_OK(vnode_add(queue, top, 0, XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK));
	for (int odd = 0; odd < 2; odd++) {
		if (odd) /* causes a report as long as each of those two */
			xt_close(xt_make(names[2], ""));
		for (int i = 0; i < 40; i++)
			XT_OK(rename(xt_name(names[i % 2]),
			             xt_name(names[!(i % 2)])));
		XT_NONE(queue);
	}
}

XT_TEST(what_happens_to_an_entry_is_not_the_directorys)
{
	struct xpoll *queue = xt_open();
	int top = directory("d");
	int file = xt_make("d/f", "text");

	XT_OK(vnode_add(queue, top, 0, vnode_notes(queue)));
	xt_put(file);
	XT_OK(fchmod(file, 0600));
	XT_OK(ftruncate(file, 0));
	xt_close(xt_keep(open(xt_name("d/f"), O_RDWR)));
	XT_NONE(queue);
	XT_OK(fchmod(top, 0500));
	VNODE_GETS(queue, top, XPOLL_NOTE_ATTRIB);
}

/* inotify does not report the removal of a directory that is open. */
XT_TEST(removed_directory_is_delete)
{
	struct xpoll *queue = xt_open();
	int top = directory("d");

	XT_OK(vnode_add(queue, top, 0, QUIET_NOTES));
	XT_OK(rmdir(xt_name("d")));
	VNODE_GETS(queue, top, XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

XT_TEST(moved_directory_is_followed_to_its_end)
{
	if (xt_sunos())
		XT_SKIP("the end of a name takes the place of another event");

	struct xpoll *queue = xt_open();
	int top = directory("d");

	(void)directory("other");
	XT_OK(vnode_add(queue, top, 0, QUIET_NOTES));
	XT_OK(rename(xt_name("d"), xt_name("other/d")));
	VNODE_GETS(queue, top, XPOLL_NOTE_RENAME);
	xt_close(xt_make("other/d/f", ""));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(unlink(xt_name("other/d/f")));
	XT_OK(rename(xt_name("other/d"), xt_name("other/e")));
	XT_OK(rmdir(xt_name("other/e")));
	VNODE_GETS(queue, top,
	           XPOLL_NOTE_WRITE | XPOLL_NOTE_RENAME | XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

/* The directory's new parent was not watched when the directory was removed from it. */
XT_TEST(directory_moved_elsewhere_and_removed_before_a_wait_is_delete)
{
	if (xt_sunos())
		XT_SKIP("the end of a name takes the place of another event");

	struct xpoll *queue = xt_open();
	int first = directory("d");
	int second = directory("e");

	(void)directory("other");
	XT_OK(vnode_add(queue, first, 0, QUIET_NOTES));
	XT_OK(vnode_add(queue, second, XPOLL_DISABLE, XPOLL_NOTE_DELETE));
	XT_OK(rename(xt_name("d"), xt_name("other/d")));
	XT_OK(rename(xt_name("e"), xt_name("other/e")));
	XT_OK(rmdir(xt_name("other/d")));
	XT_OK(rmdir(xt_name("other/e")));
	VNODE_GETS(queue, first, XPOLL_NOTE_RENAME | XPOLL_NOTE_DELETE);
	XT_OK(xt_flag(queue, (uint64_t)second, VNODE, XPOLL_ENABLE));
	VNODE_GETS(queue, second, XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

XT_TEST(directory_replaced_by_rename_is_delete)
{
	struct xpoll *queue = xt_open();
	int top = directory("d");

	(void)directory("new");
	XT_OK(vnode_add(queue, top, 0, XPOLL_NOTE_DELETE));
	XT_OK(rename(xt_name("new"), xt_name("d")));
	VNODE_GETS(queue, top, XPOLL_NOTE_DELETE);
}

/*
 * A directory is registered, and also watched by the library for the removal of its subdirectory.
 */
XT_TEST(parent_and_child_are_watched_together)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	int top = directory("d");
	int sub = directory("d/sub");

	XT_OK(vnode_add(queue, sub, 0, XPOLL_NOTE_DELETE));
	XT_OK(vnode_add(queue, top, 0, XPOLL_NOTE_WRITE));
	xt_close(xt_make("d/f", ""));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(rmdir(xt_name("d/sub")));
	XT_EQ(xt_take(queue, events, 4, XT_SOON), 2);
	int i = xt_find(events, 2, (uint64_t)sub, VNODE);
	XT_CHECK(i >= 0);
	XT_EXPECT_EQ(events[i].fflags, XPOLL_NOTE_DELETE);
	/* Parent and child are registered independently: deleting one leaves the other. */
	XT_OK(xt_flag(queue, (uint64_t)sub, VNODE, XPOLL_DELETE));
	xt_close(xt_make("d/g", ""));
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	int sub2 = directory("d/sub2");
	VNODE_GETS(queue, top, XPOLL_NOTE_WRITE);
	XT_OK(vnode_add(queue, sub2, 0, XPOLL_NOTE_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)top, VNODE, XPOLL_DELETE));
	xt_close(xt_make("d/h", ""));
	XT_NONE(queue);
	XT_OK(rmdir(xt_name("d/sub2")));
	VNODE_GETS(queue, sub2, XPOLL_NOTE_DELETE);
}

XT_TEST(directory_by_o_path_is_watched_too)
{
	if (xt_sunos())
		XT_SKIP("the end of a name takes the place of another event");
	if (!XT_O_PATH)
		XT_SKIP("no O_PATH here");

	struct xpoll *queue = xt_open();

	(void)directory("d");
	int path = xt_keep(open(xt_name("d"), XT_O_PATH | O_DIRECTORY));
	XT_OK(vnode_add(queue, path, 0, QUIET_NOTES));
	xt_close(xt_make("d/f", ""));
	VNODE_GETS(queue, path, XPOLL_NOTE_WRITE);
	XT_OK(unlink(xt_name("d/f")));
	XT_OK(rmdir(xt_name("d")));
	VNODE_GETS(queue, path, XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE);
}
