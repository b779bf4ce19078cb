/* Kinds of file systems, by statfs(2). */
#include "os/fskind.h"

#include <linux/magic.h>
#include <stddef.h>

#include "os/sys_linux.h"

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
