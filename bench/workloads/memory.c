/*
 * memory: what a registered descriptor takes in the process.
 *
 * A pass opens an empty queue, then one in which n idle descriptors are registered and waited for
 * once, and closes that.  The result is the memory that the process has allocated for it, including
 * the structures that a library requires of the program.  Memory of the kernel is not counted.
 *
 * The descriptors are duplicates of one end of a pipe, so their numbers are consecutive, like in a
 * server.  Of n pipes only every other number would be registered.
 */
#include <fcntl.h>

#include "loop.h"

struct memory {
	int ends[2];
	int len; /* number of open targets */
};

static void memory_close(struct bench_field *field)
{
	const struct memory *test = field->own;

	for (int i = 0; i < test->len; i++)
		close(field->targets[i].fd);
	for (int i = 0; i < 2; i++)
		if (test->ends[i] >= 0)
			close(test->ends[i]);
}

static int memory_open(struct bench_field *field)
{
	struct memory *test = field->own;

	test->ends[0] = test->ends[1] = -1;
	if (pipe2(test->ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	for (; test->len < field->len; test->len++) {
		int fd = fcntl(test->ends[0], F_DUPFD_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		field->targets[test->len] = (struct loop_target){ .fd = fd, .events = POLLIN };
	}
	return 0;
}

static int memory_empty(struct bench_turn *turn)
{
	struct bench_field nothing = { .options = turn->field->options };
	int rc = loop_open(&turn->loop, turn->way, &nothing, 1);

	return rc < 0 ? rc : 1;
}

static int memory_add(struct bench_turn *turn)
{
	int rc;

	loop_close(&turn->loop);
	rc = loop_open(&turn->loop, turn->way, turn->field, 1);

	if (rc >= 0)
		rc = loop_change_all(&turn->loop, LOOP_ADD, turn->field->len);
	if (rc >= 0)
		rc = loop_wait(&turn->loop, false);
	return rc < 0 ? rc : turn->field->len;
}

static int memory_destroy(struct bench_turn *turn)
{
	loop_close(&turn->loop);
	return turn->field->len;
}

/*
 * No kevent(2) of the drop-in: the kernel refuses to let it watch more than 500 duplicates of one
 * file.
 */
static const struct bench_variant memory_peers[] = {
	{ "raw-epoll", NULL, &loop_epoll }, { "raw-poll", NULL, &loop_poll },
	{ "libevent", NULL, &loop_libevent }, { "libev", NULL, &loop_libev },
	{ "libuv", NULL, &loop_libuv }, { 0 },
};

const struct bench_workload bench_memory = {
	.name = "memory", .unit = "descriptor", .items = "descriptors", .n_default = 9000,
	.summary = "memory of the process for each registered descriptor",
	.help =
		"A queue is made: empty.  N idle descriptors are registered for reading, and it\n"
		"is waited for once: add.  Then it is closed: destroy.  bytes: memory that the\n"
		"process has allocated, in empty for the queue, in add for each descriptor, with\n"
		"the program's structures where a library wants some.  The kernel's is not in it.\n"
		"\n"
		"xpoll-NAME   xpoll on a back end; raw-NAME by hand on the kernel's own calls;\n"
		"libevent, libev, libuv   these libraries, if they are here\n",
	.phases = {
		{ .name = "empty", .run = memory_empty, .whole = true },
		{ .name = "add", .run = memory_add },
		{ .name = "destroy", .run = memory_destroy },
	},
	.references = { "raw-epoll", "raw-poll" },
	.tells_bytes = true,
	.fds_each = 1,
	.kind = BENCH_TARGETS,
	.setup_size = sizeof(struct memory),
	.open = memory_open,
	.close = memory_close,
	.ops = { .passes = true },
	.peers = memory_peers,
};
