/*
 * Goal: a tree reports what becomes of names and contents, says what it cannot watch, and ends
 * with its directory.
 * Method: one thing is done at a time, and the changes that it makes are known.
 */
#include "xt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "model.h"
#include "place.h"

#define NEEDS_RENAMES() \
	do { \
		if (!reports_renames()) \
			XT_SKIP("a rename is not reported as one here"); \
	} while (0)

XT_TEST(tree_reports_each_name_once)
{
	NEEDS_RENAMES();
	XT_CALL(make_root());
	XT_CHECK(put("old"));
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree);
	XT_CHECK(put("a"));
	NEXT(CREATE, "a", NULL);
	XT_EQ(rename(at("a"), at("\xff\n")), 0);
	NEXT(RENAME, "a", "\xff\n");
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_EQ(mkdir(at("d/e"), 0777), 0);
	XT_CHECK(put("d/e/f"));
	NEXT(CREATE, "d", NULL);
	NEXT(CREATE, "d/e", NULL);
	NEXT(CREATE, "d/e/f", NULL);
	XT_EQ(rename(at("\xff\n"), at("d/e/g")), 0);
	NEXT(RENAME, "\xff\n", "d/e/g");
	XT_EQ(rename(at("d/e/g"), at("d/e/f")), 0);
	NEXT(DELETE, "d/e/f", NULL);
	NEXT(RENAME, "d/e/g", "d/e/f");
	XT_EQ(rename(at("d"), at("h")), 0);
	NEXT(RENAME, "d", "h");
	XT_CHECK(put("h/e/i"));
	NEXT(CREATE, "h/e/i", NULL);
	XT_EQ(unlink(at("old")), 0);
	NEXT(DELETE, "old", NULL);
	struct xpoll_tree_change change;
	XT_EQ(xpoll_tree_next(tree, &change, 0), 0);
	XT_EQ(xpoll_tree_wake(tree), 0);
	XT_EQ(xpoll_tree_next(tree, &change, -1), 0);
	xpoll_tree_close(tree);
}

XT_TEST(tree_reports_a_directory_that_moves_below_its_own_entry)
{
	NEEDS_RENAMES();
	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_EQ(mkdir(at("a/b"), 0777), 0);
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree);
	XT_EQ(rename(at("a/b"), at("b")), 0);
	XT_EQ(rename(at("a"), at("b/a")), 0);
	NEXT(RENAME, "a/b", "b");
	NEXT(RENAME, "a", "b/a");
	xpoll_tree_close(tree);
}

XT_TEST(tree_reports_names_that_were_exchanged_in_an_order_that_can_be)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_CHECK(put("a/1"));
	XT_CHECK(put("b"));
	struct model model, now;
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree && model_read(&model, root));
	if (syscall(SYS_renameat2, AT_FDCWD, at("a"), AT_FDCWD, at("b"), 2 /* exchange */) < 0)
		XT_SKIP("this file system does not exchange names");
	const char *wrong = NULL;
	do {
		struct xpoll_tree_change change;

		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		wrong = model_apply(&model, &change);
	} while (!wrong && !model_has(&model, "b/1"));
	if (wrong)
		xt_fail(__FILE__, __LINE__, "%s", wrong);
	struct xpoll_tree_change change;
	while (xpoll_tree_next(tree, &change, 0) > 0)
		XT_CHECK(!model_apply(&model, &change));
	XT_CHECK(model_read(&now, root));
	XT_CHECK(!model_difference(&model, &now));
	model_free(&model);
	model_free(&now);
	xpoll_tree_close(tree);
}

XT_TEST(tree_reports_contents_by_notes)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("d/a"));
	struct xpoll_tree *tree = tree_open(0, XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB);
	struct xpoll_tree_change change;
	XT_CHECK(tree);
	XT_CHECK(put("d/a"));
	XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_CHANGE);
	XT_EXPECT_EQ(change.notes, XPOLL_NOTE_WRITE);
	XT_EXPECT(strcmp(change.path, "d/a") == 0);
	XT_EQ(chmod(at("d"), 0700), 0);
	XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	XT_EXPECT_EQ(change.notes, XPOLL_NOTE_ATTRIB);
	XT_EXPECT(strcmp(change.path, "d") == 0);
	xpoll_tree_close(tree);
}

XT_TEST(tree_enters_what_links_lead_to_only_if_requested)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(xt_name("beside"), 0777), 0);
	XT_EQ(symlink("../beside", at("link")), 0);
	XT_EQ(symlink(".", at("loop")), 0);
	XT_EQ(symlink("nowhere", at("lost")), 0);
	for (uint32_t flags = 0; flags <= XPOLL_TREE_LINKS; flags += XPOLL_TREE_LINKS) {
		struct xpoll_tree *tree = tree_open(flags, 0);

		XT_CHECK(tree);
		XT_CHECK(put("link/in"));
		if (flags)
			NEXT(CREATE, "link/in", NULL);
		XT_CHECK(put("after"));
		NEXT(CREATE, "after", NULL);
		XT_EQ(unlink(at("after")), 0);
		XT_EQ(unlink(at("link/in")), 0);
		xpoll_tree_close(tree);
	}
}

