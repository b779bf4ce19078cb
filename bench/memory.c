/*
 * memory: what a registered descriptor takes in the process.
 *
 * A pass makes a queue, registers n idle descriptors and looks once; then it closes the
 * queue.  The bytes are those that the process has allocated meanwhile, with the
 * structures that a library has the program keep.  What the kernel keeps is not among them.
 *
 * The descriptors are duplicates of one end of a pipe: of n pipes only every
 * other number would be registered, which no server does.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "workloads.h"

struct memory {
	int ends[2];
	struct loop_target *targets;
	int len; /* so many are open */
};

struct memory_state {
	struct loop loop;
	const struct memory *test;
	const struct bench_way *way;
};

static void memory_close_setup(void *setup)
{
	struct memory *test = setup;

	for (int i = 0; i < test->len; i++)
		close(test->targets[i].fd);
	for (int i = 0; i < 2; i++)
		if (test->ends[i] >= 0)
			close(test->ends[i]);
	free(test->targets);
}

static int memory_open_setup(const struct bench_options *options, void *setup)
{
	struct memory *test = setup;

	test->ends[0] = test->ends[1] = -1;
	test->targets = calloc((size_t)options->n, sizeof *test->targets);
	if (test->targets == NULL)
		return -ENOMEM;
	if (pipe2(test->ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	for (; test->len < options->n; test->len++) {
		int fd = fcntl(test->ends[0], F_DUPFD_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		test->targets[test->len] = (struct loop_target){ fd, POLLIN };
	}
	return 0;
}

static int memory_open(void *opened, void *setup, const struct bench_way *way)
{
	struct memory_state *state = opened;

	state->test = setup;
	state->way = way;
	return 0;
}

static int64_t memory_step(void *opened, int phase)
{
	struct memory_state *state = opened;
	struct loop_setup setup = {
		.targets = state->test->targets, .len = state->test->len, .mode = LOOP_LEVEL,
	};
	int rc = 0;

	if (phase > 0) {
		loop_close(&state->loop);
		state->loop = (struct loop){ 0 };
		return setup.len;
	}
	rc = loop_open(&state->loop, state->way, &setup, 1);
	if (rc >= 0)
		rc = loop_change_all(&state->loop, LOOP_ADD, setup.len);
	if (rc >= 0)
		rc = loop_wait(&state->loop, NULL, 0, false);
	return rc < 0 ? rc : setup.len;
}

static const char *const memory_phases[] = { "add", "destroy", NULL };

static const struct bench_ops memory_ops = {
	.size = sizeof(struct memory_state),
	.open = memory_open,
	.step = memory_step,
	.syscalls = loop_syscalls,
	.close = loop_close,
};

const struct bench_workload bench_memory = {
	.name = "memory",
	.summary = "memory of the process for each registered descriptor",
	.help =
		"A queue is made, N idle descriptors are registered for reading, and it is\n"
		"waited for once: add.  Then it is closed: destroy.  bytes: memory that the\n"
		"process has allocated for each of them, the program's structures included\n"
		"where a library wants some.  The kernel's is not in it.\n"
		LOOP_HELP,
	.unit = "descriptor",
	.items = "descriptors",
	.n_default = 9000,
	.phases = memory_phases,
	.references = { "raw-epoll", "raw-poll", "raw-select" },
	.tells_bytes = true,
	.fds_each = 1,
	.fds_more = 2,
	.setup_size = sizeof(struct memory),
	.open = memory_open_setup,
	.close = memory_close_setup,
	.queue = &memory_ops,
	.loops = LOOP_LEVEL,
};
