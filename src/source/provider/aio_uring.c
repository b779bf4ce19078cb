/*
 * Asynchronous I/O by io_uring: one thread of the library submits to a ring and
 * waits for it.
 *
 * The kernel ties a request to the thread that submits it, and a ring to those
 * who made or used it.  When a request completes, or the ring is closed, their
 * system calls are interrupted, as epoll_wait(2) with EINTR; a request does not
 * complete while its thread sleeps uninterruptibly; and it is cancelled when
 * the thread ends.  No thread of the program is to feel this, nor can the
 * library know what they do.  So the ring is made, used and closed by a thread
 * of its own, the only one there is, however many requests are in flight.
 */
#include "source/provider/aio_work.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "os/process.h"
#include "os/sys.h"
#include "os/sys_linux.h"
#include "os/sys_threads.h"
#include "os/sys_uring.h"

#if defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define AIO_HAVE_URING 1
#endif
#endif

#ifdef AIO_HAVE_URING

enum {
	URING_ENTRIES = 64, /* submitted at a time */
	URING_COMPLETIONS = 256,
	URING_JOBS = 120, /* in flight; the rest is for stops and calls */
	URING_PROBED = 64,
	/* The low bits of a token that is no job's address. */
	URING_CALLED = 1,
	URING_STOPPED = 3,
	URING_LOW_BITS = 3,
};

/* The kernel's largest read or write: what is longer ends short. */
#define URING_BYTES_MOST 0x7ffff000u

/* [I] immutable while open, [t] the thread's alone, [k] the kernel's, too. */
static struct {
	int fd;          /* [I] -1: not open */
	int call_fd;     /* [I] an eventfd that the ring polls */
	uint32_t process; /* [I] that opened it */
	void *rings;     /* [I] */
	size_t rings_size; /* [I] */
	struct io_uring_sqe *entries; /* [I], content [t] */
	size_t entries_size; /* [I] */
	_Atomic uint32_t *submit_tail; /* [k] */
	uint32_t *submit_array; /* [k] */
	uint32_t submit_mask; /* [I] */
	_Atomic uint32_t *done_head; /* [k] */
	_Atomic uint32_t *done_tail; /* [k] */
	struct io_uring_cqe *done; /* [k] */
	uint32_t done_mask; /* [I] */
	unsigned filled; /* [t] entries the kernel does not know yet */
	unsigned jobs; /* [t] in flight */
	unsigned others; /* [t] stops in flight, and the poll of call_fd */
	bool listening; /* [t] call_fd is polled */
	atomic_bool calling; /* somebody has written to call_fd */
} uring = {.fd = -1};

/* --- The ring ---------------------------------------------------------------- */

static bool uring_knows(int ring_fd)
{
	static const int needed[] = {IORING_OP_READ, IORING_OP_WRITE,
	                             IORING_OP_FSYNC, IORING_OP_ASYNC_CANCEL};
	_Alignas(struct io_uring_probe) unsigned char
		memory[sizeof(struct io_uring_probe) +
		       URING_PROBED * sizeof(struct io_uring_probe_op)];
	struct io_uring_probe *probe = (struct io_uring_probe *)(void *)memory;

	memset(memory, 0, sizeof memory);
	if (xp_sys_uring_probe(ring_fd, probe, URING_PROBED) < 0)
		return false;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!(probe->ops[needed[i]].flags & IO_URING_OP_SUPPORTED))
			return false;
	return true;
}

/* A ring that can do what is needed, or a negative errno value. */
static int uring_setup(struct io_uring_params *params)
{
	int ring_fd;

	memset(params, 0, sizeof *params);
	params->flags = IORING_SETUP_CQSIZE;
	params->cq_entries = URING_COMPLETIONS;
	ring_fd = xp_sys_uring_setup(URING_ENTRIES, params);
	if (ring_fd < 0)
		return ring_fd;
	if (params->features & IORING_FEAT_SINGLE_MMAP &&
	    params->features & IORING_FEAT_NODROP && uring_knows(ring_fd))
		return ring_fd;
	xp_sys_close(ring_fd);
	return -ENOSYS;
}

static void *uring_try(void *argument)
{
	struct io_uring_params params;
	int ring_fd = uring_setup(&params);

	*(bool *)argument = ring_fd >= 0;
	if (ring_fd >= 0)
		xp_sys_close(ring_fd);
	return NULL;
}

/* In a thread: see above. */
static bool uring_usable(void)
{
	pthread_t thread;
	bool usable = false;

	if (xp_sys_thread_start(&thread, uring_try, &usable) < 0)
		return false;
	xp_sys_thread_join(thread);
	return usable;
}

