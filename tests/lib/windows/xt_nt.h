/*
 * Functions of POSIX for the harness on Windows.  A descriptor is a socket, stored in an int, which
 * is wide enough for every handle.  A pipe is a connection over loopback.
 */
#ifndef XT_NT_H
#define XT_NT_H

#include <winsock2.h>
#include <ws2tcpip.h>

#include <sys/types.h>

#undef DELETE

int xt_nt_read(int fd, void *buffer, size_t size);
int xt_nt_write(int fd, const void *buffer, size_t size);
int xt_nt_close(int fd);
int xt_nt_connect(int fd, const struct sockaddr *address, int size);
int xt_nt_flags(int fd, int command, ...); /* returns 0; -1: fd is not open */
int xt_nt_pipe(int ends[2]);
int xt_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms);

/* These functions end the test as skipped. */
int xt_nt_mkfifo(const char *path);
int xt_nt_no_limit(int which, const void *limit);
int xt_nt_sigaction(int number, const void *action, void *old);

#endif
