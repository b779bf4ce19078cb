/*
 * Goal: where reports, watches or descriptors are too few, a tree says so, and is complete again
 * as soon as it can be; and it returns in time where there are too many reports.
 * Method: the limit of this process is lowered, or the queue of the kernel is filled.
 */
#include "xt.h"

#include <sched.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "place.h"

/* How many reports the kernel keeps, or 0 if that is unknown or large. */
static int most_reports(void)
{
	FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	int most = 0;

	if (file && fscanf(file, "%d", &most) != 1)
		most = 0;
	if (file)
		(void)fclose(file);
	return most > 100000 ? 0 : most;
}

#define NEEDS_OVERFLOW() \
	do { \
		if (most_reports() == 0) \
			XT_SKIP("no small limit of reports is known"); \
	} while (0)

/* Have more reports of two files than the kernel keeps. */
static void overflow(const char *one, const char *other)
{
	int most = most_reports();

	for (int i = 0; i < most + 10; i++)
		XT_EQ(chmod(at(i % 2 ? one : other), i / 2 % 2 ? 0600 : 0644), 0);
}

/* Take changes until LOOK and the CREATE of this path have been returned. */
static void look_and_create(struct xpoll_tree *tree, const char *path)
{
	bool looked = false, made = false;

	while (!looked || !made) {
		struct xpoll_tree_change change;

		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		looked |= change.kind == XPOLL_TREE_LOOK && !*change.path;
		made |= change.kind == XPOLL_TREE_CREATE && strcmp(change.path, path) == 0;
	}
}

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
	return xt_put_text("/proc/sys/user/max_inotify_watches", most);
}

/* Watch the chain a/b/c/d with a limit below it: d cannot be watched, nor c, maybe. */
static struct xpoll_tree *few_watches_open(uint32_t notes)
{
	struct xpoll_tree *tree;

	if (unshare(CLONE_NEWUSER) < 0) {
		xt_skip("no user namespaces");
		return NULL;
	}
	/* Some watches are used for the directory itself, to detect its end. */
	if (!limit_watches("4")) {
		xt_skip("the limit of watches cannot be set");
		return NULL;
	}
	tree = tree_open(0, notes);
	XT_EXPECT(tree);
	return tree;
}

static void few_watches(void *argument)
{
	struct xpoll_tree *tree = few_watches_open(0);
	struct xpoll_tree_change change;

	(void)argument;
	if (!tree)
		return;
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

static void make_chain(void)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_EQ(mkdir(at("a/b"), 0777), 0);
	XT_EQ(mkdir(at("a/b/c"), 0777), 0);
	XT_EQ(mkdir(at("a/b/c/d"), 0777), 0);
}

XT_TEST(tree_reports_that_there_are_too_few_watches)
{
	XT_CALL(make_chain());
	XT_CHECK(xt_child(few_watches, NULL));
}

static void many_unwatched(void *argument)
{
	struct xpoll_tree *tree = few_watches_open(0);
	int seen[2] = {0};

	(void)argument;
	if (!tree)
		return;
	XT_EQ(mkdir(at("y"), 0777), 0);
	XT_EQ(mkdir(at("z"), 0777), 0);
	while (!seen[0] || !seen[1]) {
		struct xpoll_tree_change change;

		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		if (change.kind != XPOLL_TREE_UNWATCHED)
			continue;
		XT_EXPECT_EQ(change.error, ENOSPC);
		for (int i = 0; i < 2; i++)
			seen[i] += strcmp(change.path, i ? "z" : "y") == 0;
	}
	XT_EXPECT_EQ(seen[0], 1);
	XT_EXPECT_EQ(seen[1], 1);
	xpoll_tree_close(tree);
}

XT_TEST(tree_reports_each_directory_that_there_is_no_watch_for)
{
	XT_CALL(make_chain());
	XT_CHECK(xt_child(many_unwatched, NULL));
}

