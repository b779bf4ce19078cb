/* Pipes and consoles: no call waits for a pipe, but its state can be read. */
#include <errno.h>
#include <poll.h>
#include <xpoll.h>

#include "os/nt/handle.h"
#include "os/nt/nt.h"

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
	case ERROR_BAD_PIPE: /* Nobody has opened its other end yet. */
	case ERROR_PIPE_LISTENING:
		return 0;
	default: /* Closed, or not open for reading. */
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
