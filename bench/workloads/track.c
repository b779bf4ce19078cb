/*
 * track: a process forks without a pause, and this process follows all its children.
 *
 * In a pass a process makes n children, one after the other, each of which ends at once.  Measured
 * are the processor time of the process that follows, that of the processes themselves, and the
 * real time until the last report was taken.  Forks that are not reported, or whose end is not, do
 * not count.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "loop.h"

/* --- What they share --------------------------------------------------------------- */

/*
 * The process that forks: begins when the other end of the pipe is closed.  It waits for each child
 * before it makes the next one.
 */
static void root_main(int begin, int n)
{
	char byte;

	(void)!read(begin, &byte, 1);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(1);
	}
	_exit(0);
}

static int64_t time_ns(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/*
 * Wait for the end of the process that forks.  Returns the processor time that it and its children
 * used, or -errno.
 */
static int64_t track_end(pid_t root)
{
	struct rusage usage;
	int status;

	while (wait4(root, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return -errno;
	return status != 0 ? -ECHILD : time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
}

struct track_state {
	int forks; /* number of forks that were reported, with their ends; or -errno */
	uint64_t followed_ns;
	uint64_t known_ns;
};

/*
 * Take reports until all have come.  Returns the number of forks that were reported, with their
 * ends; or -errno.
 */
static int track_take(struct bench_turn *turn)
{
	int n = turn->field->len;
	int left = 2 * n + 1;

	while (left > 0 && turn->loop.ops != NULL) {
		int count = loop_wait(&turn->loop, true);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++) {
			const struct loop_ready *ready = &turn->loop.hand.ready[i];

			if (ready->id == LOOP_LAST)
				return (2 * n - left + 1) / 2;
			left -= (ready->events & POLLIN) != 0;
			left -= (ready->events & POLLOUT) != 0;
		}
		bench_signals_progress();
	}
	return n;
}

/* Start the process that forks, which begins when *begin is closed.  Returns its ID, or -errno. */
static pid_t track_start(int n, int *begin)
{
	int ends[2];
	pid_t root;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	root = bench_fork();
	if (root == 0) {
		close(ends[1]);
		root_main(ends[0], n);
	}
	close(ends[0]);
	*begin = ends[1];
	return root < 0 ? -errno : root;
}

/* The first phase does all the work, and keeps the results of the other two phases for them. */
static int track_follow(struct bench_turn *turn)
{
	struct track_state *state = turn->own;
	const struct loop *loop = &turn->loop;
	int begin = -1;
	pid_t root = track_start(turn->field->len, &begin);
	int64_t start_ns;

	state->forks = root > 0 && loop->ops != NULL
		? loop->ops->process(loop->state, 0, root) : root;
	start_ns = bench_now_ns();
	if (begin >= 0)
		close(begin);
	if (state->forks >= 0)
		state->forks = track_take(turn);
	if (root > 0) {
		int64_t ended_ns = track_end(root);

		if (ended_ns < 0 && state->forks >= 0)
			state->forks = (int)ended_ns;
		state->followed_ns = (uint64_t)ended_ns;
	}
	state->known_ns = (uint64_t)(bench_now_ns() - start_ns);
	return state->forks == 0 ? -ENOBUFS : state->forks;
}

static int track_tell(struct bench_turn *turn, uint64_t ns)
{
	turn->sample->elapsed_ns = ns;
	turn->sample->syscalls = BENCH_UNKNOWN;
	return ((const struct track_state *)turn->own)->forks;
}

static int track_followed(struct bench_turn *turn)
{
	return track_tell(turn, ((const struct track_state *)turn->own)->followed_ns);
}

static int track_known(struct bench_turn *turn)
{
	return track_tell(turn, ((const struct track_state *)turn->own)->known_ns);
}

static const struct bench_variant track_limit = { .name = "nobody" };

const struct bench_workload bench_track = {
	.name = "track", .unit = "fork", .items = "children", .n_default = 1000, .n_max = 1000000,
	.summary = "a process forks without a pause; who follows, and at what cost",
	.help =
		"A process makes N children, one after the other, which end at once.  Those whose\n"
		"fork or end is not reported do not count.\n"
		"follow: processor time of who follows, for each child.  followed: that of the\n"
		"processes that are followed.  until known: by the clock, until all was reported.\n"
		"\n"
		"xpoll-NAME   PROC with XPOLL_NOTE_TRACK in a queue on a back end\n"
		"connector    the process connector of netlink, by hand\n"
		"nobody       nobody follows\n",
	.phases = {
		{ .name = "follow", .run = track_follow },
		{ .name = "followed", .run = track_followed },
		{ .name = "until known", .run = track_known },
	},
	.references = { "connector", "nobody" },
	.kind = BENCH_NOTHING,
	.ops = { .size = sizeof(struct track_state), .room = 64, .passes = true },
	.loops = LOOP_TRACKS,
	.limit = &track_limit,
};
