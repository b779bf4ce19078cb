/*
 * drop-in: ten active descriptors among n, in a program that uses poll(2).
 *
 * In each round ten bytes arrive; the program polls, goes through its whole array, and reads where
 * a byte is.  It is measured on the kernel's poll(2) and on that of the drop-in: the same program
 * in the same process, which calls the other function.  Another variant does the same work by
 * epoll(7).
 */
#include <fcntl.h>
#include <stdlib.h>

#include "loop.h"

/*
 * The drop-in's functions.  The library stays loaded, because it cannot be unloaded; with
 * LD_PRELOAD it stays, too.
 */
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

/* The array that all variants poll. */
struct dropin {
	struct pollfd *fds;
};

static void dropin_end(struct bench_field *field)
{
	free(((struct dropin *)field->own)->fds);
}

static int dropin_begin(struct bench_field *field)
{
	struct dropin *test = field->own;

	dropin_library.file = field->options->library;
	if (dropin_library.file == NULL || !bench_library_load(&dropin_library)) {
		fprintf(stderr, "xpoll bench drop-in: cannot find libxpoll-poll.so\n");
		return -ENOENT;
	}
	test->fds = calloc((size_t)field->len, sizeof *test->fds);
	return test->fds == NULL ? -ENOMEM : 0;
}

/* --- A loop as in every textbook, the same for all that poll here ----------------- */

struct textbook_loop {
	struct pollfd *fds;
	int len;
	uint64_t calls_before; /* the drop-in's system calls when this was opened */
};

static int textbook_open(void *opened, const struct bench_field *field,
                         const struct bench_way *way)
{
	struct textbook_loop *loop = opened;

	(void)way;
	loop->fds = ((const struct dropin *)field->own)->fds;
	for (; loop->len < field->len; loop->len++)
		loop->fds[loop->len] = (struct pollfd){ field->targets[loop->len].fd, POLLIN, 0 };
	loop->calls_before = dropin.syscalls();
	return 0;
}

/* Does nothing: all descriptors are in the array from the beginning, and stay there. */
static int textbook_change(void *opened, enum loop_change change, const int *ids, int len)
{
	(void)opened, (void)change, (void)ids, (void)len;
	return 0;
}

/* Report the descriptors that poll(2) has found, up to the last one; left: their number. */
static int textbook_take(const struct textbook_loop *loop, struct loop_hand *hand, int left)
{
	hand->len = 0;
	for (int id = 0; id < loop->len && left > 0; id++) {
		if (loop->fds[id].revents == 0)
			continue;
		loop_report(hand, id, loop->fds[id].revents);
		left--;
	}
	return left < 0 && !bench_goes_on(errno) ? -errno : hand->len;
}

static int real_wait(void *opened, struct loop_hand *hand, bool block)
{
	const struct textbook_loop *loop = opened;

	bench_calls++;
	return textbook_take(loop, hand, poll(loop->fds, (nfds_t)loop->len, block ? -1 : 0));
}

static const struct loop_ops loop_real = {
	.size = sizeof(struct textbook_loop),
	.open = textbook_open,
	.change = textbook_change,
	.wait = real_wait,
};

/* --- And on the drop-in ----------------------------------------------------------- */

static int dropin_wait(void *opened, struct loop_hand *hand, bool block)
{
	const struct textbook_loop *loop = opened;

	return textbook_take(loop, hand,
	                     dropin.poll(loop->fds, (nfds_t)loop->len, block ? -1 : 0));
}

/*
 * Descriptors in the drop-in's epoll instance would make the writes of other variants slower.  So
 * take them out, by replacing each descriptor with a copy of itself.
 */
static void dropin_close(void *opened)
{
	const struct textbook_loop *loop = opened;

	for (int id = 0; id < loop->len; id++) {
		int copy = dup(loop->fds[id].fd);

		if (copy < 0)
			continue; /* writes of other variants get a little slower */
		(void)dropin.dup3(copy, loop->fds[id].fd, O_CLOEXEC);
		close(copy);
	}
}

static uint64_t dropin_syscalls(void *opened)
{
	return dropin.syscalls() - ((const struct textbook_loop *)opened)->calls_before;
}

static const struct loop_ops loop_dropin = {
	.size = sizeof(struct textbook_loop),
	.open = textbook_open,
	.change = textbook_change,
	.wait = dropin_wait,
	.syscalls = dropin_syscalls,
	.close = dropin_close,
};

/* --- The workload ------------------------------------------------------------ */

static const struct bench_variant dropin_peers[] = {
	{ .name = "drop-in", .ops = &serve_ops, .loop = &loop_dropin },
	{ .name = "raw-poll", .ops = &serve_ops, .loop = &loop_real },
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
	.phases = { { .value = SERVE_IDLE_ACTIVE } },
	.peers = dropin_peers,
	.limit = &serve_limit,
};
