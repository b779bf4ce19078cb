/* Kinds of file systems, as far as fstat(2) shows. */
#include "os/fskind.h"

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "os/sys.h"

/* A pipe that no file system holds has no names. */
bool xp_fs_holds_fifo(int fd)
{
	struct stat status;
#ifdef __linux__ /* On models of these systems: pipes have a link. */
	struct statfs held;

	if (fstatfs(fd, &held) == 0 && held.f_type == 0x50495045)
		return false;
#endif
	return xp_sys_fstat(fd, &status) == 0 && status.st_nlink > 0;
}

/* These systems do without /proc. */
bool xp_fs_has_sizes(int fd)
{
	(void)fd;
	return true;
}

bool xp_fs_keeps_births(int fd)
{
	(void)fd;
	return true;
}
