/* The kind of a file, by fstat(2). */
#include "os/fdkind.h"

#include "os/sys.h"

int xp_fd_kind(int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	if (rc < 0)
		return rc;
	if (S_ISSOCK(status.st_mode))
		return XP_KIND_SOCKET;
	if (S_ISFIFO(status.st_mode))
		return XP_KIND_FIFO;
	if (S_ISREG(status.st_mode))
		return XP_KIND_REGULAR;
	if (S_ISDIR(status.st_mode))
		return XP_KIND_DIRECTORY;
	if (S_ISCHR(status.st_mode))
		return xp_sys_is_tty(fd) ? XP_KIND_TTY : XP_KIND_OTHER;
	return xp_fd_kind_anonymous(fd);
}
