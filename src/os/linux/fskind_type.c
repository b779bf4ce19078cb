/* Kinds of file systems, by statfs(2), and where they are mounted. */
#include "os/fskind.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "os/linux/sys_linux.h"
#include "os/rawcall.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#ifndef PIPEFS_MAGIC
#define PIPEFS_MAGIC 0x50495045
#endif

bool xp_fs_holds_fifo(int fd)
{
	return xp_sys_fs_type(fd) != PIPEFS_MAGIC;
}

bool xp_fs_has_sizes(int fd)
{
	static const int64_t made_up[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
	};
	int64_t type = xp_sys_fs_type(fd);

	for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
		if (type == made_up[i])
			return false;
	return true;
}

bool xp_fs_keeps_births(int fd)
{
	return xp_sys_fs_type(fd) != OVERLAYFS_SUPER_MAGIC;
}

/* In the second word of what statx(2) fills, and, if it is known, the eighth. */
#define MOUNT_ROOT UINT64_C(0x2000)

bool xp_fs_is_mounted(int fd)
{
#ifdef SYS_statx
	uint64_t words[32] = {0};
	long rc = xp_rawcall(SYS_statx, fd, (long)"", AT_EMPTY_PATH, 0, (long)words,
	                     0);

	return rc == 0 && words[1] & words[7] & MOUNT_ROOT;
#else
	(void)fd;
	return false;
#endif
}
