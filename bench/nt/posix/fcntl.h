/* What nothing is opened with here; of files that alone is asked for. */
#ifndef BENCH_NT_FCNTL_H
#define BENCH_NT_FCNTL_H

#include_next <fcntl.h>

#define O_CLOEXEC  0
#define O_NONBLOCK 0

#endif
