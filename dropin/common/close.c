/*
 * The functions that close descriptors, exported in place of the C library's.  Most of them call
 * closing_begin and closing_end of the drop-in (common/close.h) before and after the C library's
 * function.  close_range and closefrom call closing_range, which itself calls the C library's
 * function.
 */
#include "common/close.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/real.h"

EXPORT int close_range(unsigned first, unsigned last, int flags);
/* OpenBSD and NetBSD declare closefrom with an int as result. */
#if !defined(__OpenBSD__) && !defined(__NetBSD__)
EXPORT void closefrom(int first);
#endif
EXPORT int dup3(int fd, int number, int flags);

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

EXPORT int close(int fd)
{
	struct closing closing;
	int rc;

	if (closing_refused(fd)) {
		errno = EBADF;
		return -1;
	}
	closing_begin(&closing, fd);
	rc = real_close.close(fd);
	closing_end(&closing, 0);
	return rc;
}

EXPORT int dup2(int fd, int number)
{
	struct closing closing;
	int rc;

	if (fd == number || !closing_handles_dup(fd, number, 0))
		return real_close.dup2(fd, number);
	closing_begin(&closing, number);
	rc = real_close.dup2(fd, number);
	if (rc >= 0)
		closing_duplicated(fd, number);
	closing_end(&closing, rc);
	return rc;
}

EXPORT int dup3(int fd, int number, int flags)
{
	struct closing closing;
	int rc;

	if (fd == number || !closing_handles_dup(fd, number, flags))
		return real_close.dup3(fd, number, flags);
	closing_begin(&closing, number);
	rc = real_close.dup3(fd, number, flags);
	if (rc >= 0)
		closing_duplicated(fd, number);
	closing_end(&closing, rc);
	return rc;
}

/*
 * /proc/self/task has a directory for each thread, so it has 3 links if this thread is the only
 * one.
 */
bool fd_table_may_be_shared(void)
{
	int saved = errno;
	struct stat threads;
	bool alone = stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3;

	errno = saved;
	return !alone;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	bool parts = (flags & CLOSE_RANGE_UNSHARE) && fd_table_may_be_shared();

	if (parts)
		closing_before_unshare();
	/*
	 * Do not call closing_range in three cases.  First (parts): this thread gets its own table
	 * of descriptors, so the descriptors of the other threads stay open.  Second: the call will
	 * fail.  Third: the call closes nothing (CLOSE_RANGE_CLOEXEC).
	 */
	if (parts || first > last || (flags & ~CLOSE_RANGE_UNSHARE) != 0)
		return real_close.close_range(first, last, flags);
	return closing_range(first, last, flags);
}

static void close_from(int first)
{
	int saved = errno;

	if (first < 0)
		first = 0;
	/*
	 * If close_range(2) has failed, call the C library's closefrom.  (Linux before 5.9 has no
	 * close_range(2).)
	 */
	if (closing_range((unsigned)first, UINT_MAX, 0) < 0 && real_close.closefrom)
		real_close.closefrom(first);
	errno = saved;
}

#if defined(__OpenBSD__) || defined(__NetBSD__)
EXPORT int closefrom(int first)
{
	close_from(first);
	return 0;
}
#else
EXPORT void closefrom(int first)
{
	close_from(first);
}
#endif

EXPORT int fclose(FILE *stream)
{
	struct closing closing;
	int rc;

	if (!real_close.fclose) /* the drop-in's constructor has not run yet */
		real_close_find();
	closing_begin_stream(&closing, stream);
	rc = real_close.fclose(stream);
	closing_end(&closing, 0);
	return rc;
}
