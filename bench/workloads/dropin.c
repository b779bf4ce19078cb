/*
 * drop-in: ten active descriptors among n, and a program that polls them.
 *
 * The program is written for poll(2): in each round ten bytes arrive, it polls,
 * goes through its whole array, and reads where something is.  It is measured
 * on the kernel's poll(2) and on the drop-in's, which is the same program in
 * the same process, with another function behind the pointer.  Beside it the
 * same work written for epoll(7).
 */
#include <fcntl.h>
#include <stdlib.h>

#include "loop.h"

struct dropin {
	struct bench_field field;
	struct pollfd *fds;
};

struct poll_state {
	struct bench_turn turn;
	struct pollfd *fds;
	int (*poll)(struct pollfd *, nfds_t, int);
	uint64_t syscalls_before;
};

/* The drop-in's functions: it stays, as it has no way back, with LD_PRELOAD neither. */
static struct {
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*dup3)(int, int, int);
	uint64_t (*syscalls)(void);
} dropin;

static struct bench_library dropin_library = {
	.name = "libxpoll-poll.so",
	.names = (const char *const[]){ "poll", "dup3", "xpoll_poll_syscalls", NULL },
	.functions = &dropin,
};

static void dropin_end(void *setup)
{
	free(((struct dropin *)setup)->fds);
}

static int dropin_begin(const struct bench_options *options, void *setup)
{
	struct dropin *test = setup;

	dropin_library.file = options->library;
	if (options->library == NULL || !bench_library_load(&dropin_library)) {
		fprintf(stderr, "xpoll bench drop-in: cannot find libxpoll-poll.so\n");
		return -ENOENT;
	}
	test->fds = calloc((size_t)options->n, sizeof *test->fds);
	if (test->fds == NULL)
		return -ENOMEM;
	for (int i = 0; i < options->n; i++)
		test->fds[i] = (struct pollfd){ test->field.targets[i].fd, POLLIN, 0 };
	return 0;
}

/*
 * Read where poll(2) found something, `ready` times; 0 or -errno.  The loop is
 * the one in every textbook, and the same for all that poll here.
 */
static int poll_serve(const struct poll_state *state, int ready)
{
	const struct bench_pairs *pairs = &state->turn.field->pairs;
	const struct pollfd *fds = state->fds;
	int len = pairs->len;

	for (int i = 0; i < len; i++) {
		int rc;

		if (fds[i].revents == 0)
			continue;
		rc = bench_take(&pairs->at[i]);
		if (rc < 0)
			return rc;
		if (--ready == 0)
			break;
	}
	return 0;
}

static int poll_round(void *opened, int k)
{
	struct poll_state *state = opened;
	const struct bench_pairs *pairs = &state->turn.field->pairs;
	int left = k;
	int rc = serve_write(pairs, k);

	while (rc == 0 && left > 0) {
		int ready = state->poll(state->fds, (nfds_t)pairs->len, -1);

		if (ready < 0) {
			if (!bench_goes_on(errno))
				return -errno;
			continue;
		}
		bench_calls += state->poll != dropin.poll;
		left -= ready;
		rc = poll_serve(state, ready);
	}
	return rc;
}

static int poll_run(void *opened, uint64_t count)
{
	return bench_rounds(opened, count, ((struct bench_turn *)opened)->active, poll_round);
}

static int poll_open(struct poll_state *state, int (*poll)(struct pollfd *, nfds_t, int))
{
	state->fds = ((struct dropin *)state->turn.field)->fds;
	state->poll = poll;
	for (int i = 0; i < state->turn.field->len; i++)
		state->fds[i].revents = 0;
	return 0;
}

static int real_open(void *opened)
{
	return poll_open(opened, poll);
}

static const struct bench_ops real_ops = {
	.size = sizeof(struct poll_state), .open = real_open, .run = poll_run,
};

/* --- On the drop-in ---------------------------------------------------------- */

static int dropin_open(void *opened)
{
	struct poll_state *state = opened;

	state->syscalls_before = dropin.syscalls();
	return poll_open(state, dropin.poll);
}

/*
 * What the drop-in has in its epoll instance would make each write of the other
 * variants dearer, so all of it is taken out: a copy of itself takes the place of
 * each descriptor.
 */
static void dropin_close(void *opened)
{
	const struct bench_pairs *pairs = &((struct bench_turn *)opened)->field->pairs;

	for (int i = 0; i < pairs->len; i++) {
		int copy = dup(pairs->at[i].read_fd);

		if (copy < 0)
			continue; /* the others get a little dearer */
		(void)dropin.dup3(copy, pairs->at[i].read_fd, O_CLOEXEC);
		close(copy);
	}
}

static uint64_t dropin_syscalls(const void *opened)
{
	return bench_calls + dropin.syscalls() -
	       ((const struct poll_state *)opened)->syscalls_before;
}

static const struct bench_ops dropin_ops = {
	.size = sizeof(struct poll_state),
	.open = dropin_open,
	.run = poll_run,
	.syscalls = dropin_syscalls,
	.close = dropin_close,
};

/* --- The workload ------------------------------------------------------------ */

static const struct bench_variant dropin_peers[] = {
	{ .name = "drop-in", .ops = &dropin_ops },
	{ .name = "raw-poll", .ops = &real_ops },
	{ .name = "raw-epoll", .ops = &serve_ops, .loop = &loop_epoll },
	{ 0 },
};

static const char dropin_help[] =
	"In a round 10 of N pipes get a byte; a program waits and reads them.  It is\n"
	"written for poll(2) and goes through its whole array each time.\n"
	"\n"
	"drop-in     that program with libxpoll-poll.so in front of the C library\n"
	"raw-poll    that program as it is\n"
	"raw-epoll   the same work, written for epoll(7)\n"
	"limit       the writes and reads alone\n"
	"\n"
	"Below 32 pipes the drop-in passes every call through.\n";

const struct bench_workload bench_dropin = {
	.name = "drop-in", .unit = "read", .items = "pipes", .n_default = 5000, .n_max = 500000,
	.summary = "poll(2) programs with 10 active descriptors among n",
	.help = dropin_help,
	.references = { "raw-poll", "raw-epoll", "limit" },
	.setup_size = sizeof(struct dropin),
	.open = dropin_begin,
	.close = dropin_end,
	.absent = true,
	.active = (const int[]){ SERVE_IDLE_ACTIVE },
	.peers = dropin_peers,
	.limit = &serve_limit,
};
