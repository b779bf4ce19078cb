/* Polls of the driver AFD, and their results as bits of poll(2). */
#include "windows/nt.h"

#include <errno.h>
#include <mswsock.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <xpoll.h>

#include "base/assert.h"

enum {
	AFD_IOCTL_POLL = 0x00012024,
	NT_FILE_OPEN = 1,
	NT_SYNCHRONOUS = 0x20, /* every call on the handle is synchronous */
};

/* Every poll requests these bits: otherwise a poll of a dead socket would never complete. */
#define AFD_ALWAYS (XP_AFD_ABORT | XP_AFD_LOCAL_CLOSE | XP_AFD_CONNECT_FAIL)

NTSYSAPI NTSTATUS NTAPI NtCancelIoFileEx(HANDLE file, IO_STATUS_BLOCK *which,
                                         IO_STATUS_BLOCK *status);

ULONG xp_afd_from_poll_bits(uint32_t events)
{
	ULONG wanted = AFD_ALWAYS;

	if (events & POLLIN)
		wanted |= XP_AFD_RECEIVE | XP_AFD_ACCEPT | XP_AFD_DISCONNECT;
	if (events & POLLRDHUP)
		wanted |= XP_AFD_DISCONNECT;
	if (events & POLLOUT)
		wanted |= XP_AFD_SEND;
	if (events & POLLPRI)
		wanted |= XP_AFD_RECEIVE_OOB;
	return wanted;
}

uint32_t xp_afd_to_poll_bits(ULONG reported)
{
	uint32_t events = 0;

	if (reported & XP_AFD_LOCAL_CLOSE)
		return POLLNVAL;
	if (reported & (XP_AFD_RECEIVE | XP_AFD_ACCEPT))
		events |= POLLIN;
	if (reported & XP_AFD_SEND)
		events |= POLLOUT;
	if (reported & XP_AFD_RECEIVE_OOB)
		events |= POLLPRI;
	if (reported & XP_AFD_DISCONNECT)
		events |= POLLIN | POLLRDHUP;
	/* After a reset reads and writes fail at once: report both, like other systems. */
	if (reported & XP_AFD_ABORT)
		events |= POLLIN | POLLRDHUP | POLLOUT | POLLHUP;
	if (reported & XP_AFD_CONNECT_FAIL)
		events |= POLLIN | POLLRDHUP | POLLOUT | POLLERR | POLLHUP;
	return events;
}

int xp_nt_to_errno(DWORD error)
{
	switch (error) {
	case ERROR_INVALID_HANDLE:
	case WSAENOTSOCK:
	case WSAEBADF:
		return -EBADF;
	case ERROR_NOT_ENOUGH_MEMORY:
	case ERROR_OUTOFMEMORY:
	case ERROR_NO_SYSTEM_RESOURCES:
	case WSAENOBUFS:
		return -ENOMEM;
	case ERROR_TOO_MANY_OPEN_FILES:
	case WSAEMFILE:
		return -EMFILE;
	case ERROR_ACCESS_DENIED:
	case ERROR_LOCK_VIOLATION:
		return -EACCES;
	case ERROR_DISK_FULL:
	case ERROR_HANDLE_DISK_FULL:
		return -ENOSPC;
	case ERROR_INVALID_PARAMETER:
		return -EINVAL;
	case ERROR_FILE_NOT_FOUND:
	case ERROR_PATH_NOT_FOUND:
	case ERROR_NOT_SUPPORTED:
	case ERROR_CALL_NOT_IMPLEMENTED:
		return -ENOSYS;
	default:
		return -EIO;
	}
}

static int nt_status_to_errno(NTSTATUS status)
{
	return status >= 0 ? 0 : xp_nt_to_errno(RtlNtStatusToDosError(status));
}

