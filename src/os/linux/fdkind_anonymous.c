/*
 * The kind of an anonymous file of Linux.  They all look the same to fstat(2);
 * /proc distinguishes eventfd and timerfd from the others.
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
int xp_fd_kind_anonymous(int fd)
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
