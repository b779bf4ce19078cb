/* Reads from the page cache without waiting for a device, by preadv2(2) with RWF_NOWAIT. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "sys/rawcall.h"
#include "sys/sys.h"
#include "sys/sys_aio.h"

/*
 * Returns true if fd is a regular file or a block device; with sync_file_range(2) also for a
 * directory, which cannot be read anyway.  That call fails for other files, and does nothing
 * without flags; it takes a third of the time of fstat(2), which may query a server.
 */
static bool is_regular_or_block(int fd)
{
	struct stat status;
	long rc = -ENOSYS;

#ifdef SYS_sync_file_range
	rc = xp_rawcall(SYS_sync_file_range, fd, 0, 0, 0, 0, 0);
#endif
	if (rc == 0 || rc == -ESPIPE || rc == -EBADF)
		return rc == 0;
	return xp_sys_fstat(fd, &status) == 0 &&
		(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
}

/*
 * Returns true if fd is on disk (is_regular_or_block) and was opened without O_DIRECT.  Then
 * read_now neither waits for a device nor takes data away, which a read from a pipe would do.
 */
static bool uses_page_cache(int fd)
{
	int flags = xp_sys_open_flags(fd);

	/* With O_DIRECT a read bypasses the cache, and waits despite RWF_NOWAIT. */
	return flags >= 0 && !(flags & O_DIRECT) && is_regular_or_block(fd);
}

/*
 * Call preadv2(2) once.  Returns the number of bytes, which may be smaller than size, or an error.
 */
static int64_t read_now(int fd, void *buffer, size_t size, int64_t offset)
{
#if defined(RWF_NOWAIT) && defined(SYS_preadv2)
	struct iovec part = {.iov_base = buffer, .iov_len = size};

	return xp_rawcall(SYS_preadv2, fd, (long)&part, 1, (long)offset,
	                  (long)((uint64_t)offset >> 32), RWF_NOWAIT);
#else
	(void)fd, (void)buffer, (void)size, (void)offset;
	return -EAGAIN;
#endif
}

int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset)
{
	int64_t got;

	/* A read of 0 bytes would succeed even for a directory. */
	if (size == 0 || !uses_page_cache(fd))
		return -EAGAIN;
	got = read_now(fd, buffer, size, offset);
	if (got <= 0 || got == (int64_t)size)
		return got < 0 ? -EAGAIN : got;
	/*
	 * After a short read try again: the result 0 means the end of the file, EAGAIN the end of
	 * the part that is cached.
	 */
	if (read_now(fd, (char *)buffer + got, size - (size_t)got,
	             offset + got) == 0)
		return got;
	return -EAGAIN;
}
