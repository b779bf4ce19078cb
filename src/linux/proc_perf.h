/*
 * The perf tracer gets forks, execs and exits from records that the kernel writes about threads
 * into rings, one per processor and queue.  proc_perf_ring.c reads the rings in the order of time,
 * and proc_perf.c interprets the records.
 */
#ifndef XP_LINUX_PROC_PERF_H
#define XP_LINUX_PROC_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"

struct xp_perf_ring {
	/*
	 * a perf event of this process, through which the ring is mapped; fd -1: the processor is
	 * off
	 */
	struct xp_source_fd watch;
	int cpu;
	/* the mapping: a page with the positions, then the records */
	struct perf_event_mmap_page *page;
	uint64_t tail; /* position (in bytes) of the next record to read */
	/*
	 * position behind the records to take now, found by the first of two readings of all rings'
	 * positions
	 */
	uint64_t first_head;
	/*
	 * position behind the records of the second reading: those after `first_head` are taken
	 * now, too, if they are older than another record to take, because an older record may be
	 * about the cause of a later one
	 */
	uint64_t head;
	/* time of the next record to read, if there is one: CLOCK_MONOTONIC, in nanoseconds */
	uint64_t time;
};

struct xp_perf_rings {
	struct xp_perf_ring *rings; /* indexed by processor */
	int len;          /* number of rings: one for each processor, also for those that are off */
	size_t data_size; /* bytes of records in each ring, a power of two */
	bool lost;        /* records may have been lost, which perf_drain has not reported yet */
};

/* The parts of a kernel's record that are used here. */
struct xp_perf_record {
	struct perf_event_header header;
	union {
		struct {
			uint32_t pid;
			uint32_t ppid;
			uint32_t tid;
			uint32_t ptid;
		} task; /* of PERF_RECORD_FORK and PERF_RECORD_EXIT */
		struct {
			uint32_t pid;
			uint32_t tid;
		} comm;
		char bytes[56];
	} u;
	uint64_t time;
};

/* Set the attributes that all events of a ring must have in common. */
void xp_perf_common(struct perf_event_attr *attr);

/* Open a ring for each processor.  Returns 0; -EPERM, -ENOTSUP, -EMFILE ... */
int xp_perf_rings_open(struct xp_perf_rings *rings);
/* Close the rings.  forked: true in a forked child, where the rings are not mapped. */
void xp_perf_rings_close(struct xp_perf_rings *rings, bool forked);

/* Make the queue watch all rings; `ready` is called when one is readable. */
int xp_perf_rings_watch(struct xpoll *queue, struct xp_perf_rings *rings,
                        void (*ready)(struct xpoll *queue,
                                      struct xp_source_fd *watch));
/* Undo xp_perf_rings_watch; harmless for a ring that is not watched. */
void xp_perf_rings_unwatch(struct xpoll *queue, struct xp_perf_rings *rings);

/*
 * Read the positions of all rings twice (proc_perf_ring.c).  Returns false if there is no new
 * record.
 */
bool xp_perf_rings_snapshot(struct xp_perf_rings *rings);
/*
 * Take the oldest record of all rings.  Returns false when all that xp_perf_rings_snapshot found in
 * its first reading were taken, because the order of later ones is not certain: call
 * xp_perf_rings_snapshot again.
 */
bool xp_perf_rings_next(struct xp_perf_rings *rings,
                        struct xp_perf_record *record);

/*
 * Call when the ring is readable.  Consumes the readiness: read the ring afterwards.  If the thread
 * that owns the ring's event may have ended (POLLHUP), an event of the calling thread replaces it.
 */
void xp_perf_ring_renew_owner(struct xpoll *queue, struct xp_perf_ring *ring);

#endif
