/*
 * Reads and writes at an offset.  A handle may have been opened for overlapped (asynchronous)
 * operations or not; an OVERLAPPED with an event, and a wait for the result, work for both.
 */
#include "sys/sys_aio.h"

#include <errno.h>

#include "base/assert.h"
#include "sys/sys.h"
#include "windows/nt.h"

/* Most bytes that one call reads or writes. */
#define NT_IO_MOST ((size_t)1 << 30)

/* Store the access rights with which a handle was opened. */
static bool nt_granted_access(HANDLE file, ACCESS_MASK *access)
{
	PUBLIC_OBJECT_BASIC_INFORMATION basic;
	ULONG size;

	if (NtQueryObject(file, ObjectBasicInformation, &basic, sizeof basic,
	                  &size) < 0)
		return false;
	*access = basic.GrantedAccess;
	return true;
}

int xp_sys_file_traits(int fd, struct xp_file_id *id)
{
	ACCESS_MASK access;
	struct stat status;
	int rc = xp_sys_open_flags(fd);
	int traits = 0;

	*id = (struct xp_file_id){0};
	if (rc < 0)
		return rc;
	if (xp_nt_file_type(fd) != FILE_TYPE_DISK)
		return XP_FILE_READABLE | XP_FILE_WRITABLE | XP_FILE_OTHER;
	rc = xp_sys_fstat(fd, &status);
	if (rc < 0)
		return rc;
	if (!nt_granted_access(xp_nt_handle(fd), &access))
		return -EBADF;
	if (S_ISDIR(status.st_mode))
		traits |= XP_FILE_DIRECTORY;
	if (access & FILE_READ_DATA)
		traits |= XP_FILE_READABLE;
	if (access & (FILE_WRITE_DATA | FILE_APPEND_DATA))
		traits |= XP_FILE_WRITABLE;
	return traits;
}

/* Returns false, because xp_sys_file_hold never succeeds here. */
bool xp_sys_file_is_held(int fd, int held)
{
	(void)fd, (void)held;
	return false;
}

/*
 * Always fails, because a duplicate would keep the file's share mode in force after the program has
 * closed its handle.
 */
int xp_sys_file_hold(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

int xp_sys_file_let_go(int held)
{
	(void)held;
	return 0;
}

/* Read into `to` or write `from`; one is NULL.  Returns the number of bytes, or an error. */
static int64_t nt_file_transfer(int fd, void *to, const void *from, size_t size,
                         int64_t offset)
{
	DWORD most = (DWORD)(size < NT_IO_MOST ? size : NT_IO_MOST);
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
	OVERLAPPED overlapped = {
		.Offset = (DWORD)offset,
		.OffsetHigh = (DWORD)(offset >> 32),
		/* The lowest bit suppresses a packet to a completion port of the program. */
		.hEvent = (HANDLE)((uintptr_t)event | 1),
	};
	DWORD count = 0;
	DWORD error = 0;
	BOOL begun;

	XP_ASSERT(!to != !from);
	if (!event)
		return -ENOMEM;
	begun = to ? ReadFile(xp_nt_handle(fd), to, most, NULL, &overlapped)
		: WriteFile(xp_nt_handle(fd), from, most, NULL, &overlapped);
	if (!begun)
		error = GetLastError();
	if ((begun || error == ERROR_IO_PENDING) &&
	    GetOverlappedResult(xp_nt_handle(fd), &overlapped, &count, TRUE))
		error = 0;
	else if (begun || error == ERROR_IO_PENDING)
		error = GetLastError();
	CloseHandle(event);
	if (error == 0 || error == ERROR_HANDLE_EOF)
		return count;
	return xp_nt_to_errno(error);
}

int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset)
{
	return size ? nt_file_transfer(fd, buffer, NULL, size, offset) : 0;
}

int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset)
{
	return size ? nt_file_transfer(fd, NULL, buffer, size, offset) : 0;
}

int xp_sys_fsync(int fd)
{
	return FlushFileBuffers(xp_nt_handle(fd)) ? 0
		: xp_nt_to_errno(GetLastError());
}

int xp_sys_fdatasync(int fd)
{
	return xp_sys_fsync(fd);
}
