/*
 * Goal: VNODE (S23): each note of a file; merging of events; flags; other kinds of files.
 * Method: change a file, and check that exactly this change is reported; stat(2) is the oracle for
 * the file's state.
 */
#include "vnode.h"

#include <sys/mman.h>

XT_TEST(write_that_extends_is_write_and_extend)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_NONE(queue);
	XT_EQ(pwrite(file, "a", 1, 0), 1);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
	XT_NONE(queue);
}

XT_TEST(truncate_is_write_and_truncate)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_OK(ftruncate(file, 2));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE);
	XT_OK(ftruncate(file, 100));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	xt_close(xt_keep(open(xt_name("f"), O_WRONLY | O_TRUNC)));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE);
	XT_NONE(queue);
}

XT_TEST(chmod_and_times_are_attrib)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_OK(fchmod(file, 0600));
	VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
	XT_OK(futimens(file, times));
	VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
	XT_NONE(queue);
}

/* The kernel also reports a new link as a change of attributes: see DIFFERENCES.md. */
XT_TEST(links_that_come_and_go_are_link_and_the_last_is_delete)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_OK(link(xt_name("f"), xt_name("g")));
	VNODE_GETS(queue, file, XPOLL_NOTE_LINK | XPOLL_NOTE_ATTRIB);
	XT_OK(unlink(xt_name("f")));
	VNODE_GETS(queue, file, XPOLL_NOTE_LINK | XPOLL_NOTE_ATTRIB);
	XT_OK(unlink(xt_name("g")));
	VNODE_GETS(queue, file,
	           XPOLL_NOTE_LINK | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

XT_TEST(delete_alone_is_told_by_the_last_link_only)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_DELETE));
	XT_OK(link(xt_name("f"), xt_name("g")));
	XT_OK(unlink(xt_name("f")));
	XT_OK(fchmod(file, 0600));
	XT_NONE(queue);
	XT_OK(unlink(xt_name("g")));
	VNODE_GETS(queue, file, XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

/* The watch belongs to the file, not to its name. */
XT_TEST(renamed_file_is_followed)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	for (int i = 0; i < 3; i++) {
		XT_OK(rename(xt_name(i % 2 ? "g" : "f"),
		             xt_name(i % 2 ? "f" : "g")));
		VNODE_GETS(queue, file, XPOLL_NOTE_RENAME);
	}
	xt_close(xt_make("f", "another"));
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
}

XT_TEST(file_replaced_by_rename_is_deleted)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	(void)xt_make("new", "text");
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME));
	XT_OK(rename(xt_name("new"), xt_name("f")));
	VNODE_GETS(queue, file, XPOLL_NOTE_DELETE);
	XT_NONE(queue);
}

XT_TEST(deleted_file_that_is_open_goes_on)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_OK(unlink(xt_name("f")));
	XT_GETS(queue, NULL, file, VNODE);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(ftruncate(file, 0));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE);
	/* Register the file after its last link was removed. */
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
}

XT_TEST(open_close_and_read_by_another_are_told_apart)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	uint32_t notes = XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE |
		XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ;

	if (xpoll_supports(queue, VNODE, notes) != 1)
		XT_SKIP("no call of this system tells of them");
	XT_OK(vnode_add(queue, file, 0, notes));
	int reader = xt_keep(open(xt_name("f"), O_RDONLY));
	VNODE_GETS(queue, file, XPOLL_NOTE_OPEN);
	XT_EQ(xt_get(reader), 't');
	VNODE_GETS(queue, file, XPOLL_NOTE_READ);
	xt_close(reader);
	VNODE_GETS(queue, file, XPOLL_NOTE_CLOSE);
	int writer = xt_keep(open(xt_name("f"), O_WRONLY));
	VNODE_GETS(queue, file, XPOLL_NOTE_OPEN);
	xt_put(writer);
	XT_NONE(queue);
	xt_close(writer);
	VNODE_GETS(queue, file, XPOLL_NOTE_CLOSE_WRITE);
	XT_NONE(queue);
}

XT_TEST(only_what_is_asked_for_is_reported)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_ATTRIB));
	xt_put(file);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	XT_NONE(queue);
	XT_OK(ftruncate(file, 0));
