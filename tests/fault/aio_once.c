/*
 * Goal: a submit reads data at once (S24) only if they are in the page cache:
 * the library does not try a read that could wait for a device, or that would
 * consume bytes.
 * Method: the test calls the function below the source; a system call that a
 * sandbox may forbid is wrapped at link time.
 */
#include "xt.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "sys/rawcall.h"
#include "sys/sys_aio.h"

static const char text[] = "written";

static bool sync_refused;

XT_WRAP(xp_rawcall);
long __wrap_xp_rawcall(long call, long a, long b, long c, long d, long e, long f)
{
	if (sync_refused && call == SYS_sync_file_range)
		return -EPERM;
	return __real_xp_rawcall(call, a, b, c, d, e, f);
}

static int read_is(int fd, size_t length)
{
	char buffer[sizeof text];
	int64_t got = xp_sys_read_cached(fd, buffer, length, 0);

	return (int)got;
}

/* Returns true if this system and file system can read cached data without waiting. */
static bool can_be_read_now(int fd)
{
#if defined(RWF_NOWAIT) && defined(SYS_preadv2)
	char buffer[4];
	struct iovec part = {.iov_base = buffer, .iov_len = sizeof buffer};

	return xp_rawcall(SYS_preadv2, fd, (long)&part, 1, 0, 0, RWF_NOWAIT) == 4;
#else
	(void)fd;
	return false;
#endif
}

static void only_files_in_the_cache_are_read(void)
{
	int file = xt_make("file", text);
	int direct = open(xt_name("file"), O_RDONLY | O_DIRECT | O_CLOEXEC);
	struct xt_pair pipe = xt_pipe();
	bool can = can_be_read_now(file);

	XT_EXPECT_EQ(read_is(file, 4), can ? 4 : -EAGAIN);
	XT_EXPECT_EQ(read_is(file, sizeof text), can ? (int)strlen(text) : -EAGAIN);
	XT_EXPECT_EQ(read_is(file, 0), -EAGAIN);
	if (direct >= 0)
		XT_EXPECT_EQ(read_is(xt_keep(direct), 4), -EAGAIN);
	xt_fill(pipe.w);
	XT_EXPECT_EQ(read_is(pipe.r, 4), -EAGAIN);
	XT_EXPECT_EQ(read_is(xt_open_path("/dev/zero", O_RDONLY), 4), -EAGAIN);
	XT_EXPECT_EQ(read_is(xt_open_path("/tmp", O_RDONLY), 4), -EAGAIN);
	XT_EXPECT_EQ(read_is(xt_open_path("/tmp", O_RDONLY), 0), -EAGAIN);
	XT_EXPECT_EQ(read_is(-1, 4), -EAGAIN);
}

/* S24: the library does not try to read at once where that could block or consume bytes. */
XT_TEST(at_once_only_files_in_the_cache_are_read)
{
	XT_CALL(only_files_in_the_cache_are_read());
}

/* The same where a sandbox refuses sync_file_range(2). */
XT_TEST(at_once_also_without_sync_file_range)
{
	sync_refused = true;
	XT_CALL(only_files_in_the_cache_are_read());
	sync_refused = false;
}
