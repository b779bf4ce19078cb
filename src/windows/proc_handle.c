/*
 * The exit of a process by a handle, which is signalled when the process has exited.  While the
 * handle is open, the process ID is not reused, and the exit code stays available.
 */
#include <errno.h>

#include "source/proc_state.h"
#include "sys/fdnum.h"
#include "windows/nt.h"

int xp_proc_open(pid_t pid)
{
	HANDLE process = OpenProcess(
		SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE,
		(DWORD)pid);
	int fd = -EMFILE;

	if (!process)
		switch (GetLastError()) {
		case ERROR_INVALID_PARAMETER:
			return -ESRCH;
		case ERROR_ACCESS_DENIED:
			return -EPERM;
		default:
			return xp_nt_to_errno(GetLastError());
		}
	/* OpenProcess ignores the two lowest bits of the ID, so compare the process's own ID. */
	if (GetProcessId(process) != (DWORD)pid)
		fd = -ESRCH;
	else if (xp_fd_number((uintptr_t)process) >= 0)
		return xp_fd_number((uintptr_t)process);
	CloseHandle(process);
	return fd;
}

bool xp_proc_is_unpollable(int fd)
{
	(void)fd;
	return false;
}

void xp_proc_close_fd(int fd, bool forked)
{
	(void)forked;
	CloseHandle(xp_nt_handle(fd));
}

bool xp_proc_ended(int fd)
{
	return WaitForSingleObject(xp_nt_handle(fd), 0) == WAIT_OBJECT_0;
}

bool xp_proc_reaped(int fd, pid_t pid)
{
	(void)fd, (void)pid;
	return false;
}

/* *status is the system's exit code, for example (int)0xC0000005 for an access violation. */
enum xp_proc_outcome xp_proc_outcome(int fd, pid_t pid, bool tracked, int *status)
{
	DWORD code;

	(void)pid, (void)tracked;
	if (!xp_proc_ended(fd))
		return XP_PROC_LIVES;
	if (!GetExitCodeProcess(xp_nt_handle(fd), &code))
		return XP_PROC_ENDED;
	*status = (int)code;
	return XP_PROC_STATUS;
}
