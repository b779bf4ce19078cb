/* Where there is no /proc that tells of other processes. */
#include <errno.h>

#include "os/procfs.h"

int xp_procfs_children(pid_t pid, xp_procfs_visit *visit, void *context)
{
	(void)pid, (void)visit, (void)context;
	return -ENOENT;
}
