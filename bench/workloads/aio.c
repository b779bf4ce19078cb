/*
 * aio: random reads of 4 KiB, 1, 8 or 64 of them in flight.
 *
 * A file of n blocks is in the page cache, or is read without it (O_DIRECT).  An operation is one
 * read.  The rivals are an io_uring(7) used by hand, which is entered once for all new reads, and
 * aio_read(3) of glibc, which has threads.  The limit is pread(2), which waits for the data.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

/* --- pread(2) --------------------------------------------------------------------- */

struct pread_loop {
	int len;
	int done[LOOP_READS_MAX];
};

static int pread_read(void *opened, const struct loop_read *read)
{
	struct pread_loop *loop = opened;

	bench_calls++;
	if (pread(read->fd, read->buffer, LOOP_BLOCK, read->offset) != LOOP_BLOCK)
		return -EIO;
	loop->done[loop->len++] = read->id;
	return 0;
}

static int pread_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct pread_loop *loop = opened;

	(void)block;
	hand->len = 0;
	for (; loop->len > 0; loop->len--)
		loop_report(hand, loop->done[loop->len - 1], POLLIN);
	return hand->len;
}

static const struct loop_ops loop_pread = {
	.size = sizeof(struct pread_loop),
	.read = pread_read,
	.wait = pread_wait,
};

/* --- What they share --------------------------------------------------------------- */

enum { AIO_CACHED, AIO_DIRECT };

struct aio {
	int fds[2]; /* descriptors of the file, indexed by AIO_CACHED and AIO_DIRECT */
	char (*buffers)[LOOP_BLOCK];
};

static int aio_begin_one(struct bench_turn *turn, int id)
{
	const struct aio *test = turn->field->own;
	uint64_t *seed = turn->own;
	struct loop_read read = {
		.id = id, .fd = test->fds[turn->phase->how], .buffer = test->buffers[id],
	};

	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	read.offset = (off_t)((*seed >> 33) % (uint64_t)turn->way->options->n) * LOOP_BLOCK;
	return turn->loop.ops->read(turn->loop.state, &read);
}

static int aio_run(struct bench_turn *turn)
{
	struct loop *loop = &turn->loop;
	int count = turn->count;
	int begun = 0;
	int rc = 0;

	for (; begun < turn->phase->value && begun < count && rc == 0; begun++)
		rc = aio_begin_one(turn, begun);
	for (int done = 0; done < count && rc >= 0;) {
		int now = rc == 0 ? loop_wait(loop, true) : rc;

		rc = now < 0 ? now : 0;
		/* a busy disk may take longer for all reads than the watchdog waits */
		if (now > 0)
			bench_signals_progress();
		for (int i = 0; i < now && rc == 0; i++, done++) {
			const struct loop_ready *ready = &loop->hand.ready[i];

			if (ready->events & POLLERR)
				rc = -EIO;
			else if (begun++ < count)
				rc = aio_begin_one(turn, ready->id);
		}
	}
	return rc < 0 ? rc : count;
}

static int aio_start(struct bench_turn *turn)
{
	*(uint64_t *)turn->own = 20010630;
	return 0;
}

static void aio_end(struct bench_field *field)
{
	struct aio *test = field->own;

	for (int i = 0; i < 2; i++)
		if (test->fds[i] >= 0)
			close(test->fds[i]);
	free(test->buffers);
}

static int aio_begin(struct bench_field *field)
{
	char path[] = "/var/tmp/xpoll-bench.XXXXXX";
	struct aio *test = field->own;
	void *memory = NULL;

	field->len = LOOP_READS_MAX;
	test->fds[AIO_DIRECT] = -1;
	test->fds[AIO_CACHED] = mkostemp(path, O_CLOEXEC);
	if (test->fds[AIO_CACHED] < 0)
		return -errno;
	test->fds[AIO_DIRECT] = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	/* the file system does not support O_DIRECT */
	if (test->fds[AIO_DIRECT] < 0 && errno == EINVAL)
		test->fds[AIO_DIRECT] = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (test->fds[AIO_DIRECT] < 0)
		return -errno;
	if (posix_memalign(&memory, LOOP_BLOCK, LOOP_READS_MAX * LOOP_BLOCK) != 0)
		return -ENOMEM;
	test->buffers = memory;
	memset(test->buffers, 'x', LOOP_READS_MAX * LOOP_BLOCK);
	for (int i = 0; i < field->options->n; i++)
		if (pwrite(test->fds[AIO_CACHED], test->buffers, LOOP_BLOCK,
		           (off_t)i * LOOP_BLOCK) != LOOP_BLOCK)
			return -EIO;
	return fsync(test->fds[AIO_CACHED]) < 0 ? -errno : 0;
}

static const struct bench_variant aio_limit = { .name = "pread", .loop = &loop_pread };

const struct bench_workload bench_aio = {
	.name = "aio", .unit = "read", .items = "blocks", .n_default = 10000, .n_max = 1000000,
	.summary = "random reads of a file, 1, 8 and 64 in flight",
	.help =
		"Reads of 4 KiB at random places of a file of N blocks in /var/tmp: in the page\n"
		"cache, and past it (O_DIRECT, where the file system has that); 1, 8 or 64 are\n"
		"in flight.\n"
		"\n"
		"xpoll-NAME   xpoll_aio_submit, and AIO events of a queue on a back end\n"
		"io_uring     the same by hand, entered once for all that is new\n"
		"posix-aio    aio_read and aio_suspend of the C library, which has threads\n"
		"libuv        uv_fs_read, which has threads\n"
		"pread        one after the other\n"
		"\n"
		"It is processor time of this process, its threads included.\n",
	.phases = {
		{ .name = "cached, 1", .value = 1, .how = AIO_CACHED },
		{ .name = "cached, 8", .value = 8, .how = AIO_CACHED },
		{ .name = "cached, 64", .value = 64, .how = AIO_CACHED },
		{ .name = "direct, 1", .value = 1, .how = AIO_DIRECT },
		{ .name = "direct, 8", .value = 8, .how = AIO_DIRECT },
		{ .name = "direct, 64", .value = 64, .how = AIO_DIRECT },
	},
	.references = { "io_uring", "libuv", "posix-aio", "pread" },
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct aio),
	.open = aio_begin,
	.close = aio_end,
	.ops = {
		.size = sizeof(uint64_t), .room = LOOP_READS_MAX, .open = aio_start,
		.run = aio_run,
	},
	.loops = LOOP_READS,
	.limit = &aio_limit,
};
