/*
 * Asynchronous I/O by io_uring: one thread of the library submits to a ring and waits for it.
 *
 * The kernel associates a request with the thread that submits it, and a ring with the threads that
 * made or used it.  When a request completes, or the ring is closed, the kernel interrupts system
 * calls of these threads: epoll_wait(2), for example, fails with EINTR.  A request does not
 * complete while its thread sleeps uninterruptibly, and is cancelled when its thread exits.  None
 * of this may affect a thread of the program.  So one thread of the library makes, uses and closes
 * the ring, however many requests there are.
 */
#include "source/aio_work.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "linux/sys_linux.h"
#include "linux/sys_uring.h"
#include "linux/system.h"
#include "sys/process.h"
#include "sys/sys.h"
#include "sys/sys_threads.h"

#ifdef XP_HAVE_URING

enum {
	URING_ENTRIES = 64, /* capacity of the submission queue */
	URING_COMPLETIONS = 256,
	/* most requests in progress: leaves room for a stop of each and the poll of uring.call */
	URING_JOBS = 120,
	/* Tokens of entries: a job's address, whose low bits are 0, or one of these: */
	URING_CALLED = 1,  /* the poll of uring.call, which wakes the library's thread */
	URING_STOPPED = 3, /* a stop, which cancels a request */
	URING_LOW_BITS = 3,
	URING_PROBED = 64, /* number of operations to query the kernel about */
};

/* The kernel's largest read or write; a longer request transfers only this many bytes. */
#define URING_BYTES_MOST 0x7ffff000u

/* The ring, memory that the kernel shares with the thread; [I] immutable while open. */
struct uring_ring {
	int fd;            /* [I] descriptor of the ring; -1: not open */
	unsigned filled;   /* entries that uring_fill has filled and the kernel has not consumed */
	void *rings;       /* [I] mapping of the positions and the completions */
	size_t rings_size; /* [I] bytes mapped at `rings` */
	struct io_uring_sqe *entries; /* [I] mapping of the submission entries */
	size_t entries_size; /* [I] bytes mapped at `entries` */
	_Atomic uint32_t *submit_tail; /* position behind the last entry published to the kernel */
	uint32_t *submit_array; /* for each position: index of its entry in `entries` */
	uint32_t submit_mask; /* [I] capacity - 1, so position & mask is an index */
	_Atomic uint32_t *done_head; /* position of the next completion to read */
	/* position behind the last completion; written by the kernel */
	const _Atomic uint32_t *done_tail;
	const struct io_uring_cqe *done; /* array of completions, which the kernel fills */
	uint32_t done_mask; /* [I] capacity of `done` - 1, so position & done_mask is an index */
};

/* [I] immutable while open, [t] used only by the library's thread. */
static struct {
	struct uring_ring ring; /* [I] ring.fd, [t] the other members */
	/*
	 * [I] signalled to wake the library's thread from its wait for completions: the ring polls
	 * this descriptor
	 */
	struct xp_wakefd call;
	uint32_t process; /* [I] the process that opened the ring (xp_process_number) */
	unsigned jobs; /* [t] requests (reads, writes, syncs) in progress or filled */
	unsigned others; /* [t] stops (cancellations) in progress, and the poll of `call` */
	bool listening; /* [t] a poll of `call` is in the ring */
	/* 1: `call` was signalled since the library's thread last cleared this flag */
	atomic_uint calling;
} uring = {.ring.fd = -1};

/* --- The ring ---------------------------------------------------------------- */

/* Returns 0 if the kernel supports all operations used here; -ENOSYS: not all; or another error. */
static int uring_check_operations(int ring_fd)
{
	static const uint8_t ops[] = {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FSYNC,
	                              IORING_OP_ASYNC_CANCEL, IORING_OP_POLL_ADD};
	_Alignas(struct io_uring_probe) unsigned char
		memory[sizeof(struct io_uring_probe) +
		       URING_PROBED * sizeof(struct io_uring_probe_op)] = {0};
	struct io_uring_probe *probe = (struct io_uring_probe *)(void *)memory;
	int rc = xp_sys_uring_probe(ring_fd, probe, URING_PROBED);

	for (size_t i = 0; rc >= 0 && i < sizeof ops; i++)
		if (!(probe->ops[ops[i]].flags & IO_URING_OP_SUPPORTED))
			rc = -ENOSYS;
	return rc < 0 ? rc : 0;
}

/*
 * Map the two parts of the ring that the kernel shares, and store where its positions and entries
 * are.
 */
