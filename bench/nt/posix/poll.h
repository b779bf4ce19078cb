/* poll(2) is WSAPoll. */
#ifndef BENCH_NT_POLL_H
#define BENCH_NT_POLL_H

#include <bench_nt.h>

typedef unsigned long nfds_t;

#define poll(fds, count, timeout_ms) bench_nt_poll(fds, count, timeout_ms)

#endif
