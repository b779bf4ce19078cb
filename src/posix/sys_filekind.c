/* Properties of a file beyond its type, for systems on which only fstat(2) shows them. */
#include "base/time.h"
#include "sys/fdkind.h"
#include "sys/fskind.h"
#include "sys/sys.h"

#ifdef __linux__
#include <sys/vfs.h>
#endif

/* Returns XP_KIND_OTHER: here nothing shows the kind of a file for which fstat(2) has no type. */
int xp_fd_kind_anonymous(int fd)
{
	(void)fd;
	return XP_KIND_OTHER;
}

bool xp_fd_poll_clears(int fd)
{
	(void)fd;
	return false;
}

/* A pipe has a link count of 0; a FIFO in a file system has links until its names are removed. */
bool xp_fs_is_named_fifo(int fd)
{
	struct stat status;
#ifdef __linux__ /* Tests that model these systems run on Linux, where a pipe has a link. */
	struct statfs held;

	if (fstatfs(fd, &held) == 0 && held.f_type == 0x50495045)
		return false;
#endif
	return xp_sys_fstat(fd, &status) == 0 && status.st_nlink > 0;
}

int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	int rc = xp_sys_fstat(fd, status);

	*born_ns = 0;
#ifdef st_birthtime
	if (rc == 0)
		*born_ns = status->st_birthtim.tv_sec * XP_NS_PER_SEC +
			status->st_birthtim.tv_nsec;
#endif
	return rc;
}
