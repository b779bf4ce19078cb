/* Input and output at an offset. */
#include "os/sys_aio.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "os/sys.h"

#ifndef O_DIRECT
#define O_DIRECT 0
#endif
#ifdef __APPLE__ /* Its header does not declare the other. */
#define fdatasync fsync
#endif
#ifndef O_PATH
#define O_PATH 0
#endif

/* The result of a system call; `saved` is errno from before it. */
static int64_t aio_result(int64_t rc, int saved)
{
	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

int xp_sys_file_traits(int fd)
{
	struct stat status;
	int flags = fd < 0 ? -EBADF : xp_sys_open_flags(fd);
	int rc = flags < 0 ? flags : xp_sys_fstat(fd, &status);
	int traits = 0;

	if (rc < 0)
		return rc;
	if (flags & O_PATH)
		return -EBADF;
	if ((flags & O_ACCMODE) != O_WRONLY)
		traits |= XP_FILE_READABLE;
	if ((flags & O_ACCMODE) != O_RDONLY)
		traits |= XP_FILE_WRITABLE;
	if (flags & O_DIRECT)
		traits |= XP_FILE_DIRECT;
	if (S_ISDIR(status.st_mode))
		traits |= XP_FILE_DIRECTORY;
	else if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
		traits |= XP_FILE_OTHER;
	return traits;
}

static bool offset_fits(int64_t offset)
{
	return (off_t)offset == offset;
}

int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset)
{
	int saved = errno;

	if (!offset_fits(offset))
		return -EOVERFLOW;
	return aio_result(pread(fd, buffer, size, (off_t)offset), saved);
}

int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset)
{
	int saved = errno;

	if (!offset_fits(offset))
		return -EFBIG;
	return aio_result(pwrite(fd, buffer, size, (off_t)offset), saved);
}

int xp_sys_fsync(int fd)
{
	int saved = errno;

	return (int)aio_result(fsync(fd), saved);
}

int xp_sys_fdatasync(int fd)
{
	int saved = errno;

	return (int)aio_result(fdatasync(fd), saved);
}
