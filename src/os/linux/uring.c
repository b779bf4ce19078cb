/* Making a ring, and filling it. */
#include "os/linux/uring.h"

#ifdef XP_HAVE_URING

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "os/linux/sys_uring.h"
#include "os/sys.h"

enum { URING_PROBED = 64 };

/* 0; -ENOSYS: it cannot do all of that; or why it does not say. */
static int uring_knows(int ring_fd, const struct xp_uring_needs *needs)
{
	_Alignas(struct io_uring_probe) unsigned char
		memory[sizeof(struct io_uring_probe) +
		       URING_PROBED * sizeof(struct io_uring_probe_op)];
	struct io_uring_probe *probe = (struct io_uring_probe *)(void *)memory;
	int rc;

	memset(memory, 0, sizeof memory);
	rc = xp_sys_uring_probe(ring_fd, probe, URING_PROBED);
	if (rc < 0)
		return rc == -EINVAL ? -ENOSYS : rc;
	for (size_t i = 0; i < needs->ops_len; i++)
		if (!(probe->ops[needs->ops[i]].flags & IO_URING_OP_SUPPORTED))
			return -ENOSYS;
	return 0;
}

static int uring_map(struct xp_uring *ring, int ring_fd,
                     const struct io_uring_params *params)
{
	size_t submit_size = params->sq_off.array +
		params->sq_entries * sizeof(uint32_t);
	size_t done_size = params->cq_off.cqes +
		params->cq_entries * sizeof(struct io_uring_cqe);
	char *rings;

	ring->rings_size = submit_size > done_size ? submit_size : done_size;
	ring->entries_size = params->sq_entries * sizeof(struct io_uring_sqe);
	ring->rings = xp_sys_uring_map(ring_fd, ring->rings_size,
	                               IORING_OFF_SQ_RING);
	if (!ring->rings)
		return -ENOMEM;
	ring->entries = xp_sys_uring_map(ring_fd, ring->entries_size,
	                                 IORING_OFF_SQES);
	if (!ring->entries) {
		xp_sys_uring_unmap(ring->rings, ring->rings_size);
		return -ENOMEM;
	}
	rings = ring->rings;
	ring->capacity = params->sq_entries;
	ring->submit_tail = (void *)(rings + params->sq_off.tail);
	ring->submit_array = (void *)(rings + params->sq_off.array);
	ring->submit_mask = params->sq_entries - 1;
	ring->done_head = (void *)(rings + params->cq_off.head);
	ring->done_tail = (void *)(rings + params->cq_off.tail);
	ring->done = (void *)(rings + params->cq_off.cqes);
	ring->done_mask = params->cq_entries - 1;
	return 0;
}

int xp_uring_open(struct xp_uring *ring, const struct xp_uring_needs *needs)
{
	uint32_t features = needs->features | IORING_FEAT_SINGLE_MMAP |
		IORING_FEAT_NODROP;
	struct io_uring_params params;
	int ring_fd;
	int rc = -ENOSYS;

	memset(ring, 0, sizeof *ring);
	ring->fd = -1;
	memset(&params, 0, sizeof params);
	params.flags = IORING_SETUP_CQSIZE | needs->flags;
	params.cq_entries = needs->completions;
	ring_fd = xp_sys_uring_setup(needs->entries, &params);
	if (ring_fd < 0)
		return ring_fd;
	if ((params.features & features) == features)
		rc = uring_knows(ring_fd, needs);
	if (rc == 0)
		rc = uring_map(ring, ring_fd, &params);
	if (rc < 0) {
		xp_sys_close(ring_fd);
		return rc;
	}
	ring->fd = ring_fd;
	return 0;
}

void xp_uring_close(struct xp_uring *ring)
{
	int ring_fd = ring->fd;

	XP_ASSERT(ring_fd >= 0);
	ring->fd = -1;
	xp_sys_uring_unmap(ring->entries, ring->entries_size);
	xp_sys_uring_unmap(ring->rings, ring->rings_size);
	xp_sys_close(ring_fd);
}

struct io_uring_sqe *xp_uring_fill(struct xp_uring *ring, uint8_t opcode,
                                   uint64_t token)
{
	uint32_t tail = atomic_load_explicit(ring->submit_tail,
	                                     memory_order_relaxed);
	uint32_t index = tail & ring->submit_mask;
	struct io_uring_sqe *entry = &ring->entries[index];

	XP_ASSERT(ring->filled < ring->capacity);
	memset(entry, 0, sizeof *entry);
	entry->opcode = opcode;
	entry->user_data = token;
	ring->submit_array[index] = index;
	ring->filled++;
	return entry;
}

void xp_uring_give(struct xp_uring *ring)
{
	atomic_fetch_add_explicit(ring->submit_tail, 1, memory_order_release);
}

struct io_uring_sqe *xp_uring_take_back(struct xp_uring *ring)
{
	uint32_t tail = atomic_load_explicit(ring->submit_tail,
	                                     memory_order_relaxed) - 1;

	XP_ASSERT(ring->filled > 0);
	ring->filled--;
	atomic_store_explicit(ring->submit_tail, tail, memory_order_relaxed);
	return &ring->entries[tail & ring->submit_mask];
}

#endif
