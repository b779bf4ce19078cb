/*
 * aio: random reads of 4 KiB, 1, 8 or 64 of them in flight.
 *
 * A file of n blocks lies in the page cache, or is read past it (O_DIRECT).  An operation is
 * one read.  By hand it is an io_uring(7) whose ring is entered once for all that is new; and
 * glibc's aio_read(3), which has threads.  The limit is pread(2), which waits.
 */
#include <aio.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "loop.h"

#define DEPTH_MAX 64

static const char *const aio_phases[] = {
	"cached, 1", "cached, 8", "cached, 64", "direct, 1", "direct, 8", "direct, 64", NULL
};
static const int aio_depths[] = { 1, 8, 64 };

/* --- An io_uring by hand ------------------------------------------------------- */

struct ring_loop {
	int fd;
	struct io_uring_params params;
	char *queues;
	struct io_uring_sqe *entries;
	unsigned fresh;
};

static size_t ring_size(const struct ring_loop *loop)
{
	return loop->params.cq_off.cqes + loop->params.cq_entries * sizeof(struct io_uring_cqe);
}

static void *ring_map(const struct ring_loop *loop, size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, loop->fd,
	                what);

	return at == MAP_FAILED ? NULL : at;
}

static int ring_open(void *opened, const struct bench_field *field,
                     const struct bench_way *way)
{
	struct ring_loop *loop = opened;

	(void)field, (void)way;
	loop->fd = (int)syscall(SYS_io_uring_setup, DEPTH_MAX, &loop->params);
	if (loop->fd < 0)
		return -errno;
	loop->queues = ring_map(loop, ring_size(loop), IORING_OFF_SQ_RING);
	loop->entries = ring_map(loop, DEPTH_MAX * sizeof *loop->entries, IORING_OFF_SQES);
	if (loop->queues == NULL || loop->entries == NULL)
		return -errno;
	return loop->params.features & IORING_FEAT_SINGLE_MMAP ? 0 : -ENOSYS;
}

static _Atomic(unsigned) *ring_at(const struct ring_loop *loop, unsigned offset)
{
	return (_Atomic(unsigned) *)(void *)(loop->queues + offset);
}

static int ring_read(void *opened, const struct loop_read *read)
{
	struct ring_loop *loop = opened;
	_Atomic(unsigned) *tail = ring_at(loop, loop->params.sq_off.tail);
	unsigned at = atomic_load_explicit(tail, memory_order_relaxed);
	unsigned place = at & (DEPTH_MAX - 1);

	loop->entries[place] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = read->fd, .off = (uint64_t)read->offset,
		.len = LOOP_BLOCK, .addr = (uintptr_t)read->buffer,
		.user_data = (unsigned)read->id,
	};
	ring_at(loop, loop->params.sq_off.array)[place] = place;
	atomic_store_explicit(tail, at + 1, memory_order_release);
	loop->fresh++;
	return 0;
}

