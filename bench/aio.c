/*
 * aio: random reads of 4 KiB, 1, 8 or 64 of them in flight.
 *
 * A file of n blocks lies in the page cache, or is read past it (O_DIRECT).  An operation is one
 * read.  By hand it is an io_uring(7) whose ring is entered once for all that is new; and
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

#include "workloads.h"

#define BLOCK     4096
#define DEPTH_MAX 64

static const char *const aio_phases[] = {
	"cached, 1", "cached, 8", "cached, 64", "direct, 1", "direct, 8", "direct, 64", NULL
};
static const int aio_depths[] = { 1, 8, 64 };

struct aio_test {
	int fds[2]; /* cached, direct */
	int n;
	char (*buffers)[BLOCK];
};

struct aio_state;

/* Each returns 0 or -errno; wait: how many have ended, whose numbers go to ended. */
struct aio_steps {
	int (*open)(struct aio_state *state);
	int (*submit)(struct aio_state *state, int index, off_t offset);
	int (*wait)(struct aio_state *state, int *ended);
	void (*close)(struct aio_state *state);
};

struct aio_state {
	const struct aio_steps *steps;
	struct aio_test *test;
	const char *backend;
	int fd;
	int depth;
	uint64_t seed;
	struct xpoll *queue;
	struct xpoll_aio operations[DEPTH_MAX];
	struct aiocb controls[DEPTH_MAX];
	bool busy[DEPTH_MAX]; /* of posix-aio */
	int done[DEPTH_MAX];  /* of pread */
	int done_len;
	/* An io_uring. */
	int ring;
	struct io_uring_params params;
	char *queues;
	struct io_uring_sqe *entries;
	unsigned fresh;
};

static off_t aio_offset(struct aio_state *state)
{
	state->seed = state->seed * 6364136223846793005u + 1442695040888963407u;
	return (off_t)((state->seed >> 33) % (uint64_t)state->test->n) * BLOCK;
}

/* --- On xpoll ------------------------------------------------------------------- */

static int queue_open(struct aio_state *state)
{
	struct xpoll_options options = { .size = sizeof options, .backend = state->backend };

	state->queue = xpoll_open(&options);
	return state->queue == NULL ? -errno : 0;
}

static int queue_submit(struct aio_state *state, int index, off_t offset)
{
	struct xpoll_aio *aio = &state->operations[index];

	*aio = (struct xpoll_aio){
		.size = sizeof *aio, .op = XPOLL_AIO_READ, .fd = state->fd,
		.buffer = state->test->buffers[index], .length = BLOCK, .offset = offset,
	};
	return xpoll_aio_submit(state->queue, aio) < 0 ? -errno : 0;
}

static int queue_wait(struct aio_state *state, int *ended)
{
	struct xpoll_event events[DEPTH_MAX];
	int count = xpoll_event(state->queue, NULL, 0, events, DEPTH_MAX, -1);

	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	for (int i = 0; i < count; i++) {
		if (events[i].filter != XPOLL_FILT_AIO || events[i].data != BLOCK)
			return -EIO;
		ended[i] = (int)((struct xpoll_aio *)(uintptr_t)events[i].ident -
		                 state->operations);
	}
	return count;
}

static void queue_close(struct aio_state *state)
{
	xpoll_destroy(state->queue);
}

static const struct aio_steps queue_steps = {
	queue_open, queue_submit, queue_wait, queue_close
};

/* --- An io_uring by hand ------------------------------------------------------- */

static int ring_open(struct aio_state *state)
{
	size_t size;

	state->ring = (int)syscall(SYS_io_uring_setup, DEPTH_MAX, &state->params);
	if (state->ring < 0)
		return -errno;
	size = state->params.cq_off.cqes + state->params.cq_entries * sizeof(struct io_uring_cqe);
	state->queues = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
	                     state->ring, IORING_OFF_SQ_RING);
	state->entries = mmap(NULL, DEPTH_MAX * sizeof *state->entries, PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_POPULATE, state->ring, IORING_OFF_SQES);
	if (state->queues == MAP_FAILED || state->entries == MAP_FAILED)
		return -errno;
	return state->params.features & IORING_FEAT_SINGLE_MMAP ? 0 : -ENOSYS;
}

static _Atomic(unsigned) *ring_at(const struct aio_state *state, unsigned offset)
{
	return (_Atomic(unsigned) *)(void *)(state->queues + offset);
}

static int ring_submit(struct aio_state *state, int index, off_t offset)
{
	_Atomic(unsigned) *tail = ring_at(state, state->params.sq_off.tail);
	unsigned at = atomic_load_explicit(tail, memory_order_relaxed);
	unsigned place = at & (DEPTH_MAX - 1);

	state->entries[place] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = state->fd, .off = (uint64_t)offset, .len = BLOCK,
		.addr = (uintptr_t)state->test->buffers[index], .user_data = (uint64_t)index,
	};
	ring_at(state, state->params.sq_off.array)[place] = place;
	atomic_store_explicit(tail, at + 1, memory_order_release);
	state->fresh++;
	return 0;
}

