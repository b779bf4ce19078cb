/* Input and output at an offset, and threads to do it. */
#include "os/sys_aio.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "os/sys.h"

#ifndef O_DIRECT
#define O_DIRECT 0
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

#if defined(RWF_NOWAIT) && defined(SYS_preadv2)
/* One look at the page cache; by syscall(2): no cancellation point. */
static int64_t read_now(int fd, void *buffer, size_t size, int64_t offset)
{
	struct iovec part = {.iov_base = buffer, .iov_len = size};
	int saved = errno;
	unsigned long low = (unsigned long)offset;
	unsigned long high = (unsigned long)((uint64_t)offset >> 32);

	return aio_result(syscall(SYS_preadv2, fd, &part, 1UL, low, high,
	                          RWF_NOWAIT), saved);
}

int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset)
{
	int64_t got = read_now(fd, buffer, size, offset);

	if (got <= 0 || got == (int64_t)size)
		return got < 0 ? -EAGAIN : got;
	/* The end of the file, or of what is cached. */
	if (read_now(fd, (char *)buffer + got, size - (size_t)got,
	             offset + got) == 0)
		return got;
	return -EAGAIN;
}
#else
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset)
{
	(void)fd, (void)buffer, (void)size, (void)offset;
	return -EAGAIN;
}
#endif

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

int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all;
	sigset_t before;
	int rc;

	/* It inherits the mask: no moment in which a signal could come to it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void xp_sys_thread_join(pthread_t thread)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(thread, NULL);
	pthread_setcancelstate(state, NULL);
}

int xp_sys_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int rc = -pthread_condattr_init(&attributes);

	if (rc < 0)
		return rc;
	rc = -pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (rc == 0)
		rc = -pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return rc;
}

int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / XP_NS_PER_SEC),
		.tv_nsec = (long)(deadline_ns % XP_NS_PER_SEC),
	};
	int state;
	int rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (deadline_ns == XP_NEVER)
		rc = -pthread_cond_wait(condition, mutex);
	else
		rc = -pthread_cond_timedwait(condition, mutex, &deadline);
	pthread_setcancelstate(state, NULL);
	return rc;
}
