/* Finds the kind of a descriptor's file by the type that fstat(2) returns. */
#include "sys/fdkind.h"

#include "sys/fskind.h"
#include "sys/sys.h"

int xp_fd_kind(int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	if (rc < 0)
		return rc;
	switch (status.st_mode & S_IFMT) {
	case S_IFSOCK:
		return XP_KIND_SOCKET;
	case S_IFIFO:
		return XP_KIND_FIFO;
	case S_IFREG:
		return xp_fd_poll_clears(fd) ? XP_KIND_CLEARED : XP_KIND_REGULAR;
	case S_IFDIR:
		return XP_KIND_DIRECTORY;
	case S_IFCHR:
		return xp_sys_is_tty(fd) ? XP_KIND_TTY : XP_KIND_OTHER;
	default:
		return xp_fd_kind_anonymous(fd);
	}
}

bool xp_fs_contains(int fd, mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
		return true;
	case S_IFIFO:
		return xp_fs_is_named_fifo(fd);
	default:
		return false;
	}
}
