/* rename replaces what has the name. */
#ifndef BENCH_NT_STDIO_H
#define BENCH_NT_STDIO_H

#include_next <stdio.h>

#include <bench_nt.h>

#define rename(from, to) bench_nt_rename(from, to)

#endif
