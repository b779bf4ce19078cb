/* read, write and close are the sockets' here: see ../bench_nt.h. */
#ifndef BENCH_NT_UNISTD_H
#define BENCH_NT_UNISTD_H

#include_next <unistd.h>

#include <bench_nt.h>

#define read(fd, buffer, size)  bench_nt_read(fd, buffer, size)
#define write(fd, buffer, size) bench_nt_write(fd, buffer, size)
/* Members of this name, too: a call of one looks like this one. */
#define close bench_nt_close
#define pipe2(ends, flags)      ((void)(ends), bench_nt_no_pipe())

#endif
