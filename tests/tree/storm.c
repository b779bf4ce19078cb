/*
 * Goal: a tree reports all that becomes of names, however fast they change, and each report is
 * right after those before it.
 * Method: a thread makes, moves, replaces and removes files and directories at random; this one
 * takes in each change, and compares what it has in the end with what is there.
 */
#include "xt.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "model.h"
#include "place.h"

enum { OPERATIONS = 10000, NAMES = 6, DEPTH = 4, SENTINELS = 20 };

struct storm {
	uint64_t random;
	atomic_int done;
};

/* A path of up to DEPTH names, most of which exist. */
static void storm_path(struct storm *storm, char *path)
{
	int depth = 1 + (int)(xt_random(&storm->random) % DEPTH);

	size_t len = strlen(root);

	memcpy(path, root, len + 1);
	for (int i = 0; i < depth; i++) {
		path[len++] = '/';
		path[len++] = (char)('a' + xt_random(&storm->random) % NAMES);
	}
	path[len] = '\0';
}

static int storm_remove(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	(void)remove(path);
	return 0;
}

static void storm_make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	(void)!write(fd, "x", 1);
	close(fd);
}

static void storm_step(struct storm *storm)
{
	char path[PATH_MAX], other[PATH_MAX];

	storm_path(storm, path);
	switch (xt_random(&storm->random) % 16) {
	case 0: case 1: case 2: case 3: case 4:
		(void)mkdir(path, 0777);
		break;
	case 5: case 6: case 7: case 8:
		storm_make(path);
		break;
	case 9: case 10: case 11: case 12:
		storm_path(storm, other);
		(void)rename(path, other);
		break;
	case 13:
		(void)remove(path);
		break;
	case 14:
		(void)!symlink("..", path);
		break;
	default:
		if (xt_random(&storm->random) % 4 == 0)
			(void)nftw(path, storm_remove, 8, FTW_DEPTH | FTW_PHYS);
	}
}

static void storm_run(void *argument)
{
	struct storm *storm = argument;

	for (int i = 0; i < OPERATIONS; i++)
		storm_step(storm);
	atomic_store(&storm->done, 1);
}

static bool take_in(struct model *model, const struct xpoll_tree_change *change)
{
	const char *wrong = model_apply(model, change);

	if (wrong)
		xt_fail(__FILE__, __LINE__, "%d %s%s%s: %s", change->kind, change->path,
		        change->to ? " -> " : "", change->to ? change->to : "", wrong);
	return !wrong;
}

/* Make a file, and take in all changes until it is known. */
static void follow(struct xpoll_tree *tree, struct model *model, int number)
{
	struct xpoll_tree_change change;
	char name[32];

	(void)snprintf(name, sizeof name, "end-%d", number);
	XT_CHECK(put(name));
	while (!model_has(model, name)) {
		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		XT_CHECK(take_in(model, &change));
	}
}

/*
 * Compare the model with the file system once a file that was made last was reported: a change that
 * was not reported by then was missed.
 */
static void model_is_right(struct xpoll_tree *tree, struct model *model)
{
	const char *wrong = NULL;

	for (int i = 0; i < SENTINELS; i++) {
		struct model now;

		XT_CALL(follow(tree, model, i));
		XT_CHECK(model_read(&now, root));
		wrong = model_difference(model, &now);
		if (wrong)
			xt_note("after %d: %s", i, wrong);
		model_free(&now);
		if (!wrong)
			return;
	}
	xt_fail(__FILE__, __LINE__, "not as it is");
}

static void storm_is_followed(const struct xpoll_tree_options *options)
{
	struct model model = {0};
	struct xpoll_tree_change change;

	XT_CALL(make_root());
	struct storm storm = {.random = xt_seed()};
	struct xpoll_tree *tree = xpoll_tree_open(root, options);
	XT_CHECK(tree);
	struct xt_thread *thread = xt_start(storm_run, &storm);
	int changes = 0;

	while (!atomic_load(&storm.done)) {
		int rc = xpoll_tree_next(tree, &change, 10000000);

		XT_CHECK(rc >= 0);
		if (rc > 0 && !take_in(&model, &change))
			break;
		changes += rc;
	}
	xt_join(thread);
	if (xt_failures() == 0)
		model_is_right(tree, &model);
	xt_note("%d changes, %zu names", changes, model.len);
	xpoll_tree_close(tree);
	model_free(&model);
}

XT_TEST(tree_reports_a_storm_of_names)
{
	storm_is_followed(NULL);
}

XT_TEST(tree_reports_a_storm_of_names_and_contents)
{
	struct xpoll_tree_options options = {
		.size = sizeof options,
		.notes = XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB,
	};

	storm_is_followed(&options);
}
