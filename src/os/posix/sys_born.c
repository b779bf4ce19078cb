/* When a file was made, where fstat(2) itself says so. */
#include "os/sys.h"

#include "base/time.h"

int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	int rc = xp_sys_fstat(fd, status);

	*born_ns = 0;
#ifdef st_birthtime
	if (rc == 0)
		*born_ns = status->st_birthtim.tv_sec * XP_NS_PER_SEC +
			status->st_birthtim.tv_nsec;
#endif
	return rc;
}
