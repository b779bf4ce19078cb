/* Where there is no /proc that shows other processes. */
#include <errno.h>

#include "os/procfs.h"

int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context)
{
	(void)pid, (void)visit, (void)context;
	return -ENOENT;
}

int64_t xp_procfs_started(pid_t pid)
{
	(void)pid;
	return -1;
}