static int uring_map(struct uring_ring *ring, int ring_fd,
                    const struct io_uring_params *params)
{
	size_t submit_size = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
	size_t done_size = params->cq_off.cqes +
		params->cq_entries * sizeof(struct io_uring_cqe);
	void *entries = NULL;
	char *rings;
	int rc;

	ring->rings_size = submit_size > done_size ? submit_size : done_size;
	ring->entries_size = params->sq_entries * sizeof(struct io_uring_sqe);
	rc = xp_sys_map(ring_fd, ring->rings_size, IORING_OFF_SQ_RING, &ring->rings);
	if (rc < 0)
		return rc;
	rc = xp_sys_map(ring_fd, ring->entries_size, IORING_OFF_SQES, &entries);
	if (rc < 0) {
		xp_sys_unmap(ring->rings, ring->rings_size);
		return rc;
	}
	ring->entries = entries;
	rings = ring->rings;
	ring->submit_tail = (void *)(rings + params->sq_off.tail);
	ring->submit_array = (void *)(rings + params->sq_off.array);
	ring->submit_mask = params->sq_entries - 1;
	ring->done_head = (void *)(rings + params->cq_off.head);
	ring->done_tail = (void *)(rings + params->cq_off.tail);
	ring->done = (void *)(rings + params->cq_off.cqes);
	ring->done_mask = params->cq_entries - 1;
	return 0;
}

/*
 * Open a ring.  Returns 0 or a negative errno value; -ENOSYS: the kernel lacks an operation or a
 * feature.
 */
static int uring_open_ring(struct uring_ring *ring)
{
	const uint32_t features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP;
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE,
		.cq_entries = URING_COMPLETIONS,
	};
	int ring_fd = xp_sys_uring_setup(URING_ENTRIES, &params);
	int rc = -ENOSYS;

	*ring = (struct uring_ring){.fd = -1};
	if (ring_fd < 0)
		return ring_fd;
	if ((params.features & features) == features)
		rc = uring_check_operations(ring_fd);
	if (rc == 0)
		rc = uring_map(ring, ring_fd, &params);
	if (rc < 0)
		xp_sys_close(ring_fd);
	else
		ring->fd = ring_fd;
	return rc;
}

static void uring_close_ring(const struct uring_ring *ring)
{
	xp_sys_unmap(ring->entries, ring->entries_size);
	xp_sys_unmap(ring->rings, ring->rings_size);
	xp_sys_close(ring->fd);
}

/* Returns the next submission entry, with an operation and a token; uring_publish publishes it. */
static struct io_uring_sqe *uring_fill(uint8_t opcode, uint64_t token)
{
	uint32_t tail = atomic_load_explicit(uring.ring.submit_tail, memory_order_relaxed);
	uint32_t index = tail & uring.ring.submit_mask;
	struct io_uring_sqe *entry = &uring.ring.entries[index];

	XP_ASSERT(uring.ring.filled < URING_ENTRIES);
	*entry = (struct io_uring_sqe){.opcode = opcode, .user_data = token};
	uring.ring.submit_array[index] = index;
	uring.ring.filled++;
	return entry;
}

/* Publish the entry that uring_fill returned, now complete, to the kernel. */
static void uring_publish(void)
{
	atomic_fetch_add_explicit(uring.ring.submit_tail, 1, memory_order_release);
}

/*
 * Take back the last published entry, which the kernel has not consumed.  Returns the entry's
 * token.
 */
static uint64_t uring_take_back_one(void)
{
	uint32_t tail =
		atomic_load_explicit(uring.ring.submit_tail, memory_order_relaxed) - 1;

	uring.ring.filled--;
	atomic_store_explicit(uring.ring.submit_tail, tail, memory_order_relaxed);
	return uring.ring.entries[tail & uring.ring.submit_mask].user_data;
}

/*
 * Store the token and result of the next completion, and give the completion's place back to the
 * kernel.  Returns false if there is no completion.
 */
static bool uring_pop_completion(uint64_t *token, int32_t *result)
{
	uint32_t head = atomic_load_explicit(uring.ring.done_head, memory_order_relaxed);
	const struct io_uring_cqe *next = &uring.ring.done[head & uring.ring.done_mask];

	if (head == atomic_load_explicit(uring.ring.done_tail, memory_order_acquire))
		return false;
	*token = next->user_data;
	*result = next->res;
	atomic_store_explicit(uring.ring.done_head, head + 1, memory_order_release);
	return true;
}

