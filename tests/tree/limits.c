/*
 * Goal: where reports, watches or descriptors are too few, a tree says so, and is complete again
 * as soon as it can be.
 * Method: the limit of this process is lowered, or the queue of the kernel is filled.
 */
#include "xt.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "place.h"

/* The next change is UNWATCHED, for this reason. */
static bool next_is_unwatched(struct xpoll_tree *tree, const char *path, int error)
{
	struct xpoll_tree_change change;

	return XT_EXPECT_EQ(xpoll_tree_next(tree, &change, -1), 1) &&
		XT_EXPECT_EQ(change.kind, XPOLL_TREE_UNWATCHED) &&
		XT_EXPECT(strcmp(change.path, path) == 0) && XT_EXPECT_EQ(change.error, error);
}

/* A directory that no descriptor is left for is reported, and entered as soon as there is one. */
XT_TEST(tree_reports_a_directory_that_it_has_no_descriptor_for)
{
	struct rlimit before, few;

	XT_CALL(make_root());
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree);
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("d/f"));
	XT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 0;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	bool ok = next_is(tree, XPOLL_TREE_CREATE, "d", NULL) &&
		next_is_unwatched(tree, "d", EMFILE);
	XT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	XT_CHECK(ok);
	NEXT(CREATE, "d/f", NULL);
	xpoll_tree_close(tree);
}

static bool limit_watches(const char *most)
{
	int fd = open("/proc/sys/user/max_inotify_watches", O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, most, strlen(most)) == (ssize_t)strlen(most);

	if (fd >= 0)
		close(fd);
	return ok;
}

static void few_watches(void *argument)
{
	struct xpoll_tree_change change;

	(void)argument;
	if (unshare(CLONE_NEWUSER) < 0)
		XT_SKIP("no user namespaces");
	/* Some are for the directory itself, to see its end. */
	if (!limit_watches("4"))
		XT_SKIP("the limit of watches cannot be set");
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree);
	XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_UNWATCHED);
	XT_EXPECT_EQ(change.error, ENOSPC);
	XT_CHECK(put("f"));
	NEXT(CREATE, "f", NULL);
	XT_CHECK(limit_watches("20"));
	do {
		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	} while (strcmp(change.path, "a/b/c/d") != 0);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_CREATE);
	xpoll_tree_close(tree);
}

XT_TEST(tree_reports_that_there_are_too_few_watches)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_EQ(mkdir(at("a/b"), 0777), 0);
	XT_EQ(mkdir(at("a/b/c"), 0777), 0);
	XT_EQ(mkdir(at("a/b/c/d"), 0777), 0);
	XT_CHECK(xt_child(few_watches, NULL));
}

/* More reports than the kernel keeps: look again at the directory of those files. */
XT_TEST(tree_reports_where_reports_were_dropped)
{
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	int most = 0;

	bool known = file && fscanf(file, "%d", &most) == 1;
	if (file)
		(void)fclose(file);
	if (!known || most > 100000)
		XT_SKIP("no small limit of reports is known");
	XT_CALL(make_root());
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("d/a") && put("d/b"));
	struct xpoll_tree *tree = tree_open(0, XPOLL_NOTE_ATTRIB);
	struct xpoll_tree_change change;
	XT_CHECK(tree);
	for (int i = 0; i < most + 10; i++)
		XT_EQ(chmod(at(i % 2 ? "d/a" : "d/b"), i / 2 % 2 ? 0600 : 0644), 0);
	XT_EQ(mkdir(at("d/e"), 0777), 0);
	bool looked = false, made = false;
	while (!looked || !made) {
		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		looked |= change.kind == XPOLL_TREE_LOOK && !*change.path;
		made |= change.kind == XPOLL_TREE_CREATE && strcmp(change.path, "d/e") == 0;
	}
	xpoll_tree_close(tree);
}
