/*
 * files: from the change of a file to the event.
 *
 * A pass adds and deletes watches, writes to files one by one, and makes a burst as a build
 * does: many files are written, renamed and removed, and then all is taken that is reported.
 * Those that were removed are made and watched again, which does not count.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

#define FOLDER    "/tmp/xpoll-bench.XXXXXX"
#define BURST_MAX 1000 /* files */
#define EVENTS    8192

enum files_phase { FILES_WATCH, FILES_EVENT, FILES_BURST };

static const char *const files_phases[] = { "watch", "event", "burst", NULL };

struct files {
	struct bench_field field;
	char folder[sizeof FOLDER];
	int some;  /* are used in a phase */
	int there; /* files */
	bool *reported;
};

static struct files *files_of(struct bench_turn *turn)
{
	return (struct files *)turn->field;
}

/* Even if there is one of this name. */
static int files_make(struct files *test, int id)
{
	char path[LOOP_PATH_MAX];

	loop_path(path, test->folder, id);
	unlink(path);
	test->field.targets[id].fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return test->field.targets[id].fd < 0 ? -errno : 0;
}

static void files_end(void *setup)
{
	struct files *test = setup;
	char path[LOOP_PATH_MAX];

	for (int id = 0; id < test->there; id++) {
		loop_path(path, test->folder, id);
		close(test->field.targets[id].fd);
		unlink(path);
	}
	if (test->field.folder != NULL)
		rmdir(test->folder);
	free(test->reported);
}

static int files_begin(const struct bench_options *options, void *setup)
{
	struct files *test = setup;
	int rc = 0;

	test->some = options->n < BURST_MAX ? options->n : BURST_MAX;
	test->reported = calloc((size_t)options->n, sizeof *test->reported);
	memcpy(test->folder, FOLDER, sizeof FOLDER);
	if (test->reported == NULL)
		return -ENOMEM;
	test->field.folder = mkdtemp(test->folder);
	if (test->field.folder == NULL)
		return -errno;
	for (; test->there < options->n && rc == 0; test->there++)
		rc = files_make(test, test->there);
	return rc;
}

static int files_watch(struct bench_turn *turn, int id, bool on)
{
	return turn->loop.ops->file(turn->loop.state, id, on);
}

/* Those that are used are spread over all. */
static int files_id(const struct files *test, int index)
{
	return index * (test->field.len / test->some);
}

/* After a burst: as before it. */
static int files_remake(struct files *test, int id)
{
	close(test->field.targets[id].fd);
	return files_make(test, id);
}

static int files_open(void *opened)
{
	struct bench_turn *turn = opened;
	struct files *test = files_of(turn);
	int rc = 0;

	for (int i = 0; i < test->some && rc >= 0; i++)
		rc = files_remake(test, files_id(test, i));
	for (int id = 0; id < turn->field->len && rc >= 0; id++)
		rc = files_watch(turn, id, true);
	return rc;
}

static int files_event(struct bench_turn *turn, int id)
{
	int count;

	bench_calls++;
	if (pwrite(turn->field->targets[id].fd, "x", 1, 0) != 1)
		return -errno;
	do
		count = loop_wait(&turn->loop, NULL, 0, true);
	while (count == 0);
	return count > 0 && turn->loop.hand.ready[0].id != id ? -EPROTO : count;
}

static int files_change(struct files *test, int id)
{
	char path[LOOP_PATH_MAX];
	char other[LOOP_PATH_MAX + 4];

	loop_path(path, test->folder, id);
	snprintf(other, sizeof other, "%s.new", path);
	bench_calls += 3;
	if (pwrite(test->field.targets[id].fd, "x", 1, 0) != 1 || rename(path, other) < 0 ||
	    unlink(other) < 0)
		return -errno;
	test->reported[id] = false;
	return 0;
}

/* Each one that was changed has to be reported. */
static int files_burst(struct bench_turn *turn)
{
	struct files *test = files_of(turn);
	int count = 0;

	for (int i = 0; i < test->some && count >= 0; i++)
		count = files_change(test, files_id(test, i));
	while (count >= 0) {
		count = loop_wait(&turn->loop, NULL, 0, false);
		if (count <= 0)
			break;
		for (int i = 0; i < count; i++)
			test->reported[turn->loop.hand.ready[i].id] = true;
	}
	for (int i = 0; i < test->some && count == 0; i++)
		if (!test->reported[files_id(test, i)])
			return -EPROTO;
	return count;
}

/* As before the burst of the pass before. */
static int files_phase(void *opened, int phase)
{
	struct bench_turn *turn = opened;
	struct files *test = files_of(turn);
	int rc = 0;

	if (phase != FILES_WATCH)
		return 0;
	for (int i = 0; i < test->some && rc >= 0; i++) {
		int id = files_id(test, i);

		rc = files_watch(turn, id, false);
		if (rc >= 0)
			rc = files_remake(test, id);
		if (rc >= 0)
			rc = files_watch(turn, id, true);
	}
	for (int count = 1; rc >= 0 && count > 0;)
		rc = count = loop_wait(&turn->loop, NULL, 0, false);
	return rc;
}

static int64_t files_step(void *turn, int phase)
{
	const struct files *test = files_of(turn);
	int rc = phase == FILES_BURST ? files_burst(turn) : 0;

	for (int i = 0; i < test->some && rc >= 0 && phase != FILES_BURST; i++) {
		int id = files_id(test, i);

		if (phase == FILES_EVENT)
			rc = files_event(turn, id);
		else
			rc = files_watch(turn, id, false);
		if (rc >= 0 && phase == FILES_WATCH)
			rc = files_watch(turn, id, true);
	}
	return rc < 0 ? rc : test->some;
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
	.phases = files_phases,
	.references = { "by-hand", "libuv" },
	.kind = BENCH_TARGETS,
	.setup_size = sizeof(struct files),
	.open = files_begin,
	.close = files_end,
	.fds_each = 1,
	.ops = {
		.room = EVENTS, .open = files_open, .phase = files_phase, .step = files_step,
	},
	.loops = LOOP_FILES,
};