#ifndef __linux__
	/* ftruncate(2) changes an attribute, but the drop-in does not report that */
	if (xt_has_kqueue())
		VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
#endif
	XT_NONE(queue);
	XT_OK(fchmod(file, 0600));
	VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
	/* Like FreeBSD, ADD accepts an empty set of notes. */
	XT_OK(vnode_add(queue, file, 0, 0));
	XT_OK(fchmod(file, 0644));
	XT_NONE(queue);
}

XT_TEST(what_happens_before_a_wait_is_one_event)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	for (int i = 0; i < 1000; i++)
		xt_put(file);
	XT_OK(fchmod(file, 0600));
	XT_OK(rename(xt_name("f"), xt_name("g")));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND |
	           XPOLL_NOTE_ATTRIB | XPOLL_NOTE_RENAME);
	XT_NONE(queue);
}

/* S1: another ADD changes the notes; VNODE implies CLEAR. */
XT_TEST(add_again_changes_the_notes)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	int file = xt_make("f", "text");
	uint64_t ident = (uint64_t)file;

	XT_OK(xt_change(queue, ident, VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0,
	                &now));
	XT_OK(vnode_add(queue, file, XPOLL_KEEPUDATA, XPOLL_NOTE_ATTRIB));
	XT_OK(xpoll_lookup(queue, ident, VNODE, &now));
	XT_EXPECT_EQ(now.fflags, XPOLL_NOTE_ATTRIB);
	XT_EXPECT_EQ(now.flags, XPOLL_CLEAR);
	XT_EXPECT(now.udata == &now);
	xt_put(file);
	XT_NONE(queue);
	XT_OK(fchmod(file, 0600));
	VNODE_GETS(queue, file, XPOLL_NOTE_ATTRIB);
	/* A change whose note is no longer requested is not reported later either. */
	XT_OK(fchmod(file, 0644));
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

/* S3: growth while the registration is disabled is reported after ENABLE. */
XT_TEST(growth_while_disabled_is_reported_when_enabled)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	uint64_t ident = (uint64_t)file;

	XT_OK(vnode_add(queue, file, XPOLL_DISABLE, QUIET_NOTES));
	xt_put(file);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_DISABLE));
	XT_OK(fchmod(file, 0600));
	XT_NONE(queue);
	XT_OK(ftruncate(file, 0));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE |
	           XPOLL_NOTE_ATTRIB);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
	XT_NONE(queue);
}

/* S10: ONESHOT and DISPATCH */
XT_TEST(oneshot_and_dispatch_work_as_for_others)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	uint64_t ident = (uint64_t)file;

	XT_OK(vnode_add(queue, file, XPOLL_ONESHOT, XPOLL_NOTE_WRITE));
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
	xt_put(file);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, ident, VNODE, XPOLL_DELETE), ENOENT);

	XT_OK(vnode_add(queue, file, XPOLL_DISPATCH, XPOLL_NOTE_WRITE));
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
	xt_put(file);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_ENABLE));
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
	XT_NONE(queue);
}

/* S6: no event after DELETE */
XT_TEST(deleted_registration_is_silent)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	uint64_t ident = (uint64_t)file;

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	xt_put(file);
	XT_OK(xt_flag(queue, ident, VNODE, XPOLL_DELETE));
	XT_NONE(queue);
	xt_put(file);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, ident, VNODE, XPOLL_DELETE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, VNODE, XPOLL_ENABLE), ENOENT);
	XT_STATUS(xt_flag(queue, ident, VNODE, XPOLL_DISABLE), ENOENT);
}

static void write_later(void *argument)
{
	xt_put(*(int *)argument);
}

/* A write ends a blocked wait. */
XT_TEST(write_wakes_a_wait_that_sleeps)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event;
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	for (int i = 0; i < 20; i++) {
		struct xt_thread *writer = xt_start(write_later, &file);

		XT_GETS(queue, &event, file, VNODE);
		XT_EXPECT_EQ(event.fflags, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
		xt_join(writer);
	}
	XT_NONE(queue);
}

