/*
 * The records that the kernel writes of tasks: one ring per processor and
 * queue, read in the order of time (proc_perf_ring.c), and what they mean
 * (proc_perf.c).
 */
#ifndef XP_LINUX_PROC_PERF_H
#define XP_LINUX_PROC_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"

struct xp_perf_ring {
	struct xp_source_fd watch; /* the owner: an event of our own; -1: CPU off */
	int cpu;
	struct perf_event_mmap_page *page;
	uint64_t tail; /* read up to here */
	uint64_t due;  /* what was there at the first look */
	uint64_t head; /* and at the second one */
	uint64_t time; /* of the record at the tail, if there is one */
};

struct xp_perf_rings {
	struct xp_perf_ring *rings;
	int len;
	size_t data_size; /* a power of two */
	bool lost;        /* records may be missing */
};

/* A record, as far as it is known. */
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
/* `forked`: the mappings are not the child's. */
void xp_perf_rings_close(struct xp_perf_rings *rings, bool forked);

int xp_perf_rings_watch(struct xpoll *queue, struct xp_perf_rings *rings,
                        void (*ready)(struct xpoll *queue,
                                      struct xp_source_fd *watch));
void xp_perf_rings_unwatch(struct xpoll *queue, struct xp_perf_rings *rings);

/* Look again at what is there; false: nothing new. */
bool xp_perf_rings_look(struct xp_perf_rings *rings);
/* The next of it in the order of time; false: look again. */
bool xp_perf_rings_next(struct xp_perf_rings *rings,
                        struct xp_perf_record *record);

/* The thread that owned the ring may have ended: then another has to. */
void xp_perf_ring_keep(struct xpoll *queue, struct xp_perf_ring *ring);

#endif
