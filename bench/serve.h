/*
 * serve: k active descriptors among n, in rounds.
 *
 * In a round k of n pipes get a byte each; the program waits until it has read
 * them all.  The active ones are spread evenly over the pipes and stay the same.
 * The workloads active, idle, edge and dispatch are this program; what differs
 * is k and how the descriptors are registered.  drop-in uses its pipes.
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include "loop.h"

#define SERVE_PHASES_MAX 3
#define SERVE_ACTIVE_MAX 256
#define SERVE_IDLE_ACTIVE 10 /* those of the workloads idle and drop-in */

/* What one of the workloads wants. */
struct serve_plan {
	enum bench_pair_kind kind;
	short events;
	unsigned mode;                 /* LOOP_LEVEL, LOOP_EDGE, LOOP_DISPATCH */
	int active[SERVE_PHASES_MAX];  /* k in each phase */
};

struct serve {
	const struct serve_plan *plan;
	struct loop_field *field;
	const char *library; /* for drop-in */
};

extern const struct bench_workload bench_active;
extern const struct bench_workload bench_idle;
extern const struct bench_workload bench_edge;
extern const struct bench_workload bench_dispatch;

extern const struct bench_ops serve_ops;
extern const struct bench_variant serve_limit;

/* 0 or -errno, with a message. */
int serve_open_setup(const struct bench_workload *workload, const struct serve_plan *plan,
                     int n, void **setup);
void serve_close_setup(void *setup);

/* k of this phase, at most n. */
static inline int serve_active(const struct serve *test, int phase)
{
	int k = test->plan->active[phase];

	return k < test->field->pairs.len ? k : test->field->pairs.len;
}

/* A byte into each of k pipes; 0 or -errno. */
int serve_write(const struct serve *test, int k);

#endif