XT_TEST(tree_that_is_flat_has_one_directory)
{
	XT_CALL(make_root());
	XT_EQ(mkdir(at("d"), 0777), 0);
	struct xpoll_tree *tree = tree_open(XPOLL_TREE_FLAT, 0);
	XT_CHECK(tree);
	XT_CHECK(put("d/a"));
	XT_CHECK(put("b"));
	NEXT(CREATE, "b", NULL);
	xpoll_tree_close(tree);
}

static int skips_objects(void *argument, const char *path)
{
	size_t len = strlen(path);

	++*(int *)argument;
	return len > 2 && strcmp(path + len - 2, ".o") == 0;
}

XT_TEST(tree_leaves_out_what_is_to_be_skipped)
{
	int asked = 0;
	struct xpoll_tree_options options = {
		.size = sizeof options, .skip = skips_objects, .argument = &asked,
	};

	XT_CALL(make_root());
	XT_EQ(mkdir(at("d.o"), 0777), 0);
	struct xpoll_tree *tree = xpoll_tree_open(root, &options);
	XT_CHECK(tree);
	XT_CHECK(put("d.o/a") && put("a.o") && put("b"));
	NEXT(CREATE, "b", NULL);
	XT_EXPECT(asked >= 3);
	xpoll_tree_close(tree);
}

/* When the tree reads a, which is before it opens d. */
static int moves_away(void *argument, const char *path)
{
	bool *moved = argument;

	if (!*moved && strcmp(path, "a/x") == 0)
		*moved = rename(at("d"), xt_name("beside")) == 0;
	return 0;
}

XT_TEST(tree_enters_a_directory_that_was_away_when_it_was_to_be_opened)
{
	bool moved = false;
	struct xpoll_tree_options options = {
		.size = sizeof options, .skip = moves_away, .argument = &moved,
	};

	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_EQ(mkdir(at("d"), 0777), 0);
	XT_CHECK(put("a/x"));
	struct xpoll_tree *tree = xpoll_tree_open(root, &options);
	XT_CHECK(tree && moved);
	XT_EQ(rename(xt_name("beside"), at("d")), 0);
	XT_CHECK(put("d/f"));
	struct xpoll_tree_change change;
	do {
		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	} while (strcmp(change.path, "d/f") != 0);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_CREATE);
	xpoll_tree_close(tree);
}

XT_TEST(tree_ends_with_its_directory)
{
	XT_CALL(make_root());
	XT_CHECK(put("a"));
	struct xpoll_tree *tree = tree_open(0, 0);
	struct xpoll_tree_change change;
	XT_CHECK(tree);
	XT_EQ(unlink(at("a")), 0);
	XT_EQ(rmdir(root), 0);
	NEXT(DELETE, "a", NULL);
	XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_END);
	XT_EXPECT_EQ(change.notes, XPOLL_NOTE_DELETE);
	XT_FAILS(xpoll_tree_next(tree, &change, -1), ESTALE);
	xpoll_tree_close(tree);
}

/* Changes that the kernel reported before the end come before it. */
XT_TEST(tree_reports_what_happened_before_its_end)
{
	NEEDS_RENAMES();
	XT_CALL(make_root());
	XT_CHECK(put("a") && put("b"));
	struct xpoll_tree *tree = tree_open(0, 0);
	XT_CHECK(tree);
	XT_EQ(rename(at("a"), xt_name("a")), 0);
	XT_EQ(rename(at("b"), xt_name("b")), 0);
	XT_CHECK(put("z"));
	XT_EQ(rename(root, xt_name("elsewhere")), 0);
	NEXT(DELETE, "a", NULL);
	NEXT(DELETE, "b", NULL);
	NEXT(CREATE, "z", NULL);
	NEXT(END, "", NULL);
	xpoll_tree_close(tree);
}

/* The descriptor of the tree is readable when the tree may have a change. */
XT_TEST(tree_has_a_descriptor_for_another_loop)
{
	XT_CALL(make_root());
	struct xpoll_tree *tree = tree_open(0, 0);
	struct xpoll_tree_change change;
	struct pollfd poll_fd = {.events = POLLIN};
	int rc;
	XT_CHECK(tree);
	poll_fd.fd = xpoll_tree_fd(tree);
	if (poll_fd.fd < 0 && errno == ELOOP) {
		xpoll_tree_close(tree);
		XT_SKIP("queues nest too deep on this model");
	}
	XT_CHECK(poll_fd.fd >= 0);
	XT_CHECK(put("a"));
	do {
		XT_EQ(poll(&poll_fd, 1, -1), 1);
		rc = xpoll_tree_next(tree, &change, 0);
		XT_CHECK(rc >= 0);
	} while (rc == 0);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_CREATE);
	XT_EXPECT(strcmp(change.path, "a") == 0);
	xpoll_tree_close(tree);
}

XT_TEST(tree_refuses_what_it_cannot_be)
{
	struct xpoll_tree_options options = {.size = sizeof options, .flags = 1u << 30};

	XT_CALL(make_root());
	XT_CHECK(put("a"));
	XT_EXPECT(!xpoll_tree_open(root, &options) && errno == EINVAL);
	options.size = 1;
	XT_EXPECT(!xpoll_tree_open(root, &options) && errno == EINVAL);
	XT_EXPECT(!xpoll_tree_open(NULL, NULL) && errno == EINVAL);
	XT_EXPECT(!xpoll_tree_open(at("a"), NULL) && errno == ENOTDIR);
	XT_EXPECT(!xpoll_tree_open(at("none"), NULL) && errno == ENOENT);
	xpoll_tree_close(NULL);
}
