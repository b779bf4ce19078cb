/* System calls through the C library: what POSIX has everywhere. */
#include "os/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int xp_sys_fstat(int fd, struct stat *status)
{
	int saved = errno;
	int rc = fstat(fd, status);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

int64_t xp_sys_tell(int fd)
{
	int saved = errno;
	int64_t offset = lseek(fd, 0, SEEK_CUR);

	if (offset < 0) {
		offset = -errno;
		errno = saved;
	}
	return offset;
}

int xp_sys_open_flags(int fd)
{
	int saved = errno;
	int rc = fcntl(fd, F_GETFL);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

bool xp_sys_is_tty(int fd)
{
	int saved = errno;
	bool is_tty = isatty(fd) == 1;

	errno = saved;
	return is_tty;
}

int xp_sys_readlink(const char *path, char *buffer, size_t size)
{
	int saved = errno;
	ssize_t rc = readlink(path, buffer, size);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return (int)rc;
}

int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before)
{
	int saved = errno;
	int rc = sigaction(number, action, before);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}
