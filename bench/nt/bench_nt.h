/*
 * What the files of bench/ have of POSIX on Windows: a descriptor is a socket, in an
 * int, which holds every handle.  The compiler includes this before any of them.
 */
#ifndef BENCH_NT_H
#define BENCH_NT_H

#include <winsock2.h>
#include <ws2tcpip.h>
#include <mswsock.h>
#include <windows.h>
#include <winternl.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

typedef unsigned long nfds_t;

ssize_t bench_nt_read(int fd, void *buffer, size_t size);
ssize_t bench_nt_write(int fd, const void *buffer, size_t size);
int bench_nt_close(int fd);
int bench_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms);
int bench_nt_rename(const char *from, const char *to); /* replaces, as POSIX does */
int bench_nt_no_pipe(void); /* -1/ENOSYS: no call waits for pipes */

/* A value of WSAGetLastError as an errno value. */
int bench_nt_error(int error);

/* Nothing is opened with these here; of files that alone is asked for. */
#define O_CLOEXEC  0
#define O_NONBLOCK 0

#define read(fd, buffer, size)        bench_nt_read(fd, buffer, size)
#define write(fd, buffer, size)       bench_nt_write(fd, buffer, size)
/* Members of this name, too: a call of one looks like this one. */
#define close                         bench_nt_close
#define poll(fds, count, timeout_ms)  bench_nt_poll(fds, count, timeout_ms)
#define pipe2(ends, flags)            ((void)(ends), bench_nt_no_pipe())
#define rename(from, to)              bench_nt_rename(from, to)
/* A path from the root, whether there is such a file or not. */
#define realpath(path, resolved)      _fullpath(resolved, path, 0)

#endif
