/* Kinds of file systems, as far as fstat(2) tells. */
#include "os/fskind.h"

#include "os/sys.h"

/* A pipe that no file system holds has no names. */
bool xp_fs_is_file(int fd, mode_t mode)
{
	struct stat status;

	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
		return true;
	case S_IFIFO:
		return xp_sys_fstat(fd, &status) == 0 && status.st_nlink > 0;
	default:
		return false;
	}
}

/* These systems do without /proc. */
bool xp_fs_has_sizes(int fd)
{
	(void)fd;
	return true;
}