static int ring_wait(void *opened, struct loop_hand *hand, const int *enable, int enable_len,
                     bool block)
{
	struct ring_loop *loop = opened;
	_Atomic(unsigned) *head = ring_at(loop, loop->params.cq_off.head);
	_Atomic(unsigned) *tail = ring_at(loop, loop->params.cq_off.tail);
	const struct io_uring_cqe *all = (const void *)(loop->queues + loop->params.cq_off.cqes);
	unsigned at = atomic_load_explicit(head, memory_order_relaxed);
	int taken = (int)syscall(SYS_io_uring_enter, loop->fd, loop->fresh, block,
	                         IORING_ENTER_GETEVENTS, NULL, 0);

	(void)enable, (void)enable_len;
	bench_calls++;
	if (taken < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	loop->fresh -= (unsigned)taken;
	hand->len = 0;
	while (at != atomic_load_explicit(tail, memory_order_acquire)) {
		const struct io_uring_cqe *one = &all[at++ & (loop->params.cq_entries - 1)];

		loop_report(hand, (int)one->user_data,
		            one->res == LOOP_BLOCK ? POLLIN : POLLERR);
	}
	atomic_store_explicit(head, at, memory_order_release);
	return hand->len;
}

static void ring_close(void *opened)
{
	struct ring_loop *loop = opened;

	if (loop->entries != NULL)
		munmap(loop->entries, DEPTH_MAX * sizeof *loop->entries);
	if (loop->queues != NULL)
		munmap(loop->queues, ring_size(loop));
	if (loop->fd >= 0)
		close(loop->fd);
}

const struct loop_ops loop_io_uring = {
	.name = "io_uring",
	.can = LOOP_READS,
	.size = sizeof(struct ring_loop),
	.open = ring_open,
	.read = ring_read,
	.wait = ring_wait,
	.close = ring_close,
};

/* --- aio_read(3) ------------------------------------------------------------------ */

/* The C library's own: libxpoll-kqueue, which this command has for kevent(2), has one, too. */
static struct {
	int (*read)(struct aiocb *control);
	int (*error)(const struct aiocb *control);
	ssize_t (*take)(struct aiocb *control);
	int (*suspend)(const struct aiocb *const *controls, int len,
	               const struct timespec *timeout);
} posix;

static struct bench_library posix_library = {
	"posix-aio", "libc.so.6", "libc6",
	(const char *const[]){ "aio_read", "aio_error", "aio_return", "aio_suspend", NULL },
	&posix, NULL,
};

struct posix_loop {
	struct aiocb controls[DEPTH_MAX];
	const struct aiocb *busy[DEPTH_MAX]; /* or NULL */
};

static int posix_read(void *opened, const struct loop_read *read)
{
	struct posix_loop *loop = opened;
	struct aiocb *control = &loop->controls[read->id];

	*control = (struct aiocb){
		.aio_fildes = read->fd, .aio_buf = read->buffer, .aio_nbytes = LOOP_BLOCK,
		.aio_offset = read->offset, .aio_sigevent.sigev_notify = SIGEV_NONE,
	};
	loop->busy[read->id] = control;
	return posix.read(control) < 0 ? -errno : 0;
}

static int posix_wait(void *opened, struct loop_hand *hand, const int *enable, int enable_len,
                      bool block)
{
	struct posix_loop *loop = opened;

	(void)enable, (void)enable_len;
	hand->len = 0;
	if (block && posix.suspend(loop->busy, DEPTH_MAX, NULL) < 0 && !bench_goes_on(errno))
		return -errno;
	for (int i = 0; i < DEPTH_MAX; i++) {
		if (loop->busy[i] == NULL || posix.error(loop->busy[i]) == EINPROGRESS)
			continue;
		loop_report(hand, i, posix.take(&loop->controls[i]) == LOOP_BLOCK ? POLLIN
		                                                                  : POLLERR);
		loop->busy[i] = NULL;
	}
	return hand->len;
}

const struct loop_ops loop_posix_aio = {
	.name = "posix-aio",
	.can = LOOP_READS,
	.library = &posix_library,
	.size = sizeof(struct posix_loop),
	.uncounted = true,
	.read = posix_read,
	.wait = posix_wait,
};

/* --- pread(2) --------------------------------------------------------------------- */

struct pread_loop {
	int len;
	int done[DEPTH_MAX];
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

static int pread_wait(void *opened, struct loop_hand *hand, const int *enable, int enable_len,
                      bool block)
{
	struct pread_loop *loop = opened;

	(void)enable, (void)enable_len, (void)block;
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

struct aio {
	struct bench_field field; /* its len: reads in flight */
	int fds[2]; /* cached, direct */
	int n;
	char (*buffers)[LOOP_BLOCK];
};

struct aio_state {
	struct bench_turn turn;
	uint64_t seed;
};

static int aio_begin_one(struct aio_state *state, int id)
{
	const struct aio *test = (const struct aio *)state->turn.field;
	struct loop_read read = {
		.id = id, .fd = test->fds[state->turn.phase / 3], .buffer = test->buffers[id],
	};

	state->seed = state->seed * 6364136223846793005u + 1442695040888963407u;
	read.offset = (off_t)((state->seed >> 33) % (uint64_t)test->n) * LOOP_BLOCK;
	return state->turn.loop.ops->read(state->turn.loop.state, &read);
}

static int aio_run(void *opened, uint64_t count)
{
	struct aio_state *state = opened;
	struct loop *loop = &state->turn.loop;
	uint64_t depth = (uint64_t)aio_depths[state->turn.phase % 3];
	uint64_t begun = 0;
	int rc = 0;

	for (; begun < depth && begun < count && rc == 0; begun++)
		rc = aio_begin_one(state, (int)begun);
	for (uint64_t done = 0; done < count && rc >= 0;) {
		int now = rc == 0 ? loop_wait(loop, NULL, 0, true) : rc;

		rc = now < 0 ? now : 0;
		for (int i = 0; i < now && rc == 0; i++, done++) {
			const struct loop_ready *ready = &loop->hand.ready[i];

			if (ready->events & POLLERR)
				rc = -EIO;
			else if (begun++ < count)
				rc = aio_begin_one(state, ready->id);
		}
	}
	return rc;
}

static int aio_start(void *state)
{
	((struct aio_state *)state)->seed = 20010630;
	return 0;
}

static void aio_end(void *setup)
{
	struct aio *test = setup;

	for (int i = 0; i < 2; i++)
		if (test->fds[i] >= 0)
			close(test->fds[i]);
	free(test->buffers);
}

static int aio_begin(const struct bench_options *options, void *setup)
{
	char path[] = "/var/tmp/xpoll-bench.XXXXXX";
	struct aio *test = setup;
	void *memory = NULL;

	test->field.len = DEPTH_MAX;
	test->n = options->n;
	test->fds[1] = -1;
	test->fds[0] = mkostemp(path, O_CLOEXEC);
	if (test->fds[0] < 0)
		return -errno;
	test->fds[1] = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (test->fds[1] < 0 && errno == EINVAL) /* a file system without it */
		test->fds[1] = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (test->fds[1] < 0 || posix_memalign(&memory, LOOP_BLOCK, DEPTH_MAX * LOOP_BLOCK) != 0)
		return test->fds[1] < 0 ? -errno : -ENOMEM;
	test->buffers = memory;
	memset(test->buffers, 'x', DEPTH_MAX * LOOP_BLOCK);
	for (int i = 0; i < test->n; i++)
		if (pwrite(test->fds[0], test->buffers, LOOP_BLOCK, (off_t)i * LOOP_BLOCK) !=
		    LOOP_BLOCK)
			return -EIO;
	return fsync(test->fds[0]) < 0 ? -errno : 0;
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
	.phases = aio_phases,
	.references = { "io_uring", "libuv", "posix-aio", "pread" },
	.kind = BENCH_NOTHING,
	.setup_size = sizeof(struct aio),
	.open = aio_begin,
	.close = aio_end,
	.ops = {
		.size = sizeof(struct aio_state), .room = DEPTH_MAX, .open = aio_start,
		.run = aio_run,
	},
	.loops = LOOP_READS,
	.limit = &aio_limit,
};
