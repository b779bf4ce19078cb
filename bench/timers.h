/*
 * timers: a million of them, armed, cancelled, expired.
 *
 * The timers of a server with many connections: each has a timeout that is
 * seldom reached.  In a pass all of them are armed, to random times more than
 * an hour ahead; cancelled, in another order; armed again, to random times
 * within the next half second at most; and when the last one is due, all are
 * taken.  Three phases are measured; arming for the last one, and waiting, are
 * not.
 */
#ifndef BENCH_TIMERS_H
#define BENCH_TIMERS_H

#include <stdint.h>

#include "bench.h"

#define TIMERS_FAR_NS  (INT64_C(3600) * 1000000000)

enum timers_phase { TIMERS_ARM, TIMERS_CANCEL, TIMERS_EXPIRE, TIMERS_PHASES };

struct timers {
	int n;
	uint32_t *order;  /* of cancelling */
	uint32_t *delays; /* ns, less than near_ns */
	uint32_t near_ns;
};

/*
 * What a variant does.  Each function returns 0 or -errno, and all but take
 * go through all timers.  far: add TIMERS_FAR_NS to the delays.
 */
struct timers_steps {
	int (*arm)(void *state, bool far);
	int (*cancel)(void *state);
	int (*take)(void *state); /* until all have expired */
	uint64_t (*syscalls)(const void *state);
};

extern const struct bench_workload bench_timers;

extern const struct bench_ops timers_queue_ops;
extern const struct bench_ops timers_libevent_ops;
extern const struct bench_ops timers_libuv_ops;

/* One pass; memory_before: what was in use before the variant was opened. */
int timers_pass(const struct timers *test, const struct timers_steps *steps,
                void *state, uint64_t memory_before,
                struct bench_sample *samples);

#endif
