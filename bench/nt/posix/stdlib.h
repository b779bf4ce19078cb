/* A path from the root, whether there is such a file or not. */
#ifndef BENCH_NT_STDLIB_H
#define BENCH_NT_STDLIB_H

#include_next <stdlib.h>

#define realpath(path, resolved) _fullpath(resolved, path, 0)

#endif
