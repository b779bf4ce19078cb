/*
 * Records that the kernel writes about tasks: one ring per processor and queue, read in the order
 * of time (proc_perf_ring.c), and their meaning (proc_perf.c).
 */
#ifndef XP_LINUX_PROC_PERF_H
#define XP_LINUX_PROC_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"

struct xp_perf_ring {
	/* our own event, through which the ring is mapped; -1: the processor is off */
	struct xp_source_fd watch;
	int cpu;
	struct perf_event_mmap_page *page;
	uint64_t tail; /* end of the records that were used */
	uint64_t due;  /* end of the records that the first reading found */
	uint64_t head; /* end of the records that the second reading found */
	uint64_t time; /* time of the record at the tail, if any */
};

struct xp_perf_rings {
	struct xp_perf_ring *rings;
	int len;
	size_t data_size; /* a power of two */
	bool lost;        /* records may be missing */
};

/* The part of a record that is used here. */
struct xp_perf_record {
	struct perf_event_header header;
	union {
		struct {
			uint32_t pid;
			uint32_t ppid;
			uint32_t tid;
			uint32_t ptid;
		} task; /* PERF_RECORD_FORK, EXIT */
		struct {
			uint32_t pid;
			uint32_t tid;
		} comm;
		char bytes[56];
	} u;
	uint64_t time;
};

/* Set the attributes that all events of a ring have in common. */
void xp_perf_common(struct perf_event_attr *attr);

/* -EPERM, -ENOTSUP, -EMFILE ... */
int xp_perf_rings_open(struct xp_perf_rings *rings);
/* Close the rings.  forked: the child has no mappings of them. */
void xp_perf_rings_close(struct xp_perf_rings *rings, bool forked);

int xp_perf_rings_watch(struct xpoll *queue, struct xp_perf_rings *rings,
                        void (*ready)(struct xpoll *queue,
                                      struct xp_source_fd *watch));
void xp_perf_rings_unwatch(struct xpoll *queue, struct xp_perf_rings *rings);

/* Read the positions of all rings again.  Returns false if there is no new record. */
bool xp_perf_rings_look(struct xp_perf_rings *rings);
/* Take the next record in the order of time.  Returns false if the rings have to be read again. */
bool xp_perf_rings_next(struct xp_perf_rings *rings,
                        struct xp_perf_record *record);

/* Open the ring's event for another thread, if the thread that it was for may have ended. */
void xp_perf_ring_keep(struct xpoll *queue, struct xp_perf_ring *ring);

#endif
