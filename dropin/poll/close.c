/*
 * The functions that close descriptors, as the program finds them.
 *
 * Each informs the table of numbers before and after, so that no set goes on
 * relying on a number that stands for another file by then.  And none of them
 * closes our own descriptors: to the program they are not open.
 *
 * Closes inside the C library, and by bare system calls, are not seen here.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "export.h"
#include "kernel.h"
#include "numbers.h"
#include "os/sys.h"
#include "pool.h"
#include "real.h"

EXPORT int close_range(unsigned first, unsigned last, int flags);
EXPORT void closefrom(int first);
EXPORT int unshare(int flags);
EXPORT int epoll_create(int size);
EXPORT int epoll_create1(int flags);

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

static void close_begin(int fd)
{
	uint64_t relying;

	if (!numbers_has(fd))
		return;
	relying = numbers_close_begin(fd);
	/* A child of vfork closes its own descriptors, in our memory. */
	if (XP_LIKELY(relying == 0) || !pool_is_ours())
		return;
	/* A duplicate would keep what is in the epoll instance alive. */
	pool_detach(fd, relying);
	numbers_close_cut(fd);
}

static inline void close_end(int fd)
{
	if (numbers_has(fd))
		numbers_close_end(fd);
}

EXPORT int close(int fd)
{
	int rc;

	if (XP_UNLIKELY(numbers_is_own(fd)) && pool_keeps(fd)) {
		errno = EBADF;
		return -1;
	}
	close_begin(fd);
	rc = real.close(fd);
	close_end(fd);
	return rc;
}

/* Another file is about to get this number; true: it was one of ours. */
static bool replace_begin(int number)
{
	bool ours = XP_UNLIKELY(numbers_is_own(number)) && pool_keeps(number);

	if (ours)
		pool_vacate(number);
	close_begin(number);
	return ours;
}

static void replace_end(int number, bool was_ours, int rc)
{
	/* No file has come; to the program the number was not open before. */
	if (XP_UNLIKELY(was_ours && rc < 0))
		xp_sys_close(number);
	close_end(number);
}

EXPORT int dup2(int fd, int number)
{
	bool was_ours;
	int rc;

	if (fd == number)
		return real.dup2(fd, number);
	was_ours = replace_begin(number);
	rc = real.dup2(fd, number);
	replace_end(number, was_ours, rc);
	return rc;
}

EXPORT int dup3(int fd, int number, int flags)
{
	bool was_ours;
	int rc;

	if (fd == number)
		return real.dup3(fd, number, flags);
	was_ours = replace_begin(number);
	rc = real.dup3(fd, number, flags);
	replace_end(number, was_ours, rc);
	return rc;
}

/* --- Ranges ---------------------------------------------------------------------- */

/* Close what lies between our own descriptors, which are below `known`. */
static int close_between(unsigned first, unsigned last, unsigned known)
{
	unsigned from = first;

	for (unsigned fd = first; fd < known; fd++) {
		if (!pool_keeps((int)fd))
			continue;
		if (fd > from && real.close_range(from, fd - 1, 0) < 0)
			return -1;
		from = fd + 1;
	}
	return from <= last ? real.close_range(from, last, 0) : 0;
}

static int close_all(unsigned first, unsigned last, int flags)
{
	unsigned known;
	int rc;

	/* Not for nothing: that is the end of all sets. */
	if ((flags & CLOSE_RANGE_UNSHARE) && kernel_shares_descriptors())
		pool_part();
	/* CLOEXEC closes nothing. */
	if (first > last || (flags & ~CLOSE_RANGE_UNSHARE) != 0 || numbers_len == 0 ||
	    !pool_is_ours())
		return real.close_range(first, last, flags);
	known = numbers_range_begin(last < UINT_MAX ? last + 1 : last);
	for (unsigned fd = first; fd < known; fd++) {
		uint64_t relying = numbers_relying((int)fd);

		if (relying == 0)
			continue;
		pool_detach((int)fd, relying);
		numbers_close_cut((int)fd);
	}
	rc = close_between(first, last, known);
	numbers_range_end();
	return rc;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	return close_all(first, last, flags);
}

EXPORT void closefrom(int first)
{
	if (first < 0)
		first = 0;
	/* Kernels before 5.9 have no close_range. */
	if (close_all((unsigned)first, UINT_MAX, 0) < 0 && real.closefrom)
		real.closefrom(first);
}

EXPORT int unshare(int flags)
{
	if ((flags & CLONE_FILES) && kernel_shares_descriptors())
		pool_part();
	return real.unshare(flags);
}

/* --- Opening ----------------------------------------------------------------------- */

/*
 * The kernel gives nobody a number of ours while it is open.  But a bare system call may
 * have closed it, and an epoll instance of the program's looks like ours.
 */
static int opened(int fd)
{
	if (XP_UNLIKELY(numbers_is_own(fd)))
		pool_lost(fd);
	return fd;
}

EXPORT int epoll_create(int size)
{
	return opened(real.epoll_create(size));
}

EXPORT int epoll_create1(int flags)
{
	return opened(real.epoll_create1(flags));
}

/* --- Streams ----------------------------------------------------------------------- */

/* The descriptor of a stream; -1: it has none. */
static int number_of(FILE *stream)
{
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;

	errno = saved;
	return fd;
}

/*
 * The stream functions come here before main, too, when the real ones are not
 * looked up yet; then nothing is relied on either.
 */
static void need_real(void)
{
	if (!real.fclose)
		real_init();
}

EXPORT int fclose(FILE *stream)
{
	int fd = number_of(stream);
	int rc;

	need_real();
	close_begin(fd);
	rc = real.fclose(stream);
	close_end(fd);
	return rc;
}

EXPORT int pclose(FILE *stream)
{
	int fd = number_of(stream);
	int rc;

	need_real();
	close_begin(fd);
	rc = real.pclose(stream);
	close_end(fd);
	return rc;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	int fd = number_of(stream);
	FILE *opened;

	need_real();
	close_begin(fd);
	opened = real.freopen(path, mode, stream);
	close_end(fd);
	return opened;
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	int fd = number_of(stream);
	FILE *opened;

	need_real();
	close_begin(fd);
	opened = (real.freopen64 ? real.freopen64 : real.freopen)(path, mode, stream);
	close_end(fd);
	return opened;
}

/* NULL is EINVAL, though closedir is declared as if it were never given. */
static int number_of_directory(DIR *volatile directory)
{
	int saved = errno;
	int fd = directory ? dirfd(directory) : -1;

	errno = saved;
	return fd;
}

EXPORT int closedir(DIR *directory)
{
	int fd = number_of_directory(directory);
	int rc;

	need_real();
	close_begin(fd);
	rc = real.closedir(directory);
	close_end(fd);
	return rc;
}