static void unwatched_and_dropped(void *argument)
{
	struct xpoll_tree *tree = few_watches_open(XPOLL_NOTE_ATTRIB);
	struct xpoll_tree_change change;

	(void)argument;
	if (!tree)
		return;
	XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_UNWATCHED);
	XT_CALL(overflow("e", "f"));
	XT_CHECK(put("g"));
	XT_CALL(look_and_create(tree, "g"));
	xpoll_tree_close(tree);
}

/* A directory that cannot be watched keeps none from being read again. */
XT_TEST(tree_reads_watched_directories_again_while_one_is_unwatched)
{
	NEEDS_OVERFLOW();
	XT_CALL(make_chain());
	XT_CHECK(put("e") && put("f"));
	XT_CHECK(xt_child(unwatched_and_dropped, NULL));
}

/* If the kernel drops reports, the tree returns LOOK for the directory of those files. */
XT_TEST(tree_reports_where_reports_were_dropped)
{
	NEEDS_OVERFLOW();
	XT_CALL(make_root());
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("d/a") && put("d/b"));
	struct xpoll_tree *tree = tree_open(0, XPOLL_NOTE_ATTRIB);
	XT_CHECK(tree);
	XT_CALL(overflow("d/a", "d/b"));
	XT_EQ(mkdir(at("d/e"), 0777), 0);
	XT_CALL(look_and_create(tree, "d/e"));
	xpoll_tree_close(tree);
}

/* End the watch of a directory as the kernel does, for each inotify(7) of this process. */
static bool end_watch(const char *path)
{
	struct stat status;
	bool ended = false;

	if (stat(path, &status) < 0)
		return false;
	for (int fd = 3; fd < 100; fd++) {
		char name[64], line[512];
		FILE *file;

		(void)snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
		file = fopen(name, "re");
		while (file && fgets(line, sizeof line, file)) {
			unsigned long ino;
			unsigned watch;

			if (sscanf(line, "inotify wd:%x ino:%lx ", &watch, &ino) == 2 &&
			    ino == status.st_ino)
				ended |= inotify_rm_watch(fd, (int)watch) == 0;
		}
		if (file)
			(void)fclose(file);
	}
	return ended;
}

/*
 * While reports were dropped, a directory was removed, and another one was made with the same inode
 * number.  The watch has ended, and the report of that was dropped as well.
 */
XT_TEST(tree_watches_a_directory_again_whose_end_was_dropped)
{
	NEEDS_OVERFLOW();
	XT_CALL(make_root());
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("d/a") && put("d/b"));
	struct xpoll_tree *tree = tree_open(0, XPOLL_NOTE_ATTRIB);
	XT_CHECK(tree);
	XT_CALL(overflow("d/a", "d/b"));
	XT_CHECK(end_watch(at("d")));
	XT_CHECK(put("e"));
	XT_CALL(look_and_create(tree, "e"));
	XT_CHECK(put("d/x"));
	NEXT(CREATE, "d/x", NULL);
	xpoll_tree_close(tree);
}

/* Write to the entry that is left out, which is one more report. */
static int writes_and_skips(void *argument, const char *path)
{
	int *calls = argument;

	if (strcmp(path, "out") != 0)
		return 0;
	if (++*calls > 1 && *calls < 10000)
		(void)put("out");
	return 1;
}

XT_TEST(tree_returns_in_time_though_reports_without_a_change_go_on)
{
	int calls = 0;
	struct xpoll_tree_options options = {
		.size = sizeof options, .notes = XPOLL_NOTE_WRITE,
		.skip = writes_and_skips, .argument = &calls,
	};
	struct xpoll_tree_change change;

	XT_CALL(make_root());
	XT_CHECK(put("out"));
	struct xpoll_tree *tree = xpoll_tree_open(root, &options);
	XT_CHECK(tree);
	XT_CHECK(put("out"));
	XT_EQ(xpoll_tree_next(tree, &change, 0), 0);
	XT_EXPECT(calls > 1 && calls < 1000);
	XT_EQ(xpoll_tree_next(tree, &change, 1), 0);
	XT_EXPECT(calls < 2000);
	xpoll_tree_close(tree);
}
