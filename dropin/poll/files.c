/*
 * Exported functions that close descriptors, in addition to common/close.c: of streams and
 * directories; and unshare(2), which gives a thread its own table of descriptors.
 */
#include <sched.h>

#include "common/close.h"
#include "real.h"

EXPORT int unshare(int flags);

/* --- Streams and directories -------------------------------------------------------- */

/*
 * Begin the close of a stream.  Constructors of other libraries may come here before this library's
 * constructor has looked up the C library's functions: then look these functions up here.
 */
static void begin_stream(struct closing *closing, FILE *stream)
{
	if (!real.pclose)
		real_init();
	closing_begin_stream(closing, stream);
}

EXPORT int pclose(FILE *stream)
{
	struct closing closing;
	int rc;

	begin_stream(&closing, stream);
	rc = real.pclose(stream);
	closing_end(&closing, 0);
	return rc;
}

static FILE *reopen(const char *path, const char *mode, FILE *stream, bool large)
{
	struct closing closing;
	FILE *opened;

	begin_stream(&closing, stream);
	opened = (large && real.freopen64 ? real.freopen64 : real.freopen)(path, mode, stream);
	closing_end(&closing, 0);
	return opened;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	return reopen(path, mode, stream, false);
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	return reopen(path, mode, stream, true);
}

/*
 * Returns the descriptor of a directory; -1 for NULL, for which closedir(3) fails with EINVAL.  The
 * parameter of closedir is declared nonnull, so without volatile the compiler would drop the check.
 */
static int directory_fd(DIR *volatile directory)
{
	int saved = errno;
	int fd = directory ? dirfd(directory) : -1;

	errno = saved;
	return fd;
}

EXPORT int closedir(DIR *directory)
{
	struct closing closing;
	int rc;

	if (!real.closedir)
		real_init();
	closing_begin(&closing, directory_fd(directory));
	rc = real.closedir(directory);
	closing_end(&closing, 0);
	return rc;
}

/* --- Tables of descriptors --------------------------------------------------- */

EXPORT int unshare(int flags)
{
	/*
	 * If another thread shares the table, a number means different files in the two threads
	 * from now on, but this library has one state of each number: no call may use a set.
	 */
	if ((flags & CLONE_FILES) && fd_table_may_be_shared())
		pool_stop_for_unshare();
	return real.unshare(flags);
}
