/* Finds out whether a descriptor refers to a kqueue or to a pipe: see common/numbers.h. */
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/numbers.h"
#include "kq.h"

enum { KQ_PIPEFS = 0x50495045 /* PIPEFS_MAGIC of <linux/magic.h> */ };

/*
 * Returns true if fd is a pipe made by pipe(2), not a FIFO, whose other end another process may
 * open again by its name.  fstatfs(2) shows the difference: the kernel has pipes in a file system
 * of their own.
 */
static bool kq_is_pipe_uncached(int fd, mode_t mode)
{
	struct statfs system;

	return S_ISFIFO(mode) && fstatfs(fd, &system) == 0 &&
		system.f_type == KQ_PIPEFS;
}

bool kq_is_pipe(int fd)
{
	struct number *number = number_at(fd);
	int pipe = number ? atomic_load_explicit(&number->pipe_check_result,
	                                         memory_order_relaxed) : 0;
	struct stat status;

	if (pipe)
		return pipe > 0;
	if (fstat(fd, &status) < 0)
		return false;
	pipe = kq_is_pipe_uncached(fd, status.st_mode) ? 1 : -1;
	if (number)
		atomic_store(&number->pipe_check_result, (signed char)pipe);
	return pipe > 0;
}

const struct kq *kq_of_fd(int fd)
{
	struct number *number = number_at(fd);

	return number ? atomic_load(&number->object) : NULL;
}
