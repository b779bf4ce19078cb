/*
 * What the files of bench/ have of POSIX on Windows: a descriptor is a socket, in
 * an int, which holds every handle.
 */
#ifndef BENCH_NT_H
#define BENCH_NT_H

#include <winsock2.h>

#include <sys/types.h>

ssize_t bench_nt_read(int fd, void *buffer, size_t size);
ssize_t bench_nt_write(int fd, const void *buffer, size_t size);
int bench_nt_close(int fd);
int bench_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms);
int bench_nt_rename(const char *from, const char *to); /* replaces, as POSIX does */
int bench_nt_no_pipe(void); /* -1/ENOSYS: no call waits for pipes */

/* A value of WSAGetLastError as an errno value. */
int bench_nt_error(int error);

#endif