/* READ and VNODE of one descriptor are two registrations; the report of VNODE may be late. */
XT_TEST(read_and_vnode_of_one_file_are_apart)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event events[4];
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(xt_add(queue, file, READ, 0));
	XT_EQ(pwrite(file, "more", 4, 4), 4);
	for (int seen = 0; seen != 3;) {
		int len = xt_take(queue, events, 4, XT_SOON);
		int read = xt_find(events, len, (uint64_t)file, READ) >= 0;

		XT_CHECK(len > 0 && !(read && xt_flag(queue, (uint64_t)file, READ, XPOLL_DISABLE)));
		seen |= read | 2 * (xt_find(events, len, (uint64_t)file, VNODE) >= 0);
	}
	XT_OK(xt_flag(queue, (uint64_t)file, READ, XPOLL_DELETE));
	XT_EQ(pwrite(file, "more", 4, 4), 4);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

XT_TEST(o_path_descriptors_are_watched_too)
{
	if (!XT_O_PATH)
		XT_SKIP("no O_PATH here");
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	int path = xt_keep(open(xt_name("f"), XT_O_PATH));

	XT_OK(vnode_add(queue, path, 0, QUIET_NOTES));
	xt_put(file);
	VNODE_GETS(queue, path, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(rename(xt_name("f"), xt_name("g")));
	VNODE_GETS(queue, path, XPOLL_NOTE_RENAME);
	XT_OK(unlink(xt_name("g")));
	VNODE_GETS(queue, path,
	           XPOLL_NOTE_LINK | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE);
}

XT_TEST(symbolic_link_opened_by_o_path_is_watched_itself)
{
	if (!XT_O_PATH)
		XT_SKIP("no O_PATH here");
	struct xpoll *queue = xt_open();

	XT_OK(symlink("nowhere", xt_name("s")));
	int path = xt_keep(open(xt_name("s"), XT_O_PATH | O_NOFOLLOW));
	XT_OK(vnode_add(queue, path, 0, QUIET_NOTES));
	XT_OK(rename(xt_name("s"), xt_name("t")));
	VNODE_GETS(queue, path, XPOLL_NOTE_RENAME);
	XT_OK(unlink(xt_name("t")));
	VNODE_GETS(queue, path,
	           XPOLL_NOTE_LINK | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE);
}

XT_TEST(fifo_and_device_are_files)
{
	struct xpoll *queue = xt_open();

	XT_OK(mkfifo(xt_name("p"), 0600));
	int fifo = xt_keep(open(xt_name("p"), O_RDWR | O_NONBLOCK));
	XT_OK(vnode_add(queue, fifo, 0, XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE));
	XT_OK(fchmod(fifo, 0644));
	VNODE_GETS(queue, fifo, XPOLL_NOTE_ATTRIB);
	int null = xt_open_path("/dev/null", O_RDWR);
	int status = vnode_add(queue, null, 0, XPOLL_NOTE_RENAME);
	/* FreeBSD's kernel reports nothing for its devices. */
	XT_EXPECT(status == 0 || (xt_kqueue() && status == ENOTSUP));
	XT_NONE(queue);
}

/* A descriptor that is not a file of a file system is EINVAL, as in FreeBSD. */
XT_TEST(what_no_file_system_holds_is_einval)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xt_pair sockets = xt_socketpair(SOCK_STREAM);
	int fds[] = {pipe.r, pipe.w, sockets.r, xt_eventfd()};
	/* A kernel that supports all notes refuses them all in the same way. */
	uint32_t notes = xt_sunos() || xt_kqueue() ? QUIET_NOTES : ALL_NOTES;

	for (int i = 0; i < 4; i++)
		XT_STATUS(vnode_add(queue, fds[i], 0, notes),
		          fds[i] < 0 ? EBADF : EINVAL);
	XT_STATUS(vnode_add(queue, -1, 0, QUIET_NOTES), EBADF);
	XT_STATUS(xt_change(queue, UINT64_C(1) << 40, VNODE, XPOLL_ADD,
	                    XPOLL_NOTE_WRITE, 0, NULL), EBADF);
	int file = xt_make("f", "");
	XT_STATUS(vnode_add(queue, file, 0, 0x800), EINVAL);
	xt_close(file);
	XT_STATUS(vnode_add(queue, file, 0, QUIET_NOTES), EBADF);
	XT_EXPECT_EQ(xt_stats(xt_open_quiet()).registered, 0);
}

