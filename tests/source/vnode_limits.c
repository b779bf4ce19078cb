/*
 * Goal: VNODE at the kernel's limits, without /proc, and without permission:
 * ADD fails with a clear error and changes nothing, or the library checks the
 * file at intervals.
 * Method: a child in namespaces of its own, where limits and mounts can be
 * changed without an effect on other processes.
 */
#include "vnode.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { REFUSED = 77 };

/* Enter namespaces in which this user is root. */
static bool enter_namespaces(void)
{
	char map[2][40];

	(void)snprintf(map[0], sizeof *map, "0 %u 1", (unsigned)geteuid());
	(void)snprintf(map[1], sizeof *map, "0 %u 1", (unsigned)getegid());
	return unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
		xt_put_text("/proc/self/uid_map", map[0]) &&
		xt_put_text("/proc/self/setgroups", "deny") &&
		xt_put_text("/proc/self/gid_map", map[1]) &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Run the function in a forked child.  Returns false if the system refuses the namespaces. */
static bool in_namespaces(void (*run)(void))
{
	int status = 0;

	(void)xt_scratch(); /* make the directory here, because the parent removes it */
	(void)fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		xt_watchdog(20);
		if (!enter_namespaces())
			_exit(REFUSED);
		run();
		(void)fflush(stdout);
		_exit(xt_failures() ? 1 : 0);
	}
	XT_EXPECT_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == REFUSED)
		return false;
	XT_EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

static void instances_are_used_up(void)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");

	if (!xt_put_text("/proc/sys/user/max_inotify_instances", "0"))
		_exit(REFUSED);
	XT_STATUS(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE), EMFILE);
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, ALL_NOTES), 1);
	XT_CHECK(xt_put_text("/proc/sys/user/max_inotify_instances", "1"));
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	/* A queue needs one inotify instance; a second queue gets none. */
	XT_OK(vnode_add(queue, xt_make("g", ""), 0, XPOLL_NOTE_WRITE));
	XT_STATUS(vnode_add(xt_open_quiet(), file, 0, XPOLL_NOTE_WRITE),
	          EMFILE);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

XT_TEST(no_instance_left_is_emfile_and_changes_nothing)
{
	if (!in_namespaces(instances_are_used_up))
		XT_SKIP("no user namespaces here");
}

static void watches_are_used_up(void)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event now;
	int first = xt_make("f", "text");
	int second = xt_make("g", "text");

	if (!xt_put_text("/proc/sys/user/max_inotify_watches", "1"))
		_exit(REFUSED);
	XT_OK(vnode_add(queue, first, 0, XPOLL_NOTE_WRITE));
	XT_STATUS(vnode_add(queue, second, 0, XPOLL_NOTE_WRITE), ENOSPC);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)second, VNODE, &now), ENOENT);
	/* A duplicate of the same file needs no further watch. */
	int copy = xt_dup(first);
	XT_OK(vnode_add(queue, copy, 0, XPOLL_NOTE_ATTRIB));
	XT_OK(vnode_add(queue, first, 0, XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB));
	xt_put(first);
	VNODE_GETS(queue, first, XPOLL_NOTE_WRITE);
	/* A watch that was removed leaves room for a new one. */
	XT_OK(xt_flag(queue, (uint64_t)first, VNODE, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)copy, VNODE, XPOLL_DELETE));
	for (int i = 0; i < 1000; i++)
		if (vnode_add(queue, second, 0, XPOLL_NOTE_WRITE) == 0)
			break; /* the kernel frees instances with a delay */
		else
			(void)sched_yield();
	XT_OK(vnode_add(queue, second, 0, XPOLL_NOTE_WRITE));
}

XT_TEST(no_watch_left_is_enospc_and_changes_nothing)
{
	if (!in_namespaces(watches_are_used_up))
		XT_SKIP("no user namespaces here");
}

/*
 * A bind mount: the directory above the mount point does not contain the mounted directory's name.
 */
static void bound_directory_ends(void)
{
	struct xpoll *queue = xt_open_quiet();

	XT_EQ(mkdir(xt_name("held"), 0700), 0);
	XT_EQ(mkdir(xt_name("held/d"), 0700), 0);
	XT_EQ(mkdir(xt_name("seen"), 0700), 0);
	if (mount(xt_name("held/d"), xt_name("seen"), NULL, MS_BIND, NULL) < 0)
		_exit(REFUSED);
	int seen = xt_keep(open(xt_name("seen"), O_RDONLY | O_DIRECTORY));
	XT_OK(vnode_add(queue, seen, 0, XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE));
	xt_close(xt_make("held/d/f", ""));
	VNODE_GETS(queue, seen, XPOLL_NOTE_WRITE);
	XT_EQ(unlink(xt_name("held/d/f")), 0);
	VNODE_GETS(queue, seen, XPOLL_NOTE_WRITE);
	XT_EQ(rmdir(xt_name("held/d")), 0);
	VNODE_GETS(queue, seen, XPOLL_NOTE_DELETE);
}