int xp_nt_open_afd(HANDLE port, HANDLE *afd)
{
	/* The driver accepts any name below \Device\Afd. */
	static WCHAR name[] = L"\\Device\\Afd\\Xpoll";
	UNICODE_STRING string = {
		.Length = sizeof name - sizeof *name,
		.MaximumLength = sizeof name,
		.Buffer = name,
	};
	OBJECT_ATTRIBUTES attributes = {
		.Length = sizeof attributes,
		.ObjectName = &string,
	};
	IO_STATUS_BLOCK status;
	int rc = nt_status_to_errno(NtCreateFile(afd, SYNCHRONIZE, &attributes, &status,
	                                         NULL, 0,
	                                         FILE_SHARE_READ | FILE_SHARE_WRITE,
	                                         NT_FILE_OPEN, port ? 0 : NT_SYNCHRONOUS,
	                                         NULL, 0));

	if (rc < 0)
		return rc;
	if (port && !CreateIoCompletionPort(*afd, port, 0, 0)) {
		rc = xp_nt_to_errno(GetLastError());
		CloseHandle(*afd);
	}
	return rc;
}

int xp_nt_poll(HANDLE afd, void *argument, ULONG size, IO_STATUS_BLOCK *status,
               void *context)
{
	status->Status = STATUS_PENDING;
	return nt_status_to_errno(NtDeviceIoControlFile(afd, NULL, NULL, context, status,
	                                                AFD_IOCTL_POLL, argument, size,
	                                                argument, size));
}

void xp_nt_poll_cancel(HANDLE afd, IO_STATUS_BLOCK *status)
{
	IO_STATUS_BLOCK own;

	/*
	 * The call fails if the poll has completed meanwhile; then the poll's packet was sent
	 * already.
	 */
	(void)NtCancelIoFileEx(afd, status, &own);
}

HANDLE xp_nt_base(SOCKET socket)
{
	SOCKET base = INVALID_SOCKET;
	DWORD size;

	if (WSAIoctl(socket, SIO_BASE_HANDLE, NULL, 0, &base, sizeof base, &size,
	             NULL, NULL) != 0)
		return INVALID_HANDLE_VALUE;
	return (HANDLE)base;
}

/* Polls of sockets without waiting --------------------------------------------------- */

static INIT_ONCE probe_once = INIT_ONCE_STATIC_INIT;
/* handle for all queues of the process; NULL: the driver cannot be opened */
static HANDLE probe_afd;

static BOOL CALLBACK probe_open(PINIT_ONCE once, void *argument, void **context)
{
	(void)once, (void)argument, (void)context;
	if (xp_nt_open_afd(NULL, &probe_afd) < 0)
		probe_afd = NULL;
	return TRUE;
}

/* Like struct xp_afd_poll, but with room for many handles. */
struct probe {
	LARGE_INTEGER timeout;
	ULONG count;
	ULONG exclusive;
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
};

int xp_nt_probe(struct xp_afd_handle *handles, int count)
{
	struct probe probe = {.count = (ULONG)count};
	IO_STATUS_BLOCK status;
	ULONG reported;
	int rc;

	XP_ASSERT(count > 0 && count <= XP_AFD_PROBE_MOST);
	InitOnceExecuteOnce(&probe_once, probe_open, NULL, NULL);
	if (!probe_afd)
		return -ENOSYS;
	memcpy(probe.handles, handles, (size_t)count * sizeof *handles);
	rc = xp_nt_poll(probe_afd, &probe,
	                (ULONG)(offsetof(struct probe, handles) +
	                        (size_t)count * sizeof *handles),
	                &status, NULL);
	if (rc < 0)
		return rc;
	if (status.Status == STATUS_PENDING)
		(void)WaitForSingleObject(probe_afd, INFINITE);
	/* A status other than 0 means a timeout: no socket is ready, and the count is not set. */
	reported = status.Status == 0 ? probe.count : 0;
	/* The driver returns the ready handles in the order of the request. */
	for (int i = 0, k = 0; i < count; i++) {
		bool ready = k < (int)reported &&
			probe.handles[k].handle == handles[i].handle;

		handles[i].events = ready ? probe.handles[k++].events : 0;
	}
	return 0;
}