static int uring_map(int ring_fd, const struct io_uring_params *params)
{
	size_t submit_size = params->sq_off.array +
		params->sq_entries * sizeof(uint32_t);
	size_t done_size = params->cq_off.cqes +
		params->cq_entries * sizeof(struct io_uring_cqe);
	char *rings;

	uring.rings_size = submit_size > done_size ? submit_size : done_size;
	uring.entries_size = params->sq_entries * sizeof(struct io_uring_sqe);
	uring.rings = xp_sys_uring_map(ring_fd, uring.rings_size,
	                               IORING_OFF_SQ_RING);
	if (!uring.rings)
		return -ENOMEM;
	uring.entries = xp_sys_uring_map(ring_fd, uring.entries_size,
	                                 IORING_OFF_SQES);
	if (!uring.entries) {
		xp_sys_uring_unmap(uring.rings, uring.rings_size);
		return -ENOMEM;
	}
	rings = uring.rings;
	uring.submit_tail = (void *)(rings + params->sq_off.tail);
	uring.submit_array = (void *)(rings + params->sq_off.array);
	uring.submit_mask = params->sq_entries - 1;
	uring.done_head = (void *)(rings + params->cq_off.head);
	uring.done_tail = (void *)(rings + params->cq_off.tail);
	uring.done = (void *)(rings + params->cq_off.cqes);
	uring.done_mask = params->cq_entries - 1;
	return 0;
}

static int uring_open(void)
{
	struct io_uring_params params;
	int call_fd = xp_sys_eventfd(false);
	int ring_fd = call_fd < 0 ? call_fd : uring_setup(&params);
	int rc = ring_fd;

	memset(&uring, 0, sizeof uring);
	uring.fd = -1;
	if (ring_fd >= 0)
		rc = uring_map(ring_fd, &params);
	if (rc < 0) {
		if (ring_fd >= 0)
			xp_sys_close(ring_fd);
		if (call_fd >= 0)
			xp_sys_close(call_fd);
		return rc;
	}
	uring.process = xp_process_current();
	uring.call_fd = call_fd;
	/* Last: a child forked meanwhile closes all of it, or nothing. */
	uring.fd = ring_fd;
	return 0;
}

static void uring_close(void)
{
	int ring_fd = uring.fd;

	XP_ASSERT(ring_fd >= 0);
	uring.fd = -1;
	xp_sys_uring_unmap(uring.entries, uring.entries_size);
	xp_sys_uring_unmap(uring.rings, uring.rings_size);
	xp_sys_close(uring.call_fd);
	xp_sys_close(ring_fd);
}

static void uring_abandon(uint32_t process)
{
	if (uring.fd >= 0 && uring.process == process)
		uring_close();
}

static void uring_call(void)
{
	static const uint64_t one = 1;

	XP_ASSERT(uring.fd >= 0);
	if (!atomic_exchange(&uring.calling, true))
		xp_sys_write(uring.call_fd, &one, sizeof one);
}

/* --- Its thread -------------------------------------------------------------- */

/* The next entry, cleared; there is one while fewer than all are filled. */
static struct io_uring_sqe *uring_entry_fill(uint8_t opcode, uint64_t token)
{
	uint32_t tail = atomic_load_explicit(uring.submit_tail,
	                                     memory_order_relaxed);
	uint32_t index = tail & uring.submit_mask;
	struct io_uring_sqe *entry = &uring.entries[index];

	XP_ASSERT(uring.filled < URING_ENTRIES);
	memset(entry, 0, sizeof *entry);
	entry->opcode = opcode;
	entry->user_data = token;
	uring.submit_array[index] = index;
	uring.filled++;
	return entry;
}

/* It is complete: the kernel may see it. */
static void uring_entry_give(void)
{
	atomic_fetch_add_explicit(uring.submit_tail, 1, memory_order_release);
}

static void uring_fill_job(const struct xp_aio_job *job)
{
	static const uint8_t opcodes[] = {
		[XPOLL_AIO_READ] = IORING_OP_READ,
		[XPOLL_AIO_WRITE] = IORING_OP_WRITE,
		[XPOLL_AIO_FSYNC] = IORING_OP_FSYNC,
		[XPOLL_AIO_FDATASYNC] = IORING_OP_FSYNC,
	};
	struct io_uring_sqe *entry =
		uring_entry_fill(opcodes[job->op], (uint64_t)(uintptr_t)job);

	entry->fd = job->fd;
	if (job->op == XPOLL_AIO_FDATASYNC)
		entry->fsync_flags = IORING_FSYNC_DATASYNC;
	if (job->op == XPOLL_AIO_READ || job->op == XPOLL_AIO_WRITE) {
		entry->addr = (uint64_t)(uintptr_t)job->buffer;
		entry->len = job->length > URING_BYTES_MOST
			? URING_BYTES_MOST : (uint32_t)job->length;
		entry->off = (uint64_t)job->offset;
	}
	uring_entry_give();
	uring.jobs++;
}

