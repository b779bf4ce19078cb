/* Which descriptors can be watched, where epoll(7) is not there to say so. */
#include "backend/edge.h"

#include <errno.h>
#include <sys/stat.h>

#include "os/sys.h"

int xp_edge_admit(struct xp_edge *edge, int fd, struct stat *status)
{
	int rc = xp_sys_fstat(fd, status);

	xp_count(&edge->counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (xp_sys_is_path(fd))
		return -ENOTSUP;
	return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode) ? -EPERM : 0;
}
