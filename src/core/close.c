/* Before a descriptor is closed all queues of the process forget it. */
#include <errno.h>

#include "base/result.h"
#include "core/enter.h"
#include "core/interest.h"
#include "core/process.h"
#include "core/sources.h"
#include "os/fdnum.h"
#include "os/sys.h"

static void forget(struct xpoll *queue, int fd)
{
	if (xp_enter_change(queue) < 0)
		return;
	xp_entry_forget(queue, fd);
	xp_sources_forget(queue, fd);
	xp_leave(queue);
}

int xpoll_forget_fd(xpoll_fd_t fd)
{
	int number = xp_fd_of(fd);

	if (number < 0)
		return xp_result(-EBADF);
	xp_process_each(forget, number);
	xp_sources_await_unused(number);
	return 0;
}

int xpoll_close_fd(xpoll_fd_t fd)
{
	int rc = xpoll_forget_fd(fd);

	return rc < 0 ? rc : xp_result(xp_sys_close(xp_fd_of(fd)));
}
