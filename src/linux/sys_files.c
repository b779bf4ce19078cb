/* System calls about files that only Linux has: inotify(7), statfs(2). */
#include "linux/sys_linux.h"

#include <sys/inotify.h>
#include <sys/vfs.h>

#include "sys/libcall.h"

int xp_sys_inotify_open(void)
{
	return XP_LIBCALL(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

int xp_sys_inotify_add(int inotify_fd, const char *path, uint32_t mask)
{
	return XP_LIBCALL(inotify_add_watch(inotify_fd, path, mask));
}

int xp_sys_inotify_remove(int inotify_fd, int watch)
{
	return XP_LIBCALL(inotify_rm_watch(inotify_fd, watch));
}

int64_t xp_sys_fs_type(int fd)
{
	struct statfs status;
	int rc = XP_LIBCALL(fstatfs(fd, &status));

	return rc < 0 ? rc : (int64_t)status.f_type;
}
