/* System calls for asynchronous I/O: traits and duplicates of files, and I/O at an offset. */
#include "sys/sys_aio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "sys/libcall.h"
#include "sys/sys.h"

#ifndef O_DIRECT
#define O_DIRECT 0
#endif
#ifdef __APPLE__ /* macOS does not declare fdatasync(2): use fsync(2) */
#define fdatasync fsync
#endif
#ifndef O_PATH
#define O_PATH 0
#endif

int xp_sys_file_traits(int fd, struct xp_file_id *id)
{
	struct stat status;
	int flags = fd < 0 ? -EBADF : xp_sys_open_flags(fd);
	int rc = flags < 0 ? flags : xp_sys_fstat(fd, &status);
	int traits = 0;

	if (rc < 0)
		return rc;
	if (flags & O_PATH)
		return -EBADF;
	*id = (struct xp_file_id){
		.device = (uint64_t)status.st_dev,
		.inode = (uint64_t)status.st_ino,
		.flags = flags,
	};
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
	id->traits = traits;
	return traits;
}

/* Linux has F_DUPFD_QUERY since 6.10, C libraries later; EINVAL: the kernel lacks it. */
#if defined(__linux__) && !defined(F_DUPFD_QUERY)
#define F_DUPFD_QUERY 1027
#endif

bool xp_sys_file_is_held(int fd, int held)
{
#ifdef F_DUPFD_QUERY
	static atomic_bool lacking;
	int rc = atomic_load_explicit(&lacking, memory_order_relaxed)
		? -EINVAL : XP_LIBCALL(fcntl(fd, F_DUPFD_QUERY, held));

	if (rc == -EINVAL)
		atomic_store_explicit(&lacking, true, memory_order_relaxed);
	return rc > 0;
#else
	(void)fd, (void)held;
	return false;
#endif
}

#ifdef F_OFD_GETLK
/*
 * Returns true if this process may have record locks on the file.  F_OFD_GETLK returns one
 * conflicting lock, of any process.  If that is another process's, a lock of this process may be
 * hidden behind it, so the result is true, too.
 */
static bool may_have_locks(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return XP_LIBCALL(fcntl(fd, F_OFD_GETLK, &lock)) < 0 || lock.l_type != F_UNLCK;
}

int xp_sys_file_hold(int fd)
{
	int rc;

	if (may_have_locks(fd))
		return -ENOTSUP;
	rc = XP_LIBCALL(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	/*
	 * fcntl(2) returns EINVAL if the limit of open files is 0, because the lowest number
	 * allowed, 0, is not below it.
	 */
	return rc == -EINVAL ? -EMFILE : rc;
}

int xp_sys_file_let_go(int held)
{
	if (may_have_locks(held))
		return -EBUSY;
	xp_sys_close(held);
	return 0;
}
#else
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
#endif

static bool offset_fits(int64_t offset)
{
	return (off_t)offset == offset;
}

int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset)
{
	if (!offset_fits(offset))
		return -EOVERFLOW;
	return XP_LIBCALL(pread(fd, buffer, size, (off_t)offset));
}

int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset)
{
	if (!offset_fits(offset))
		return -EFBIG;
	return XP_LIBCALL(pwrite(fd, buffer, size, (off_t)offset));
}

int xp_sys_fsync(int fd)
{
	return XP_LIBCALL(fsync(fd));
}

int xp_sys_fdatasync(int fd)
{
	return XP_LIBCALL(fdatasync(fd));
}
