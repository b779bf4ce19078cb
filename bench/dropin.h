/*
 * drop-in: ten active descriptors among n, and a program that polls them.
 *
 * The program is written for poll(2): in each round ten bytes arrive, it polls,
 * goes through its whole array, and reads where something is.  It is measured
 * on the kernel's poll(2) and on the drop-in's, which is the same program in
 * the same process, with another function behind the pointer.  Beside it the
 * same work written for epoll(7).
 */
#ifndef BENCH_DROPIN_H
#define BENCH_DROPIN_H

#include "serve.h"

extern const struct bench_workload bench_dropin;

extern const struct bench_ops dropin_real_ops;
extern const struct bench_ops dropin_poll_ops;
extern const struct bench_ops dropin_ideal_ops;

#endif