#ifdef __linux__

/*
 * The kernel accepts a watch of a memory file but never reports it, so the library checks the file
 * at intervals; notes that such a check cannot detect are refused.
 */
XT_TEST(memory_file_is_looked_at_by_time)
{
	if (xt_sunos() || xt_kqueue())
		XT_SKIP("only Linux has such a file");

	struct xpoll *queue = xt_open();
	int memory = xt_keep(memfd_create("xpoll", MFD_CLOEXEC));

	XT_STATUS(vnode_add(queue, memory, 0, XPOLL_NOTE_RENAME), ENOTSUP);
	XT_STATUS(vnode_add(queue, memory, 0, XPOLL_NOTE_OPEN), ENOTSUP);
	XT_OK(vnode_add(queue, memory, 0,
	                XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND |
	                XPOLL_NOTE_TRUNCATE));
	xt_put(memory);
	VNODE_GETS(queue, memory, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(ftruncate(memory, 0));
	VNODE_GETS(queue, memory, XPOLL_NOTE_WRITE | XPOLL_NOTE_TRUNCATE);
	XT_STATUS(vnode_add(queue, memory, 0, XPOLL_NOTE_OPEN), ENOTSUP);
	/* A modification time that goes back was set by utimensat(2), not by a write. */
	XT_OK(vnode_add(queue, memory, 0, XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB));
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
	XT_OK(futimens(memory, times));
	VNODE_GETS(queue, memory, XPOLL_NOTE_ATTRIB);
	xt_put(memory);
	VNODE_GETS(queue, memory, XPOLL_NOTE_WRITE);
	XT_OK(xt_flag(queue, (uint64_t)memory, VNODE, XPOLL_DELETE));
	xt_put(memory);
	XT_NONE(queue);
}

/* One file is on tmpfs, one in /proc. */
XT_TEST(files_of_other_file_systems_are_watched)
{
	struct xpoll *queue = xt_open();
	int memory = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int proc = xt_open_path("/proc/self/comm", O_RDONLY);

	if (memory >= 0) {
		(void)xt_keep(memory);
		XT_OK(vnode_add(queue, memory, 0, QUIET_NOTES));
		xt_put(memory);
		VNODE_GETS(queue, memory, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	}
	XT_OK(vnode_add(queue, proc, 0, XPOLL_NOTE_READ));
	XT_CHECK(xt_get(proc) > 0);
	VNODE_GETS(queue, proc, XPOLL_NOTE_READ);
}

#endif

/* The queue's own descriptor by which it watches files cannot be registered. */
XT_TEST(own_descriptor_of_the_watch_is_einval)
{
	enum { NUMBERS = 64 };
	struct xpoll *queue = xt_open();
	int file = xt_file("text");
	bool open_before[NUMBERS];

	for (int fd = 0; fd < NUMBERS; fd++)
		open_before[fd] = fcntl(fd, F_GETFD) >= 0;
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	/* With kqueue(2) the descriptors below may belong to the tests' own kqueue. */
	for (int fd = 0; fd < NUMBERS && !xt_kqueue(); fd++)
		if (!open_before[fd] && fcntl(fd, F_GETFD) >= 0)
			XT_EXPECT_EQ(xt_add(queue, fd, READ, 0), EINVAL);
}

XT_TEST(supports_tells_the_truth)
{
	struct xpoll *queue = xt_open();
	uint32_t notes = ALL_NOTES;

	if (xt_sunos())
		notes = QUIET_NOTES | XPOLL_NOTE_READ;
	/* Only some systems with kqueue(2) report these four notes. */
	if (xt_kqueue() && !xpoll_supports(queue, VNODE, XPOLL_NOTE_OPEN))
		notes = QUIET_NOTES;
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, notes), 1);
	XT_EXPECT_EQ(vnode_notes(queue), notes);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, 0), 1);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, 0x800), 0);
}