/* Open and close a ring.  Sets *argument, a bool, to whether the ring could be opened. */
static void *uring_try(void *argument)
{
	struct uring_ring ring;

	*(bool *)argument = uring_open_ring(&ring) == 0;
	if (ring.fd >= 0)
		uring_close_ring(&ring);
	return NULL;
}

/*
 * Returns true if a ring can be opened.  Tested in a thread of its own, because closing a ring may
 * interrupt system calls of the thread that made it (EINTR).
 */
static bool uring_usable(void)
{
	pthread_t thread;
	bool usable = false;

	if (xp_sys_thread_start(&thread, uring_try, &usable) < 0)
		return false;
	xp_sys_thread_join(thread);
	return usable;
}

/* Open the ring and `call`, in the library's thread (struct xp_aio_provider). */
static int uring_open(void)
{
	struct uring_ring ring;
	struct xp_wakefd call;
	int rc, ring_fd;

	memset(&uring, 0, sizeof uring);
	uring.ring.fd = -1;
	rc = xp_wakefd_open(&call);
	if (rc < 0)
		return rc;
	rc = uring_open_ring(&ring);
	if (rc < 0) {
		xp_wakefd_close(&call);
		return rc;
	}
	uring.process = xp_process_number();
	uring.call = call;
	ring_fd = ring.fd;
	ring.fd = -1;
	uring.ring = ring;
	/*
	 * Set fd last: if the process forks meanwhile, uring_abandon in the child closes the whole
	 * ring or nothing.
	 */
	uring.ring.fd = ring_fd;
	return 0;
}

static void uring_close(void)
{
	struct uring_ring ring = uring.ring;

	uring.ring.fd = -1;
	xp_wakefd_close(&uring.call);
	uring_close_ring(&ring);
}

/* In a forked child: close the ring and `call`, if the process with this number opened them. */
static void uring_abandon(uint32_t process)
{
	if (uring.ring.fd >= 0 && uring.process == process)
		uring_close();
}

/*
 * Wake the thread from its wait for completions.  Makes a system call only if the thread has
 * handled the previous call of this function.
 */
static void uring_call(void)
{
	XP_ASSERT(uring.ring.fd >= 0);
	if (!atomic_exchange(&uring.calling, 1))
		xp_wakefd_signal(&uring.call);
}

/* --- The library's thread -------------------------------------------------------------- */

/* Fill and publish an entry that does this job. */
static void uring_fill_job(const struct xp_aio_job *job)
{
	static const uint8_t opcodes[] = {
		[XPOLL_AIO_READ] = IORING_OP_READ,
		[XPOLL_AIO_WRITE] = IORING_OP_WRITE,
		[XPOLL_AIO_FSYNC] = IORING_OP_FSYNC,
		[XPOLL_AIO_FDATASYNC] = IORING_OP_FSYNC,
	};
	struct io_uring_sqe *entry = uring_fill(opcodes[job->op], (uint64_t)(uintptr_t)job);

	entry->fd = job->io_fd;
	if (job->op == XPOLL_AIO_FDATASYNC)
		entry->fsync_flags = IORING_FSYNC_DATASYNC;
	if (job->op == XPOLL_AIO_READ || job->op == XPOLL_AIO_WRITE) {
		entry->addr = (uint64_t)(uintptr_t)job->buffer;
		entry->len = job->length > URING_BYTES_MOST
			? URING_BYTES_MOST : (uint32_t)job->length;
		entry->off = (uint64_t)job->offset;
	}
	uring_publish();
	uring.jobs++;
}

/*
 * Add a poll of uring.call to the ring: when another thread signals that descriptor, the poll
 * completes, which ends this thread's wait for completions.
 */
static void uring_fill_listen(void)
{
	struct io_uring_sqe *entry = uring_fill(IORING_OP_POLL_ADD, URING_CALLED);

	entry->fd = uring.call.fd;
	entry->poll_events = POLLIN;
	uring_publish();
	uring.others++;
	uring.listening = true;
}

/* Fill and publish an entry that cancels the request of a job. */
static void uring_fill_stop(const struct xp_aio_job *job)
{
	struct io_uring_sqe *entry = uring_fill(IORING_OP_ASYNC_CANCEL, URING_STOPPED);

	entry->addr = (uint64_t)(uintptr_t)job;
	uring_publish();
	uring.others++;
}

