/* What a file system holds, by the type of the file. */
#include "os/fskind.h"

bool xp_fs_is_file(int fd, mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
		return true;
	case S_IFIFO:
		return xp_fs_holds_fifo(fd);
	default:
		return false;
	}
}
