/* The status of files, pipes and consoles, by their handles. */
#include <errno.h>
#include <poll.h>
#include <xpoll.h>

#include "base/time.h"
#include "sys/fskind.h"
#include "sys/sys.h"
#include "windows/nt.h"

/* Attributes whose change is reported.  ARCHIVE is left out, because each write sets it. */
#define NT_REPORTED_ATTRIBUTES                                   \
	(FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN |       \
	 FILE_ATTRIBUTE_SYSTEM | FILE_ATTRIBUTE_TEMPORARY |      \
	 FILE_ATTRIBUTE_OFFLINE | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED)

/*
 * Convert a time in units of 100 ns since 1601; the epoch stays, because times are only compared.
 */
static struct timespec nt_file_time(int64_t ticks)
{
	int64_t per_second = XP_NS_PER_SEC / 100;

	return (struct timespec){
		.tv_sec = (time_t)(ticks / per_second),
		.tv_nsec = (long)(ticks % per_second * 100),
	};
}

static int64_t nt_join_halves(DWORD high, DWORD low)
{
	return (int64_t)((uint64_t)high << 32 | low);
}

/*
 * Store the status of a file.  st_dev stays 0: the volume is not needed, because a status is only
 * compared with earlier ones of the same descriptor.
 */
static int nt_file_status(HANDLE file, struct stat *status)
{
	BY_HANDLE_FILE_INFORMATION named;
	FILE_STANDARD_INFO standard;
	FILE_BASIC_INFO basic;

	if (!GetFileInformationByHandle(file, &named) ||
	    !GetFileInformationByHandleEx(file, FileBasicInfo, &basic,
	                                  sizeof basic) ||
	    !GetFileInformationByHandleEx(file, FileStandardInfo, &standard,
	                                  sizeof standard))
		return xp_nt_to_errno(GetLastError());
	*status = (struct stat){
		.st_ino = (uint64_t)nt_join_halves(named.nFileIndexHigh,
		                         named.nFileIndexLow),
		.st_mode = (basic.FileAttributes & NT_REPORTED_ATTRIBUTES) |
			(standard.Directory ? S_IFDIR : S_IFREG),
		/* The system may count the last link until the deletion is complete: store 0. */
		.st_nlink = standard.DeletePending && standard.NumberOfLinks == 1
			? 0 : standard.NumberOfLinks,
		.st_size = standard.EndOfFile.QuadPart,
		.st_mtim = nt_file_time(basic.LastWriteTime.QuadPart),
		.st_ctim = nt_file_time(basic.ChangeTime.QuadPart),
	};
	return 0;
}

int xp_sys_fstat(int fd, struct stat *status)
{
	HANDLE file = xp_nt_handle(fd);
	int rc = xp_nt_file_type(fd);

	*status = (struct stat){0};
	if (rc == FILE_TYPE_DISK)
		return nt_file_status(file, status);
	if (rc < 0)
		return rc;
	status->st_mode = rc == FILE_TYPE_CHAR ? S_IFCHR : S_IFIFO;
	return 0;
}

/*
 * *born_ns is 0, unknown.  The time of birth is not needed to detect a reused inode number, because
 * a file index has a part that changes with each reuse.
 */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	*born_ns = 0;
	return xp_sys_fstat(fd, status);
}

HANDLE xp_nt_handle(int fd)
{
	return (HANDLE)(uintptr_t)xp_fd_ident(fd);
}

int xp_nt_file_type(int fd)
{
	DWORD saved = GetLastError();
	DWORD type = fd < 0 ? FILE_TYPE_UNKNOWN : GetFileType(xp_nt_handle(fd));

	SetLastError(saved);
	return type == FILE_TYPE_UNKNOWN ? -EBADF : (int)type;
}

int64_t xp_sys_offset(int fd)
{
	LARGE_INTEGER none = {.QuadPart = 0};
	LARGE_INTEGER offset;

	return SetFilePointerEx(xp_nt_handle(fd), none, &offset, FILE_CURRENT)
		? offset.QuadPart : xp_nt_to_errno(GetLastError());
}

bool xp_fs_contains(int fd, mode_t mode)
{
	(void)mode;
	return xp_nt_file_type(fd) == FILE_TYPE_DISK;
}

/* Pipes and consoles.  No call waits until a pipe is readable, but its state can be queried. */

bool xp_nt_is_console(int fd)
{
	DWORD count;

	return GetNumberOfConsoleInputEvents(xp_nt_handle(fd), &count);
}

int64_t xp_nt_pipe_unread(int fd)
{
	DWORD count = 0;

	if (PeekNamedPipe(xp_nt_handle(fd), NULL, 0, NULL, &count, NULL))
		return count;
	switch (GetLastError()) {
	case ERROR_BROKEN_PIPE:
	case ERROR_PIPE_NOT_CONNECTED:
		return -EPIPE;
	case ERROR_BAD_PIPE: /* the other end was not opened yet */
	case ERROR_PIPE_LISTENING:
		return 0;
	default: /* closed, or not open for reading */
		return -EBADF;
	}
}

uint32_t xp_nt_file_probe(int fd)
{
	int64_t unread;

	switch (xp_nt_file_type(fd)) {
	case FILE_TYPE_CHAR:
		return WaitForSingleObject(xp_nt_handle(fd), 0) == WAIT_OBJECT_0
			? POLLIN : 0;
	case FILE_TYPE_PIPE:
		unread = xp_nt_pipe_unread(fd);
		if (unread == -EPIPE)
			return POLLIN | POLLRDHUP | POLLHUP;
		return unread < 0 ? POLLNVAL : unread > 0 ? POLLIN : 0;
	case FILE_TYPE_DISK:
		return POLLIN | POLLOUT;
	default:
		return POLLNVAL;
	}
}