static int ring_wait(struct aio_state *state, int *ended)
{
	_Atomic(unsigned) *head = ring_at(state, state->params.cq_off.head);
	_Atomic(unsigned) *tail = ring_at(state, state->params.cq_off.tail);
	const struct io_uring_cqe *all =
		(const void *)(state->queues + state->params.cq_off.cqes);
	unsigned at = atomic_load_explicit(head, memory_order_relaxed);
	int taken = (int)syscall(SYS_io_uring_enter, state->ring, state->fresh, 1,
	                         IORING_ENTER_GETEVENTS, NULL, 0);
	int count = 0;

	bench_calls++;
	if (taken < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	state->fresh -= (unsigned)taken;
	while (at != atomic_load_explicit(tail, memory_order_acquire)) {
		const struct io_uring_cqe *one = &all[at++ & (state->params.cq_entries - 1)];

		if (one->res != BLOCK)
			return one->res < 0 ? one->res : -EIO;
		ended[count++] = (int)one->user_data;
	}
	atomic_store_explicit(head, at, memory_order_release);
	return count;
}

/* What is mapped goes with the process; it is little. */
static void ring_close(struct aio_state *state)
{
	size_t size = state->params.cq_off.cqes +
	              state->params.cq_entries * sizeof(struct io_uring_cqe);

	if (state->entries != NULL && state->entries != MAP_FAILED)
		munmap(state->entries, DEPTH_MAX * sizeof *state->entries);
	if (state->queues != NULL && state->queues != MAP_FAILED)
		munmap(state->queues, size);
	if (state->ring >= 0)
		close(state->ring);
}

static const struct aio_steps ring_steps = { ring_open, ring_submit, ring_wait, ring_close };

/* --- aio_read(3) ------------------------------------------------------------------ */

/* The C library's own: libxpoll-kqueue, which this command has for kevent(2), has one, too. */
static struct {
	int (*read)(struct aiocb *control);
	int (*error)(const struct aiocb *control);
	ssize_t (*take)(struct aiocb *control);
	int (*suspend)(const struct aiocb *const *controls, int len,
	               const struct timespec *timeout);
} posix;

static const struct bench_symbol posix_symbols[] = {
	{ "aio_read", &posix.read },
	{ "aio_error", &posix.error },
	{ "aio_return", &posix.take },
	{ "aio_suspend", &posix.suspend },
	{ NULL, NULL },
};

static struct bench_library posix_library = {
	.name = "posix-aio",
	.file = "libc.so.6",
	.package = "libc6",
	.symbols = posix_symbols,
};

static int posix_submit(struct aio_state *state, int index, off_t offset)
{
	struct aiocb *control = &state->controls[index];

	*control = (struct aiocb){
		.aio_fildes = state->fd, .aio_buf = state->test->buffers[index],
		.aio_nbytes = BLOCK, .aio_offset = offset,
		.aio_sigevent.sigev_notify = SIGEV_NONE,
	};
	state->busy[index] = true;
	return posix.read(control) < 0 ? -errno : 0;
}

static int posix_wait(struct aio_state *state, int *ended)
{
	const struct aiocb *all[DEPTH_MAX];
	int count = 0;

	for (int i = 0; i < state->depth; i++)
		all[i] = state->busy[i] ? &state->controls[i] : NULL;
	if (posix.suspend(all, state->depth, NULL) < 0 && !bench_goes_on(errno))
		return -errno;
	for (int i = 0; i < state->depth; i++) {
		if (!state->busy[i] || posix.error(&state->controls[i]) == EINPROGRESS)
			continue;
		if (posix.take(&state->controls[i]) != BLOCK)
			return -EIO;
		state->busy[i] = false;
		ended[count++] = i;
	}
	return count;
}

static const struct aio_steps posix_steps = { NULL, posix_submit, posix_wait, NULL };

/* --- pread(2) --------------------------------------------------------------------- */

static int pread_submit(struct aio_state *state, int index, off_t offset)
{
	bench_calls++;
	if (pread(state->fd, state->test->buffers[index], BLOCK, offset) != BLOCK)
		return -EIO;
	state->done[state->done_len++] = index;
	return 0;
}

static int pread_wait(struct aio_state *state, int *ended)
{
	int count = state->done_len;

	memcpy(ended, state->done, (size_t)count * sizeof *ended);
	state->done_len = 0;
	return count;
}

static const struct aio_steps pread_steps = { NULL, pread_submit, pread_wait, NULL };

/* --- What they share --------------------------------------------------------------- */

static int aio_run(void *opened, uint64_t count)
{
	struct aio_state *state = opened;
	int ended[DEPTH_MAX];
	uint64_t begun = 0;
	int rc = 0;

	for (; begun < (uint64_t)state->depth && begun < count && rc == 0; begun++)
		rc = state->steps->submit(state, (int)begun, aio_offset(state));
	for (uint64_t done = 0; done < count && rc == 0;) {
		int now = state->steps->wait(state, ended);

		if (now < 0)
			return now;
		done += (uint64_t)now;
		for (int i = 0; i < now && begun < count && rc == 0; i++, begun++)
			rc = state->steps->submit(state, ended[i], aio_offset(state));
	}
	return rc;
}

static int aio_phase(void *opened, int phase)
{
	struct aio_state *state = opened;

	state->fd = state->test->fds[phase / 3];
	state->depth = aio_depths[phase % 3];
	return 0;
}

static int aio_open(void *opened, void *setup, const struct aio_steps *steps)
{
	struct aio_state *state = opened;

	state->steps = steps;
	state->test = setup;
	state->seed = 20010630;
	state->ring = -1;
	return steps->open != NULL ? steps->open(state) : 0;
}

static void aio_close(void *opened)
{
	struct aio_state *state = opened;

	if (state->steps->close != NULL)
		state->steps->close(state);
}

static uint64_t aio_syscalls(const void *opened)
{
	const struct aio_state *state = opened;

	/* Those of the library's ring, and of glibc's threads, are counted nowhere. */
	return state->queue != NULL || state->steps == &posix_steps ? BENCH_UNKNOWN : bench_calls;
}

static int queue_begin(void *state, void *setup, const struct bench_way *way)
{
	((struct aio_state *)state)->backend = way->backend;
	return aio_open(state, setup, &queue_steps);
}

static int ring_begin(void *state, void *setup, const struct bench_way *way)
{
	(void)way;
	return aio_open(state, setup, &ring_steps);
}

static int posix_begin(void *state, void *setup, const struct bench_way *way)
{
	(void)way;
	return aio_open(state, setup, &posix_steps);
}

static int pread_begin(void *state, void *setup, const struct bench_way *way)
{
	(void)way;
	return aio_open(state, setup, &pread_steps);
}

#define AIO_OPS \
	.size = sizeof(struct aio_state), .phase = aio_phase, .run = aio_run, \
	.syscalls = aio_syscalls, .close = aio_close

static const struct bench_ops queue_ops = { AIO_OPS, .open = queue_begin };
static const struct bench_ops ring_ops = { AIO_OPS, .open = ring_begin };
static const struct bench_ops posix_ops = { AIO_OPS, .open = posix_begin };
static const struct bench_ops pread_ops = { AIO_OPS, .open = pread_begin };

static void aio_end(void *setup)
{
	struct aio_test *test = setup;

	for (int i = 0; i < 2; i++)
		if (test->fds[i] >= 0)
			close(test->fds[i]);
	free(test->buffers);
}

static int aio_begin(const struct bench_options *options, void *setup)
{
	char path[] = "/var/tmp/xpoll-bench.XXXXXX";
	struct aio_test *test = setup;
	void *memory = NULL;

	test->n = options->n;
	test->fds[1] = -1;
	test->fds[0] = mkostemp(path, O_CLOEXEC);
	if (test->fds[0] < 0)
		return -errno;
	test->fds[1] = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (test->fds[1] < 0 && errno == EINVAL) /* a file system without it */
		test->fds[1] = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (test->fds[1] < 0 || posix_memalign(&memory, BLOCK, DEPTH_MAX * BLOCK) != 0)
		return test->fds[1] < 0 ? -errno : -ENOMEM;
	test->buffers = memory;
	memset(test->buffers, 'x', DEPTH_MAX * BLOCK);
	for (int i = 0; i < test->n; i++)
		if (pwrite(test->fds[0], test->buffers, BLOCK, (off_t)i * BLOCK) != BLOCK)
			return -EIO;
	return fsync(test->fds[0]) < 0 ? -errno : 0;
}

static const struct bench_variant aio_peers[] = {
	{ "io_uring", &ring_ops, NULL, NULL },
	{ "posix-aio", &posix_ops, &posix_library, NULL },
	{ 0 },
};
static const struct bench_variant aio_limit = { "pread", &pread_ops, NULL, NULL };

const struct bench_workload bench_aio = {
	.name = "aio",
	.summary = "random reads of a file, 1, 8 and 64 in flight",
	.help =
		"Reads of 4 KiB at random places of a file of N blocks in /var/tmp: in the page\n"
		"cache, and past it (O_DIRECT, where the file system has that); 1, 8 or 64 are\n"
		"in flight.\n"
		"\n"
		"xpoll-NAME   xpoll_aio_submit, and AIO events of a queue on a back end\n"
		"io_uring     the same by hand, entered once for all that is new\n"
		"posix-aio    aio_read and aio_suspend of the C library, which has threads\n"
		"pread        one after the other\n"
		"\n"
		"It is processor time of this process, its threads included.\n",
	.unit = "read",
	.items = "blocks",
	.n_default = 10000,
	.n_max = 1000000,
	.phases = aio_phases,
	.references = { "io_uring", "posix-aio", "pread" },
	.setup_size = sizeof(struct aio_test),
	.open = aio_begin,
	.close = aio_end,
	.fds_more = 8,
	.queue = &queue_ops,
	.peers = aio_peers,
	.limit = &aio_limit,
};