/* Have the ring wait for a call, while it waits for jobs. */
static void uring_fill_listen(void)
{
	struct io_uring_sqe *entry =
		uring_entry_fill(IORING_OP_POLL_ADD, URING_CALLED);

	entry->fd = uring.call_fd;
	entry->poll_events = POLLIN;
	uring_entry_give();
	uring.others++;
	uring.listening = true;
}

static void uring_fill_stop(const struct xp_aio_job *job)
{
	struct io_uring_sqe *entry =
		uring_entry_fill(IORING_OP_ASYNC_CANCEL, URING_STOPPED);

	entry->addr = (uint64_t)(uintptr_t)job;
	uring_entry_give();
	uring.others++;
}

static void uring_fill_all(void)
{
	struct xp_aio_job *job;

	/* With nothing in flight it is here that the thread waits. */
	while (uring.jobs < URING_JOBS && uring.filled < URING_ENTRIES - 1 &&
	       (job = xp_aio_next(uring.jobs == 0)))
		uring_fill_job(job);
	if (uring.jobs == 0)
		return;
	if (!uring.listening)
		uring_fill_listen();
	while (uring.filled < URING_ENTRIES &&
	       uring.jobs + uring.others < URING_COMPLETIONS &&
	       (job = xp_aio_next_stop()))
		uring_fill_stop(job);
}

static void uring_completed(uint64_t token, int32_t result)
{
	uint64_t ignored;

	if (!(token & URING_LOW_BITS)) {
		XP_ASSERT(uring.jobs > 0);
		uring.jobs--;
		xp_aio_done((struct xp_aio_job *)(uintptr_t)token, result);
		return;
	}
	uring.others--;
	if (token != URING_CALLED)
		return;
	xp_sys_read(uring.call_fd, &ignored, sizeof ignored);
	uring.listening = false;
	/* From now on a call is a new one; then the lists are looked at. */
	atomic_store(&uring.calling, false);
}

static void uring_reap(void)
{
	uint32_t head = atomic_load_explicit(uring.done_head,
	                                     memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(uring.done_tail,
	                                     memory_order_acquire);

	for (; head != tail; head++) {
		const struct io_uring_cqe *done =
			&uring.done[head & uring.done_mask];
		uint64_t token = done->user_data;
		int32_t result = done->res;

		atomic_store_explicit(uring.done_head, head + 1,
		                      memory_order_release);
		uring_completed(token, result);
	}
}

/* The kernel takes no more, short of memory or forbidden: work here. */
static void uring_take_back(void)
{
	uint32_t tail = atomic_load_explicit(uring.submit_tail,
	                                     memory_order_relaxed);

	for (; uring.filled > 0; uring.filled--) {
		struct io_uring_sqe *entry =
			&uring.entries[--tail & uring.submit_mask];
		struct xp_aio_job *job =
			(struct xp_aio_job *)(uintptr_t)entry->user_data;

		atomic_store_explicit(uring.submit_tail, tail,
		                      memory_order_relaxed);
		if (entry->user_data & URING_LOW_BITS) {
			uring.others--;
			if (entry->user_data == URING_CALLED)
				uring.listening = false;
			continue;
		}
		uring.jobs--;
		xp_aio_done(job, xp_aio_perform(job));
	}
}

/* Give the kernel what is filled, and wait for something to complete. */
static void uring_turn(void)
{
	struct pollfd ring = {.fd = uring.fd, .events = POLLIN};
	int rc = xp_sys_uring_enter(uring.fd, uring.filled, 1);

	XP_ASSERT(rc <= (int)uring.filled);
	if (rc >= 0) {
		uring.filled -= (unsigned)rc;
	} else if (rc != -EINTR) {
		uring_take_back();
		if (uring.jobs > 0)
			xp_sys_poll_wait(&ring, 1, XP_NEVER, NULL);
	}
	uring_reap();
}

/* What is in flight in the end is the poll of call_fd; it ends with the ring. */
static void uring_run(void)
{
	uring_fill_all();
	while (uring.jobs > 0) {
		uring_turn();
		uring_fill_all();
	}
	XP_ASSERT(uring.filled == 0);
}

#else

static int uring_open(void)
{
	return -ENOTSUP;
}

static void uring_close(void)
{
}

static void uring_abandon(uint32_t process)
{
	(void)process;
}

static bool uring_usable(void)
{
	return false;
}

static void uring_call(void)
{
}

static void uring_run(void)
{
}

#endif

const struct xp_aio_provider xp_aio_uring = {
	.name = "io_uring",
	.threads = 1,
	.open = uring_open,
	.close = uring_close,
	.abandon = uring_abandon,
	.usable = uring_usable,
	.run = uring_run,
	.call = uring_call,
};
