/* Reading what is in the page cache: preadv2(2) with RWF_NOWAIT. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "os/rawcall.h"
#include "os/sys_aio.h"

/* One look at the page cache. */
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
	int64_t got = read_now(fd, buffer, size, offset);

	if (got <= 0 || got == (int64_t)size)
		return got < 0 ? -EAGAIN : got;
	/* The end of the file, or of what is cached. */
	if (read_now(fd, (char *)buffer + got, size - (size_t)got,
	             offset + got) == 0)
		return got;
	return -EAGAIN;
}
