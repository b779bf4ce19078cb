/*
 * What kqueue-change compares kevent(2) with, where there is such a thing.
 */
#ifndef BENCH_KQUEUE_CHANGE_H
#define BENCH_KQUEUE_CHANGE_H

#include "bench.h"

extern const struct bench_variant kqueue_change_peers[];

#endif
