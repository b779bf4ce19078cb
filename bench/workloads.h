/*
 * The workloads that are one file each.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include "bench.h"

extern const struct bench_workload bench_costs;
extern const struct bench_workload bench_wake;
extern const struct bench_workload bench_threads;
extern const struct bench_workload bench_churn;
extern const struct bench_workload bench_memory;
extern const struct bench_workload bench_kqueue;
extern const struct bench_workload bench_kqueue_change;

#endif
