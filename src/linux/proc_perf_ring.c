/*
 * Rings of perf records.
 *
 * The kernel writes records about a thread into the ring of the processor on which it runs.  Each
 * ring is mapped through an event of our own that records nothing, called its owner; the events of
 * watched threads are redirected to it.  So there is one ring per processor, however many threads
 * are watched.
 *
 * Order: the kernel commits the record of a cause before those of its effects, for example a fork
 * before anything that the child does.  The positions of all rings are read twice.  Records are
 * used in the order of time until all that the first reading found are used.  Records that only the
 * second reading found are used as well if they are older than one of those.  So each record comes
 * after its cause, which was in a ring by the second reading.
 */
#include "linux/proc_perf.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "linux/sys_linux.h"
#include "linux/sys_perf.h"
#include "sys/sys.h"

enum {
	/*
	 * Bytes of each ring: about 1600 forks.  Halved while the limit of locked memory is too
	 * low.
	 */
	RING_BYTES = 64 << 10,
	/* Bytes of the longest record that this file uses. */
	RECORD_MOST = 64,
};

void xp_perf_common(struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof *attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_type = PERF_SAMPLE_TIME;
	attr->sample_id_all = 1;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	/* Make the descriptor readable at each record. */
	attr->watermark = 1;
	attr->wakeup_watermark = 1;
	/* Order records of different rings by a clock that is the same on all processors. */
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

/*
 * Open an event that records nothing, of a thread of this process, through which a ring is mapped.
 */
static int ring_open_event(int cpu, pid_t thread)
{
	struct perf_event_attr attr;

	xp_perf_common(&attr);
	attr.disabled = 1;
	return xp_sys_perf_open(&attr, thread, cpu);
}

/*
 * Open and map a ring through an event of the process's first thread, which mostly lives as long as
 * the process; if that thread has exited, through an event of the calling thread.  If the processor
 * is off, the ring's descriptor stays -1.
 */
static int ring_open(struct xp_perf_ring *ring, size_t data_size)
{
	void *memory;
	int fd = ring_open_event(ring->cpu, getpid());
	int rc;

	if (fd == -ESRCH)
		fd = ring_open_event(ring->cpu, 0);
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	rc = xp_sys_map(fd, xp_sys_page_size() + data_size, 0, &memory);
	if (rc < 0) {
		xp_sys_close(fd);
		return rc;
	}
	ring->watch.fd = fd;
	ring->page = memory;
	return 0;
}

static void ring_close(struct xp_perf_ring *ring, size_t data_size, bool forked)
{
	if (ring->watch.fd < 0)
		return;
	if (!forked)
		xp_sys_unmap(ring->page, xp_sys_page_size() + data_size);
	xp_sys_close(ring->watch.fd);
	ring->watch.fd = -1;
}

static void rings_close(struct xp_perf_rings *rings, bool forked)
{
	for (int i = 0; i < rings->len; i++)
		ring_close(&rings->rings[i], rings->data_size, forked);
}

static int rings_open_with_size(struct xp_perf_rings *rings, size_t data_size)
{
	int rc = 0;

	rings->data_size = data_size;
	for (int i = 0; i < rings->len && rc == 0; i++)
		rc = ring_open(&rings->rings[i], data_size);
	if (rc < 0)
		rings_close(rings, false);
	return rc;
}

int xp_perf_rings_open(struct xp_perf_rings *rings)
{
	size_t size = RING_BYTES;
	int rc;

	rings->len = xp_sys_cpus();
	rings->rings = xp_zalloc((size_t)rings->len * sizeof *rings->rings);
	if (!rings->rings)
		return -ENOMEM;
	for (int i = 0; i < rings->len; i++) {
		rings->rings[i].cpu = i;
		rings->rings[i].watch.fd = -1;
	}
	/* The kernel returns EPERM if too much memory is locked already: try half the size. */
	for (rc = rings_open_with_size(rings, size);
	     (rc == -EPERM || rc == -ENOMEM) && size > xp_sys_page_size();
	     rc = rings_open_with_size(rings, size))
		size /= 2;
	if (rc < 0) {
		xp_free(rings->rings);
		rings->rings = NULL;
	}
	return rc;
}

void xp_perf_rings_close(struct xp_perf_rings *rings, bool forked)
{
	rings_close(rings, forked);
	xp_free(rings->rings);
	rings->rings = NULL;
}

void xp_perf_rings_unwatch(struct xpoll *queue, struct xp_perf_rings *rings)
{
	for (int i = 0; i < rings->len; i++)
		if (rings->rings[i].watch.ready)
			xp_host.unwatch(queue, &rings->rings[i].watch);
}

int xp_perf_rings_watch(struct xpoll *queue, struct xp_perf_rings *rings,
                        void (*ready)(struct xpoll *queue,
                                      struct xp_source_fd *watch))
{
	int rc = 0;

	for (int i = 0; i < rings->len && rc == 0; i++) {
		struct xp_source_fd *watch = &rings->rings[i].watch;

		if (watch->fd < 0)
			continue;
		rc = xp_host.watch(queue, watch);
		if (rc == 0)
			watch->ready = ready;
	}
	if (rc < 0)
		xp_perf_rings_unwatch(queue, rings);
	return rc;
}

/* Copy `size` bytes from position `at` of the ring, across the ring's end if necessary. */
static void ring_copy(const struct xp_perf_rings *rings,
                      const struct xp_perf_ring *ring, uint64_t at,
                      void *buffer, size_t size)
{
	const char *data = (const char *)ring->page + xp_sys_page_size();
	size_t start = (size_t)(at & (rings->data_size - 1));
	size_t first = rings->data_size - start;

	if (first > size)
		first = size;
	memcpy(buffer, data + start, first);
	memcpy((char *)buffer + first, data, size - first);
}

static struct perf_event_header ring_header(const struct xp_perf_rings *rings,
                                            const struct xp_perf_ring *ring)
{
	struct perf_event_header header;

	ring_copy(rings, ring, ring->tail, &header, sizeof header);
	XP_ASSERT(header.size >= sizeof header + sizeof(uint64_t));
	XP_ASSERT(header.size % 8 == 0);
	return header;
}

/* Store the time of the next record to read, which is the record's last field, in ring->time. */
static void ring_update_time(const struct xp_perf_rings *rings,
                             struct xp_perf_ring *ring)
{
	struct perf_event_header header;

	if (ring->tail == ring->head)
		return;
	header = ring_header(rings, ring);
	ring_copy(rings, ring, ring->tail + header.size - sizeof ring->time,
	          &ring->time, sizeof ring->time);
}

static uint64_t ring_head(const struct xp_perf_ring *ring)
{
	const _Atomic __u64 *head =
		(const _Atomic __u64 *)(const void *)&ring->page->data_head;

	return atomic_load_explicit(head, memory_order_acquire);
}

/* Let the kernel overwrite the records before the tail. */
static void ring_release(const struct xp_perf_ring *ring)
{
	_Atomic __u64 *tail = (_Atomic __u64 *)(void *)&ring->page->data_tail;

	atomic_store_explicit(tail, ring->tail, memory_order_release);
}

bool xp_perf_rings_snapshot(struct xp_perf_rings *rings)
{
	bool more = false;

	for (int i = 0; i < rings->len; i++) {
		struct xp_perf_ring *ring = &rings->rings[i];

		if (ring->watch.fd < 0)
			continue;
		ring->first_head = ring_head(ring);
		more = more || ring->first_head != ring->tail;
	}
	if (!more)
		return false;
	for (int i = 0; i < rings->len; i++) {
		struct xp_perf_ring *ring = &rings->rings[i];

		if (ring->watch.fd < 0)
			continue;
		ring->head = ring_head(ring);
		ring_update_time(rings, ring);
	}
	return true;
}

/*
 * Returns the ring whose next record is the oldest; NULL: all records that xp_perf_rings_snapshot
 * found in its first reading of the positions (up to ring->first_head) were taken.
 */
static struct xp_perf_ring *rings_oldest(struct xp_perf_rings *rings)
{
	struct xp_perf_ring *oldest = NULL;
	bool due = false;

	for (int i = 0; i < rings->len; i++) {
		struct xp_perf_ring *ring = &rings->rings[i];

		if (ring->watch.fd < 0 || ring->tail == ring->head)
			continue;
		due = due || (int64_t)(ring->first_head - ring->tail) > 0;
		if (!oldest || ring->time < oldest->time)
			oldest = ring;
	}
	return due ? oldest : NULL;
}

bool xp_perf_rings_next(struct xp_perf_rings *rings,
                        struct xp_perf_record *record)
{
	struct xp_perf_ring *ring = rings_oldest(rings);
	size_t size;

	if (!ring)
		return false;
	memset(record, 0, sizeof *record);
	record->header = ring_header(rings, ring);
	size = record->header.size - sizeof record->time;
	if (size > offsetof(struct xp_perf_record, time))
		size = offsetof(struct xp_perf_record, time);
	ring_copy(rings, ring, ring->tail, record, size);
	record->time = ring->time;
	/*
	 * If the ring is nearly full, assume a loss: the kernel reports a loss only together with
	 * the next record, which may never come.
	 */
	if (ring_head(ring) - ring->tail > rings->data_size - RECORD_MOST)
		rings->lost = true;
	ring->tail += record->header.size;
	ring_release(ring);
	ring_update_time(rings, ring);
	return true;
}

void xp_perf_ring_renew_owner(struct xpoll *queue, struct xp_perf_ring *ring)
{
	/*
	 * This poll(2) consumes the readiness of the event, so no later wait reports the present
	 * records: the caller must read them after this call.
	 */
	struct pollfd look = {.fd = ring->watch.fd, .events = POLLIN};
	struct xp_source_fd old = ring->watch;
	int fd;

	if (xp_sys_poll_now(&look, 1) <= 0 || !(look.revents & POLLHUP))
		return;
	fd = ring_open_event(ring->cpu, 0);
	if (fd >= 0 && xp_sys_perf_redirect(fd, old.fd) < 0) {
		xp_sys_close(fd);
		fd = -1;
	}
	if (fd < 0)
		return; /* no free descriptor, for example: the next call tries again */
	xp_host.unwatch(queue, &ring->watch);
	ring->watch.fd = fd;
	if (xp_host.watch(queue, &ring->watch) < 0)
		ring->watch.ready = NULL;
	xp_sys_close(old.fd);
}
