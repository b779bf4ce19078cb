/*
 * Handles, and the calls of ntdll behind sockets: polls of the driver AFD, which select and WSAPoll
 * use.  This interface is not documented; the values are the same in every Windows since XP, and in
 * Wine.
 */
#ifndef XP_WINDOWS_NT_H
#define XP_WINDOWS_NT_H

#include <winsock2.h>

#include <windows.h>
#include <winternl.h>

#include <stdbool.h>
#include <stdint.h>

#include "sys/fdnum.h"

/* The headers that define STATUS_CANCELLED cannot be included together with winternl.h. */
#ifndef STATUS_CANCELLED
#define STATUS_CANCELLED ((NTSTATUS)0xC0000120)
#endif

/* Returns the handle that a descriptor stands for (sys/fdnum.h). */
HANDLE xp_nt_handle(int fd);

/*
 * Returns FILE_TYPE_DISK, FILE_TYPE_CHAR or FILE_TYPE_PIPE (also for sockets); -EBADF: not open, or
 * an object of another kind.
 */
int xp_nt_file_type(int fd);

bool xp_nt_is_socket(int fd);

/* How a successful wait for an object changes the object. */
enum xp_nt_wait {
	/* The wait does not change the object: processes, threads, jobs, manual-reset events. */
	XP_NT_WAIT_READS,
	/*
	 * The wait takes the signal, or one of several, from the object: auto-reset events,
	 * semaphores, and all timers, because no call shows whether a timer resets itself.
	 */
	XP_NT_WAIT_TAKES,
};
/*
 * Returns an enum xp_nt_wait; -EBADF: not an open handle; -ENOTSUP: a file or socket, an object
 * that the waiting thread would own, such as a mutex, or one that no thread can wait for.
 */
int xp_nt_wait_kind(int fd);
/* Returns true if both handles refer to the same object; false if one is not open. */
bool xp_nt_is_same(HANDLE first, HANDLE second);

/* Returns true for the input of a console, a handle that is signalled while there is input. */
bool xp_nt_is_console(int fd);
/*
 * Returns the number of bytes to read from a pipe; -EPIPE: none, and the other end is closed;
 * -EBADF: closed, or not open for reading.
 */
int64_t xp_nt_pipe_unread(int fd);
/* Returns the bits of poll(2) for a handle that is not a socket. */
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
	ULONG events; /* the requested bits; in a result, those that are set */
	LONG status;  /* not used here */
};

/* The argument of a poll, which the driver overwrites with the result. */
struct xp_afd_poll {
	LARGE_INTEGER timeout; /* in units of 100 ns; negative: relative to now; 0: do not wait */
	ULONG count;
	ULONG exclusive; /* always 0 here */
	struct xp_afd_handle handles[1]; /* there are `count` of them */
};

/* Convert requested bits of poll(2) to those of the driver, and reported ones back. */
ULONG xp_afd_from_poll_bits(uint32_t events);
uint32_t xp_afd_to_poll_bits(ULONG reported);

/*
 * Open a handle of the driver.  Polls by the handle complete as packets of the completion port
 * `port`; NULL: the handle is for polls that do not wait.  Returns 0 or a negative errno value.
 */
int xp_nt_open_afd(HANDLE port, HANDLE *afd);

/*
 * Begin a poll.  argument: a struct xp_afd_poll, `size` bytes long.  If the handle has a port, a
 * packet with `context` comes even if the poll completes at once; until then the driver uses
 * `argument` and `status`.  Returns 0 or a negative errno value, for example -EBADF.
 */
int xp_nt_poll(HANDLE afd, void *argument, ULONG size, IO_STATUS_BLOCK *status,
               void *context);
/* Cancel a poll; its packet still comes. */
void xp_nt_poll_cancel(HANDLE afd, IO_STATUS_BLOCK *status);

/*
 * Poll up to XP_AFD_PROBE_MOST sockets without waiting: replaces the requested bits in `events` by
 * those that are set.  -EBADF: one is not a socket, or was closed; -ENOSYS: the driver cannot be
 * opened.
 */
enum { XP_AFD_PROBE_MOST = 64 };
int xp_nt_probe(struct xp_afd_handle *handles, int count);

/*
 * Returns the socket's handle in the driver, without the layers of providers; INVALID_HANDLE_VALUE:
 * not a socket.
 */
HANDLE xp_nt_base(SOCKET socket);

/* Converts a value of GetLastError or WSAGetLastError to a negative errno value. */
int xp_nt_to_errno(DWORD error);

#endif
