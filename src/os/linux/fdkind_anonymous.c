/*
 * The kind of an anonymous file of Linux.  They all look the same to fstat(2);
 * /proc distinguishes eventfd and timerfd from the others.
 */
#include "os/fdkind.h"

#include <errno.h>
#include <string.h>

#include "os/linux/fdpath.h"
#include "os/sys.h"

/* Without /proc it is unknown; without memory it is not even that. */
int xp_fd_kind_anonymous(int fd)
{
	char path[XP_FD_PATH_SIZE];
	char name[64];
	int length;

	xp_fd_path(path, fd, "");
	length = xp_sys_readlink(path, name, sizeof name - 1);
	if (length < 0)
		return length == -ENOMEM ? length : XP_KIND_OTHER;
	name[length] = '\0';
	if (strcmp(name, "anon_inode:[eventfd]") == 0 ||
	    strcmp(name, "anon_inode:[timerfd]") == 0)
		return XP_KIND_COUNTER;
	if (strcmp(name, "anon_inode:[perf_event]") == 0)
		return XP_KIND_NEWS;
	return XP_KIND_OTHER;
}
