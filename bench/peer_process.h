/*
 * A peer that is a program: a process that does the work when it is asked to.
 * bench/peers/README.md says how it is asked.
 *
 * It is started when it is measured first, and stays until the end, so that it
 * need not warm up again in each round; while nobody asks it only sleeps.
 */
#ifndef BENCH_PEER_PROCESS_H
#define BENCH_PEER_PROCESS_H

#include "bench.h"

extern const struct bench_ops process_ops;

/* Is there such a program? */
bool process_find(const char *name);

/* End all of them. */
void process_end_all(void);

#endif
