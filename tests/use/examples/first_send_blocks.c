/*
 * To be put in front of an example server: as if its peer were slow, the first write to a
 * socket would block, and nothing of it is sent.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int calls;

static int blocks(int fd)
{
	int type = 0;
	socklen_t size = sizeof type;
	int error = errno;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    atomic_fetch_add(&calls, 1) > 0) {
		errno = error;
		return 0;
	}
	errno = EAGAIN;
	return 1;
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	return blocks(fd) ? -1 : sendto(fd, data, size, flags, NULL, 0);
}

ssize_t write(int fd, const void *data, size_t size)
{
	struct iovec part = {(void *)data, size};

	return blocks(fd) ? -1 : writev(fd, &part, 1);
}
