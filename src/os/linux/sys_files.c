/* What Linux says of files: inotify(7), statfs(2). */
#include "os/linux/sys_linux.h"
#include "os/sys.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include "os/rawcall.h"

int xp_sys_inotify_open(void)
{
	int saved = errno;

	return xp_libcall_result(inotify_init1(IN_NONBLOCK | IN_CLOEXEC), saved);
}

int xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask)
{
	int saved = errno;

	return xp_libcall_result(inotify_add_watch(inotify_fd, path, mask), saved);
}

int xp_sys_inotify_remove(int inotify_fd, int watch)
{
	int saved = errno;

	return xp_libcall_result(inotify_rm_watch(inotify_fd, watch), saved);
}

int64_t xp_sys_fs_type(int fd)
{
	struct statfs status;
	int saved = errno;
	int rc = xp_libcall_result(fstatfs(fd, &status), saved);

	return rc < 0 ? rc : (int64_t)status.f_type;
}