XT_TEST(directory_seen_by_a_bind_mount_is_deleted_where_it_is_held)
{
	if (!in_namespaces(bound_directory_ends))
		XT_SKIP("no user namespaces here");
}

XT_TEST(no_descriptor_left_is_emfile_and_changes_nothing)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");
	struct rlimit before;
	struct rlimit none = {0};

	XT_OK(getrlimit(RLIMIT_NOFILE, &before));
	none.rlim_max = before.rlim_max;
	XT_OK(setrlimit(RLIMIT_NOFILE, &none));
	int error = vnode_add(queue, file, 0, XPOLL_NOTE_WRITE);
	XT_OK(setrlimit(RLIMIT_NOFILE, &before));
	XT_EXPECT_EQ(error, EMFILE);
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

/* Without /proc the library checks the file at intervals. */
static void proc_is_missing(void)
{
	struct xpoll *queue = xt_open_quiet();
	int file = xt_make("f", "text");

	if (mount("none", "/proc", "tmpfs", 0, NULL) < 0)
		_exit(REFUSED);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, ALL_NOTES), 0);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE, XPOLL_NOTE_RENAME), 0);
	XT_EXPECT_EQ(xpoll_supports(queue, VNODE,
	                            XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE), 1);
	XT_STATUS(vnode_add(queue, file, 0, XPOLL_NOTE_RENAME), ENOTSUP);
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	XT_OK(vnode_add(queue, file, 0,
	                XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE |
	                XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE));
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_EXTEND);
	XT_OK(ftruncate(file, 0));
	VNODE_GETS(queue, file, XPOLL_NOTE_TRUNCATE);
	XT_OK(unlink(xt_name("f")));
	VNODE_GETS(queue, file, XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE);
	/* When the last such registration ends, the checks end. */
	XT_EXPECT(xpoll_next_timeout(queue) >= 0);
	XT_OK(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE));
	XT_NONE(queue);
}

XT_TEST(without_proc_files_are_looked_at_by_time)
{
	if (!in_namespaces(proc_is_missing))
		XT_SKIP("no user namespaces here");
}

/* inotify needs read permission, which the owner of a writable descriptor may lack. */
static void reading_is_forbidden(void *argument)
{
	struct xpoll *queue = xt_open_quiet();
	int file = *(int *)argument;

	if (geteuid() == 0 && (setegid(65534) < 0 || seteuid(65534) < 0))
		_exit(1);
	XT_STATUS(vnode_add(queue, file, 0, XPOLL_NOTE_RENAME), EPERM);
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND));
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
}

XT_TEST(file_that_may_not_be_read_is_eperm_or_looked_at_by_time)
{
	int file = xt_make("f", "text");

	XT_OK(fchmod(file, 0200));
	XT_CHECK(xt_child(reading_is_forbidden, &file));
}

/* A file on an overlay, which the first write copies to the upper layer. */
static void overlay_copies_up(void)
{
	struct xpoll *queue = xt_open_quiet();
	char options[1000];

	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"low", "up", "work", "all"};

		XT_OK(mkdir(xt_name(names[i]), 0700));
	}
	xt_close(xt_make("low/f", "text"));
	(void)snprintf(options, sizeof options,
	               "lowerdir=%s,upperdir=%s,workdir=%s", xt_name("low"),
	               xt_name("up"), xt_name("work"));
	if (mount("none", xt_name("all"), "overlay", 0, options) < 0)
		_exit(REFUSED);
	int file = xt_keep(open(xt_name("all/f"), O_RDONLY));
	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	int writer = xt_keep(open(xt_name("all/f"), O_WRONLY | O_APPEND));
	XT_NONE(queue);
	xt_put(writer);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(rename(xt_name("all/f"), xt_name("all/g")));
	VNODE_GETS(queue, file, XPOLL_NOTE_RENAME);
	XT_OK(unlink(xt_name("all/g")));
	XT_GETS(queue, NULL, file, VNODE);
}

XT_TEST(file_of_an_overlay_is_followed_when_it_is_copied_up)
{
	if (!in_namespaces(overlay_copies_up))
		XT_SKIP("no overlay file system for this user");
}
