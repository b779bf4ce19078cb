/*
 * files: n files that are watched.
 *
 * A pass adds and deletes watches, writes to files one by one, and makes a burst as a
 * build does: many files are written, renamed and removed, and then all is taken that is
 * reported.  Those that were removed are made and watched again, which does not count.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

#define FOLDER    "/tmp/xpoll-bench.XXXXXX"
#define BURST_MAX 1000 /* files */
#define EVENTS    8192

enum files_phase { FILES_WATCH, FILES_EVENT, FILES_BURST };

static const char *const files_phases[] = { "watch", "event", "burst", NULL };

struct files {
	char folder[sizeof FOLDER];
	struct loop_target *targets;
	int len; /* files that are there */
};

struct files_state {
	struct loop loop;
	struct files *test;
	int next;
	int some; /* are used in a phase */
	bool *reported;
};

/* Anew: there may be one of this name. */
static int files_make(struct files *test, int id)
{
	char path[LOOP_PATH_MAX];

	loop_path(path, test->folder, id);
	unlink(path);
	test->targets[id].fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return test->targets[id].fd < 0 ? -errno : 0;
}

static void files_end(void *setup)
{
	struct files *test = setup;
	char path[LOOP_PATH_MAX];

	for (int id = 0; id < test->len; id++) {
		loop_path(path, test->folder, id);
		close(test->targets[id].fd);
		unlink(path);
	}
	rmdir(test->folder);
	free(test->targets);
}

static int files_begin(const struct bench_options *options, void *setup)
{
	struct files *test = setup;
	int rc = 0;

	memcpy(test->folder, FOLDER, sizeof FOLDER);
	test->targets = calloc((size_t)options->n, sizeof *test->targets);
	if (test->targets == NULL)
		return -ENOMEM;
	if (mkdtemp(test->folder) == NULL)
		return -errno;
	for (; test->len < options->n && rc == 0; test->len++)
		rc = files_make(test, test->len);
	return rc;
}

static int files_watch(struct files_state *state, int id, bool on)
{
	return state->loop.ops->file(state->loop.state, id, on);
}

static void files_close(void *opened)
{
	loop_close(opened);
	free(((struct files_state *)opened)->reported);
}

/* Those that are used are spread over all. */
static int files_id(const struct files_state *state, int index)
{
	return index * (state->test->len / state->some);
}

/* After a burst: as before it. */
static int files_remake(struct files_state *state, int index)
{
	int id = files_id(state, index);

	close(state->test->targets[id].fd);
	return files_make(state->test, id);
}

static int files_open(void *opened, void *setup, const struct bench_way *way)
{
	struct files_state *state = opened;
	struct loop_setup loop_setup = { 0 };
	int rc;

	state->test = setup;
	state->some = state->test->len < BURST_MAX ? state->test->len : BURST_MAX;
	state->reported = calloc((size_t)state->test->len, sizeof *state->reported);
	if (state->reported == NULL)
		return -ENOMEM;
	for (int i = 0; i < state->some; i++) {
		rc = files_remake(state, i);
		if (rc < 0)
			return rc;
	}
	loop_setup.targets = state->test->targets;
	loop_setup.len = state->test->len;
	loop_setup.folder = state->test->folder;
	rc = loop_open(&state->loop, way, &loop_setup, EVENTS);
	for (int id = 0; id < state->test->len && rc >= 0; id++)
		rc = files_watch(state, id, true);
	return rc;
}

static int files_event(struct files_state *state, int id)
{
	int count;

	bench_calls++;
	if (pwrite(state->test->targets[id].fd, "x", 1, 0) != 1)
		return -errno;
	do
		count = loop_wait(&state->loop, NULL, 0, true);
	while (count == 0);
	return count > 0 && state->loop.hand.ready[0].id != id ? -EPROTO : count;
}

static int files_change(struct files_state *state, int id)
{
	char path[LOOP_PATH_MAX];
	char other[LOOP_PATH_MAX + 4];

	loop_path(path, state->test->folder, id);
	snprintf(other, sizeof other, "%s.new", path);
	bench_calls += 3;
	if (pwrite(state->test->targets[id].fd, "x", 1, 0) != 1 || rename(path, other) < 0 ||
	    unlink(other) < 0)
		return -errno;
	state->reported[id] = false;
	return 0;
}

/* Each one that was changed has to be reported. */
static int files_burst(struct files_state *state)
{
	int count = 0;

	for (int i = 0; i < state->some && count >= 0; i++)
		count = files_change(state, files_id(state, i));
	while (count >= 0) {
		count = loop_wait(&state->loop, NULL, 0, false);
		if (count <= 0)
			break;
		for (int i = 0; i < count; i++)
			state->reported[state->loop.hand.ready[i].id] = true;
	}
	for (int i = 0; i < state->some && count == 0; i++)
		if (!state->reported[files_id(state, i)])
			return -EPROTO;
	return count;
}

static int files_again(struct files_state *state)
{
	int rc = 0;

	for (int i = 0; i < state->some && rc >= 0; i++) {
		int id = files_id(state, i);

		rc = files_watch(state, id, false);
		if (rc >= 0)
			rc = files_remake(state, i);
		if (rc >= 0)
			rc = files_watch(state, id, true);
	}
	for (int count = 1; rc >= 0 && count > 0;)
		rc = count = loop_wait(&state->loop, NULL, 0, false);
	return rc;
}

static int64_t files_step(void *opened, int phase)
{
	struct files_state *state = opened;
	int rc = phase == FILES_BURST ? files_burst(state) : 0;

	for (int i = 0; i < state->some && rc >= 0 && phase != FILES_BURST; i++) {
		int id = files_id(state, i);

		if (phase == FILES_EVENT)
			rc = files_event(state, id);
		else
			rc = files_watch(state, id, false);
		if (rc >= 0 && phase == FILES_WATCH)
			rc = files_watch(state, id, true);
	}
	return rc < 0 ? rc : state->some;
}

static int files_phase(void *opened, int phase)
{
	return phase == FILES_WATCH ? files_again(opened) : 0;
}

static const struct bench_ops files_ops = {
	.size = sizeof(struct files_state),
	.open = files_open,
	.phase = files_phase,
	.step = files_step,
	.syscalls = loop_syscalls,
	.close = files_close,
};

const struct bench_workload bench_files = {
	.name = "files",
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
	.unit = "file",
	.items = "files",
	.n_default = 100,
	.n_max = 150000,
	.phases = files_phases,
	.references = { "by-hand", "libuv" },
	.setup_size = sizeof(struct files),
	.open = files_begin,
	.close = files_end,
	.fds_each = 1,
	.fds_more = 8,
	.queue = &files_ops,
	.loops = LOOP_FILES,
};
