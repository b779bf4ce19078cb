/* Systems whose anonymous files nothing distinguishes. */
#include "os/fdkind.h"

int xp_fd_kind_anonymous(int fd)
{
	(void)fd;
	return XP_KIND_OTHER;
}
