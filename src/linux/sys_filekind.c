/* Properties of a file beyond its type: by /proc, statfs(2) and statx(2). */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/time.h"
#include "linux/sys_linux.h"
#include "sys/fdkind.h"
#include "sys/fskind.h"
#include "sys/rawcall.h"
#include "sys/sys.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif
#ifndef PIPEFS_MAGIC
#define PIPEFS_MAGIC 0x50495045
#endif

/*
 * fstat(2) does not distinguish anonymous files; their names in /proc show eventfds, timerfds and
 * performance counters.  Without /proc the kind is XP_KIND_OTHER; without memory -ENOMEM is
 * returned.
 */
int xp_fd_kind_anonymous(int fd)
{
	char path[XP_FD_PATH_SIZE];
	char name[64];
	int length;

	xp_fd_path(path, fd, "");
	length = xp_sys_readlink(path, name, sizeof name - 1);
	if (length < 0)
		return length == -ENOMEM ? length : XP_KIND_OTHER;
	name[length] = '\0';
	if (strcmp(name, "anon_inode:[eventfd]") == 0 ||
	    strcmp(name, "anon_inode:[timerfd]") == 0)
		return XP_KIND_COUNTER;
	if (strcmp(name, "anon_inode:[perf_event]") == 0)
		return XP_KIND_CLEARED;
	return XP_KIND_OTHER;
}

/*
 * Returns true for all files of the /proc and cgroup2 file systems, because poll(2) clears the
 * condition of some of them: mount tables and sysctls in /proc, PSI triggers in both.
 */
bool xp_fd_poll_clears(int fd)
{
	int64_t type = xp_sys_fs_type(fd);

	return type == PROC_SUPER_MAGIC || type == CGROUP2_SUPER_MAGIC;
}

bool xp_fs_is_named_fifo(int fd)
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

bool xp_fs_has_stable_birth(int fd)
{
	return xp_sys_fs_type(fd) != OVERLAYFS_SUPER_MAGIC;
}

#define FILES_BASIC 0x7ffu /* STATX_BASIC_STATS */
#define FILES_BORN  0x800u /* STATX_BTIME */
#define FILES_MOUNT UINT64_C(0x2000) /* STATX_ATTR_MOUNT_ROOT */

struct files_time {
	int64_t seconds;
	uint32_t nanoseconds;
	int32_t unused;
};

/* The kernel's struct statx; older headers lack it. */
struct files_statx {
	uint32_t mask;
	uint32_t block_size;
	uint64_t attributes;
	uint32_t links;
	uint32_t user;
	uint32_t group;
	uint16_t mode;
	uint16_t unused;
	uint64_t inode;
	uint64_t size;
	uint64_t blocks;
	uint64_t attributes_mask;
	struct files_time times[4]; /* times of access, birth, status change and modification */
	uint32_t device_of_node[2];
	uint32_t device[2];
	uint64_t more[14];
};
_Static_assert(sizeof(struct files_statx) == 256 &&
               offsetof(struct files_statx, device) == 136,
               "as the kernel has it");

static struct timespec statx_timespec(const struct files_time *time)
{
	return (struct timespec){
		.tv_sec = (time_t)time->seconds,
		.tv_nsec = (long)time->nanoseconds,
	};
}

/*
 * Call statx(2) for the fields `what` (STATX_ bits).  On success the kernel fills the whole
 * structure.
 */
static int call_statx(int fd, unsigned what, struct files_statx *seen)
{
	return (int)xp_rawcall(SYS_statx, fd, (long)"", AT_EMPTY_PATH, what, (long)seen, 0);
}

bool xp_fs_is_mount_root(int fd)
{
	struct files_statx seen;

	return call_statx(fd, 0, &seen) == 0 &&
		seen.attributes & seen.attributes_mask & FILES_MOUNT;
}

/*
 * Calls statx(2).  If the kernel lacks that call or a sandbox refuses it, calls fstat(2) and sets
 * *born_ns to 0.
 */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	struct files_statx seen;
	int rc = call_statx(fd, FILES_BASIC | FILES_BORN, &seen);

	*born_ns = 0;
	if (rc == -ENOSYS || rc == -EPERM)
		return xp_sys_fstat(fd, status);
	if (rc < 0)
		return rc;
	*status = (struct stat){
		.st_dev = makedev(seen.device[0], seen.device[1]),
		.st_ino = (ino_t)seen.inode,
		.st_mode = seen.mode,
		.st_nlink = seen.links,
		.st_uid = seen.user,
		.st_gid = seen.group,
		.st_rdev = makedev(seen.device_of_node[0], seen.device_of_node[1]),
		.st_size = (off_t)seen.size,
	};
	status->st_atim = statx_timespec(&seen.times[0]);
	status->st_ctim = statx_timespec(&seen.times[2]);
	status->st_mtim = statx_timespec(&seen.times[3]);
	if (seen.mask & FILES_BORN)
		*born_ns = seen.times[1].seconds * XP_NS_PER_SEC +
			seen.times[1].nanoseconds;
	return 0;
}
