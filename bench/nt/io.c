/*
 * Sockets by the names of POSIX.
 */
#include <bench_nt.h>

#include <windows.h>

#include <errno.h>

int bench_nt_error(int error)
{
	switch (error) {
	case WSAEWOULDBLOCK:
		return EAGAIN;
	case WSAEINTR:
		return EINTR;
	case WSAENOTSOCK:
	case WSAEBADF:
		return EBADF;
	case WSAEMFILE:
		return EMFILE;
	case WSAENOBUFS:
	case WSA_NOT_ENOUGH_MEMORY:
		return ENOMEM;
	default:
		return EIO;
	}
}

static int io_failed(void)
{
	errno = bench_nt_error(WSAGetLastError());
	return -1;
}

ssize_t bench_nt_read(int fd, void *buffer, size_t size)
{
	int len = recv((SOCKET)fd, buffer, (int)size, 0);

	return len < 0 ? io_failed() : len;
}

ssize_t bench_nt_write(int fd, const void *buffer, size_t size)
{
	int len = send((SOCKET)fd, buffer, (int)size, 0);

	return len < 0 ? io_failed() : len;
}

int bench_nt_close(int fd)
{
	return closesocket((SOCKET)fd) == 0 ? 0 : io_failed();
}

int bench_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms)
{
	int ready = WSAPoll(fds, count, timeout_ms);

	return ready < 0 ? io_failed() : ready;
}

int bench_nt_rename(const char *from, const char *to)
{
	if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
		return 0;
	errno = EACCES;
	return -1;
}

int bench_nt_no_pipe(void)
{
	errno = ENOSYS;
	return -1;
}
