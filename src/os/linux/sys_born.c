/* When a file was made: statx(2). */
#include "os/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/sysmacros.h>

#include "base/time.h"
#include "os/rawcall.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

#define FILES_BASIC 0x7ffu /* STATX_BASIC_STATS */
#define FILES_BORN  0x800u /* STATX_BTIME */

struct files_time {
	int64_t seconds;
	uint32_t nanoseconds;
	int32_t unused;
};

/* The kernel's struct statx, which older headers lack. */
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
	struct files_time times[4]; /* of access, birth, change, modification */
	uint32_t device_of_node[2];
	uint32_t device[2];
	uint64_t more[14];
};
_Static_assert(sizeof(struct files_statx) == 256 &&
               offsetof(struct files_statx, device) == 136,
               "as the kernel has it");

static struct timespec files_time(const struct files_time *time)
{
	return (struct timespec){
		.tv_sec = (time_t)time->seconds,
		.tv_nsec = (long)time->nanoseconds,
	};
}

/* Where there is no statx(2), or a sandbox has none, nobody knows of births. */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	struct files_statx seen; /* the kernel fills all of it */
	int rc = (int)xp_rawcall(SYS_statx, fd, (long)"", AT_EMPTY_PATH,
	                         FILES_BASIC | FILES_BORN, (long)&seen, 0);

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
	status->st_atim = files_time(&seen.times[0]);
	status->st_ctim = files_time(&seen.times[2]);
	status->st_mtim = files_time(&seen.times[3]);
	if (seen.mask & FILES_BORN)
		*born_ns = seen.times[1].seconds * XP_NS_PER_SEC +
			seen.times[1].nanoseconds;
	return 0;
}
