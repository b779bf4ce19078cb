/*
 * Handles, and the calls of ntdll behind sockets: polls of the driver AFD, which is what
 * select and WSAPoll are made of.  The documented interface ends above it; the
 * values are those that every Windows since XP has, and Wine.
 */
#ifndef XP_WINDOWS_NT_H
#define XP_WINDOWS_NT_H

#include <winsock2.h>

#include <windows.h>
#include <winternl.h>

#include <stdbool.h>
#include <stdint.h>

#include "sys/fdnum.h"

/* Headers that have it and winternl.h cannot be included together. */
#ifndef STATUS_CANCELLED
#define STATUS_CANCELLED ((NTSTATUS)0xC0000120)
#endif

/* Returns the handle of a descriptor number. */
HANDLE xp_nt_handle(int fd);

/* FILE_TYPE_DISK, FILE_TYPE_CHAR, FILE_TYPE_PIPE, as sockets are, too; -EBADF. */
int xp_nt_file_type(int fd);

bool xp_nt_is_socket(int fd);

/* How a wait that succeeds changes the object that it waited for. */
enum xp_nt_wait {
	XP_NT_WAIT_READS, /* not at all: processes, threads, jobs, manual-reset events */
	/*
	 * The object is not signalled any more, or one time less: auto-reset events, semaphores,
	 * and timers, which do not show whether they reset themselves.
	 */
	XP_NT_WAIT_TAKES,
};
/*
 * Returns an enum xp_nt_wait; -EBADF: not an open handle; -ENOTSUP: of an object that a thread
 * would own, such as a mutex, or that nothing can wait for, and of files and sockets.
 */
int xp_nt_wait_kind(int fd);
/* Returns true if both handles refer to the same object; false if one is not open. */
bool xp_nt_is_same(HANDLE first, HANDLE second);

/* Input of a console?  As an object it is signalled while there is some. */
bool xp_nt_is_console(int fd);
/*
 * Bytes to be read from a pipe; -EPIPE: they are read, and its other end is
 * closed; -EBADF: it is not open for reading.
 */
int64_t xp_nt_pipe_unread(int fd);
/* The bits of poll(2) of what is no socket. */
uint32_t xp_nt_file_probe(int fd);

/* The bits that a poll of the driver requests and reports. */
enum {
	XP_AFD_RECEIVE = 0x0001,
	XP_AFD_RECEIVE_OOB = 0x0002,
	XP_AFD_SEND = 0x0004,
	XP_AFD_DISCONNECT = 0x0008, /* the peer sends no more */
	XP_AFD_ABORT = 0x0010,
	XP_AFD_LOCAL_CLOSE = 0x0020,
	XP_AFD_ACCEPT = 0x0080,
	XP_AFD_CONNECT_FAIL = 0x0100,
};

struct xp_afd_handle {
	HANDLE handle;
	ULONG events;
	LONG status;
};

/* The driver's argument, and its answer. */
struct xp_afd_poll {
	LARGE_INTEGER timeout; /* negative: relative, in 100 ns */
	ULONG count;
	ULONG exclusive;
	struct xp_afd_handle handles[1]; /* there may be more of them */
};

/* Bits of poll(2), as what a poll asks for, and back. */
ULONG xp_afd_wanted(uint32_t events);
uint32_t xp_afd_poll_bits(ULONG reported);

/*
 * Open the driver.  Its polls end as packets of this completion port; NULL: it
 * is for polls that do not wait.  0 or a negative errno value.
 */
int xp_nt_open_afd(HANDLE port, HANDLE *afd);

/*
 * Begin a poll: 0, -EBADF ...  argument: a struct xp_afd_poll of that size.  On
 * a port, a packet with `context` comes even if it has ended at once; until then
 * the two structures are the driver's.
 */
int xp_nt_poll(HANDLE afd, void *argument, ULONG size, IO_STATUS_BLOCK *status,
               void *context);
/* End it early: the packet comes. */
void xp_nt_poll_cancel(HANDLE afd, IO_STATUS_BLOCK *status);

/*
 * Look at up to XP_AFD_PROBE_MOST sockets, without waiting: what holds of what is
 * asked for replaces `events`.  -EBADF: one of them is none.
 */
enum { XP_AFD_PROBE_MOST = 64 };
int xp_nt_probe(struct xp_afd_handle *handles, int count);

/*
 * The handle that the driver knows, below what providers have put on top of
 * it; INVALID_HANDLE_VALUE: not a socket.
 */
HANDLE xp_nt_base(SOCKET socket);

/* A value of GetLastError or WSAGetLastError, as a negative errno value. */
int xp_nt_error(DWORD error);

#endif