/* If there is room, fill entries for new jobs, the poll of uring.call, and cancellations. */
static void uring_fill_all(void)
{
	struct xp_aio_job *job;

	/* With no request in progress, xp_aio_next waits for a job; NULL ends uring_run. */
	while (uring.jobs < URING_JOBS && uring.ring.filled < URING_ENTRIES - 1 &&
	       (job = xp_aio_next(uring.jobs == 0)))
		uring_fill_job(job);
	if (uring.jobs == 0)
		return;
	if (!uring.listening)
		uring_fill_listen();
	while (uring.ring.filled < URING_ENTRIES &&
	       uring.jobs + uring.others < URING_COMPLETIONS &&
	       (job = xp_aio_next_stop()))
		uring_fill_stop(job);
}

/* Handle a completion.  A completed job gets its result and is appended to the list. */
static void uring_completed(uint64_t token, int32_t result, struct xp_list *jobs)
{
	if (!(token & URING_LOW_BITS)) {
		struct xp_aio_job *job = (struct xp_aio_job *)(uintptr_t)token;

		XP_ASSERT(uring.jobs > 0);
		uring.jobs--;
		job->result = result;
		xp_list_append(jobs, &job->item);
		return;
	}
	uring.others--;
	if (token != URING_CALLED)
		return;
	xp_wakefd_clear(&uring.call);
	uring.listening = false;
	/*
	 * Clear the flag before uring_fill_all reads the lists of jobs: then a uring_call after the
	 * reading signals `call` again.
	 */
	atomic_store(&uring.calling, 0);
}

/* Handle all completions, and pass the jobs that are complete to their ports. */
static void uring_reap(void)
{
	struct xp_list jobs;
	uint64_t token;
	int32_t result;

	xp_list_init(&jobs);
	while (uring_pop_completion(&token, &result))
		uring_completed(token, result, &jobs);
	if (!xp_list_empty(&jobs))
		xp_aio_complete_jobs(&jobs, true);
}

/*
 * The kernel refuses the entries, for example for lack of memory or permission: take back the
 * entries that the kernel has not consumed, and do their jobs in this thread.
 */
static void uring_take_back(void)
{
	struct xp_list jobs;

	xp_list_init(&jobs);
	while (uring.ring.filled > 0) {
		uint64_t token = uring_take_back_one();
		struct xp_aio_job *job = (struct xp_aio_job *)(uintptr_t)token;

		if (token & URING_LOW_BITS) {
			uring.others--;
			if (token == URING_CALLED)
				uring.listening = false;
			continue;
		}
		uring.jobs--;
		job->result = xp_aio_perform(job);
		xp_list_append(&jobs, &job->item);
		xp_aio_complete_jobs(&jobs, false);
	}
}

/* Submit the published entries, and wait for a completion, also of the poll of uring.call. */
static void uring_submit_and_wait(void)
{
	struct pollfd ring = {.fd = uring.ring.fd, .events = POLLIN};
	/*
	 * If uring_fill_all has run out of free entries, there may be more jobs, for which nobody
	 * will signal `call`: do not sleep.
	 */
	bool more = uring.ring.filled >= URING_ENTRIES - 1 && uring.jobs < URING_JOBS;
	int rc = xp_sys_uring_enter(uring.ring.fd, uring.ring.filled, !more);

	XP_ASSERT(rc <= (int)uring.ring.filled);
	if (rc >= 0) {
		uring.ring.filled -= (unsigned)rc;
	} else if (rc != -EINTR) {
		uring_take_back();
		if (uring.jobs > 0)
			xp_sys_poll_wait(&ring, 1, XP_NEVER, NULL);
	}
	uring_reap();
}

/*
 * Do jobs until no job is in progress and xp_aio_next returns NULL, because no job has come for a
 * second or the last port was closed.  The poll of uring.call, by which other threads wake this
 * thread, may stay in the ring: it ends when the ring is closed.
 */
static void uring_run(void)
{
	uring_fill_all();
	while (uring.jobs > 0) {
		uring_submit_and_wait();
		uring_fill_all();
	}
	XP_ASSERT(uring.ring.filled == 0);
}

#else

static int uring_open(void)
{
	return -ENOTSUP;
}

static bool uring_usable(void)
{
	return false;
}

#endif

const struct xp_aio_provider xp_aio_uring = {
	.name = "io_uring",
	.threads = 1,
	.open = uring_open,
	.usable = uring_usable,
#ifdef XP_HAVE_URING
	.close = uring_close,
	.close_forked = uring_abandon,
	.run = uring_run,
	.call = uring_call,
#endif
};
