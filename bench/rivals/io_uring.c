/* Reads a file by hand by io_uring(7): one io_uring_enter(2) submits all new reads. */
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "loop.h"

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
	loop->fd = (int)syscall(SYS_io_uring_setup, LOOP_READS_MAX, &loop->params);
	if (loop->fd < 0)
		return -errno;
	loop->queues = ring_map(loop, ring_size(loop), IORING_OFF_SQ_RING);
	loop->entries = ring_map(loop, LOOP_READS_MAX * sizeof *loop->entries, IORING_OFF_SQES);
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
	unsigned place = at & (LOOP_READS_MAX - 1);

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

static int ring_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct ring_loop *loop = opened;
	_Atomic(unsigned) *head = ring_at(loop, loop->params.cq_off.head);
	_Atomic(unsigned) *tail = ring_at(loop, loop->params.cq_off.tail);
	const struct io_uring_cqe *all = (const void *)(loop->queues + loop->params.cq_off.cqes);
	unsigned at = atomic_load_explicit(head, memory_order_relaxed);
	int taken = (int)syscall(SYS_io_uring_enter, loop->fd, loop->fresh, block,
	                         IORING_ENTER_GETEVENTS, NULL, 0);

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
		munmap(loop->entries, LOOP_READS_MAX * sizeof *loop->entries);
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
