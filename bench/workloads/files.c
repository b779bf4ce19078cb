/*
 * files: from the change of a file to the event.
 *
 * A pass adds and deletes watches, writes to files one by one, and makes a burst like a build: many
 * files are written, renamed and removed, and then all reports are taken.  The removed files are
 * then made and watched again, which is not measured.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

#define FOLDER    "/tmp/xpoll-bench.XXXXXX"
#define BURST_MAX 1000 /* most files that a phase uses */
#define EVENTS    8192

struct files {
	char folder[sizeof FOLDER];
	int some;  /* number of files that a phase uses */
	int there; /* number of files that exist */
	bool *reported;
};

/* Make the file of a target, in place of one with this name. */
static int files_make(struct bench_field *field, int id)
{
	char path[LOOP_PATH_MAX];

	loop_path(path, field->folder, id);
	unlink(path);
	field->targets[id].fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return field->targets[id].fd < 0 ? -errno : 0;
}

static void files_end(struct bench_field *field)
{
	const struct files *test = field->own;
	char path[LOOP_PATH_MAX];

	for (int id = 0; id < test->there; id++) {
		loop_path(path, field->folder, id);
		close(field->targets[id].fd);
		unlink(path);
	}
	if (field->folder != NULL)
		rmdir(field->folder);
	free(test->reported);
}

static int files_begin(struct bench_field *field)
{
	struct files *test = field->own;
	int rc = 0;

	test->some = field->len < BURST_MAX ? field->len : BURST_MAX;
	test->reported = calloc((size_t)field->len, sizeof *test->reported);
	memcpy(test->folder, FOLDER, sizeof FOLDER);
	if (test->reported == NULL)
		return -ENOMEM;
	field->folder = mkdtemp(test->folder);
	if (field->folder == NULL)
		return -errno;
	for (; test->there < field->len && rc == 0; test->there++)
		rc = files_make(field, test->there);
	return rc;
}

static int files_watch(struct bench_turn *turn, int id, bool on)
{
	return turn->loop.ops->file(turn->loop.state, id, on);
}

/*
 * Call `one` for each file that a phase uses; they are spread evenly over all.  Returns their
 * number, or an error.
 */
static int files_each(struct bench_turn *turn, int (*one)(struct bench_turn *turn, int id))
{
	const struct files *test = turn->field->own;
	int rc = 0;

	for (int i = 0; i < test->some && rc >= 0; i++)
		rc = one(turn, i * (turn->field->len / test->some));
	return rc < 0 ? rc : test->some;
}

/* --- The three phases ------------------------------------------------------------- */

static int watch_one(struct bench_turn *turn, int id)
{
	int rc = files_watch(turn, id, false);

	return rc < 0 ? rc : files_watch(turn, id, true);
}

static int files_watch_some(struct bench_turn *turn)
{
	return files_each(turn, watch_one);
}

static int event_one(struct bench_turn *turn, int id)
{
	int count;

	bench_calls++;
	if (pwrite(turn->field->targets[id].fd, "x", 1, 0) != 1)
		return -errno;
	count = loop_await(&turn->loop);
	return count > 0 && turn->loop.hand.ready[0].id != id ? -EPROTO : count;
}

static int files_event(struct bench_turn *turn)
{
	return files_each(turn, event_one);
}

static int burst_one(struct bench_turn *turn, int id)
{
	struct files *test = turn->field->own;
	char path[LOOP_PATH_MAX];
	char other[LOOP_PATH_MAX + 4];

	loop_path(path, test->folder, id);
	snprintf(other, sizeof other, "%s.new", path);
	bench_calls += 3;
	if (pwrite(turn->field->targets[id].fd, "x", 1, 0) != 1 || rename(path, other) < 0 ||
	    unlink(other) < 0)
		return -errno;
	test->reported[id] = false;
	return 0;
}

static int burst_check_one(struct bench_turn *turn, int id)
{
	return ((const struct files *)turn->field->own)->reported[id] ? 0 : -EPROTO;
}

/* Change files, and take all reports.  Fails unless each changed file was reported. */
static int files_burst(struct bench_turn *turn)
{
	struct files *test = turn->field->own;
	int count = files_each(turn, burst_one);

	while (count > 0) {
		count = loop_wait(&turn->loop, false);
		for (int i = 0; i < count; i++)
			test->reported[turn->loop.hand.ready[i].id] = true;
	}
	return count < 0 ? count : files_each(turn, burst_check_one);
}

/* --- Before the first phase of a pass -------------------------------------------- */

static int remake_one(struct bench_turn *turn, int id)
{
	close(turn->field->targets[id].fd);
	return files_make(turn->field, id);
}

static int rewatch_one(struct bench_turn *turn, int id)
{
	int rc = files_watch(turn, id, false);

	if (rc >= 0)
		rc = remake_one(turn, id);
	return rc < 0 ? rc : files_watch(turn, id, true);
}

/* Make and watch the files again that the last pass has removed, and drop the reports. */
static int files_restore(struct bench_turn *turn)
{
	int rc = files_each(turn, rewatch_one);

	for (int count = 1; rc >= 0 && count > 0;)
		rc = count = loop_wait(&turn->loop, false);
	return rc;
}

static int files_open(struct bench_turn *turn)
{
	int rc = files_each(turn, remake_one);

	for (int id = 0; id < turn->field->len && rc >= 0; id++)
		rc = files_watch(turn, id, true);
	return rc;
}

const struct bench_workload bench_files = {
	.name = "files", .unit = "file", .items = "files", .n_default = 100, .n_max = 150000,
	.summary = "files that are watched: one by one, and in a burst",
	.help =
		"N files in /tmp are watched, in three phases.  watch: the watch of a file is\n"
		"deleted and added.  event: a byte is written to one, and its event taken.\n"
		"burst: up to 1000 of them are written, renamed and removed; then all events\n"
		"are taken, and each file has to be among them.\n"
		"\n"
		"xpoll-NAME   VNODE in a queue on a back end\n"
		"by-hand      inotify, read when epoll reports it\n"
		"libuv        uv_fs_event_start\n"
		"\n"
		"It is processor time of this process, the changes of the files included.\n",
	.phases = {
		{ .name = "watch", .run = files_watch_some, .prepare = files_restore },
		{ .name = "event", .run = files_event },
		{ .name = "burst", .run = files_burst },
	},
	.references = { "by-hand", "libuv" },
	.kind = BENCH_TARGETS,
	.setup_size = sizeof(struct files),
	.open = files_begin,
	.close = files_end,
	.fds_each = 1,
	.ops = { .room = EVENTS, .passes = true, .open = files_open },
	.loops = LOOP_FILES,
};
