/*
 * The kind of a file, by fstat(2).  The kernel's anonymous files all look the
 * same there; /proc tells eventfd and timerfd from the others.
 */
#include "os/fdkind.h"

#include <errno.h>
#include <string.h>

#include "os/sys.h"

/* By hand: stdio is not async-signal-safe, and the drop-in has to be. */
static const char *proc_path(char path[40], int fd)
{
	static const char folder[] = "/proc/self/fd/";
	char *at = path + 39;

	*at = '\0';
	for (unsigned rest = (unsigned)fd; rest > 0 || *at == '\0'; rest /= 10)
		*--at = (char)('0' + rest % 10);
	return memcpy(at - (sizeof folder - 1), folder, sizeof folder - 1);
}

/* Without /proc it is unknown; without memory it is not even that. */
static int anonymous_kind(int fd)
{
	char path[40];
	char name[64];
	int length;

	length = xp_sys_readlink(proc_path(path, fd), name, sizeof name - 1);
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
	return anonymous_kind(fd);
}
