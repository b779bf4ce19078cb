/*
 * The status of a file, like that of fstat(2).  MinGW's structure has too few bits for inode
 * numbers, and its times have only seconds.
 */
#ifndef XP_WINDOWS_POSIX_SYS_STAT_H
#define XP_WINDOWS_POSIX_SYS_STAT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct stat {
	uint64_t st_dev;
	uint64_t st_ino;
	uint32_t st_mode;
	uint32_t st_nlink;
	uint32_t st_uid;
	uint32_t st_gid;
	int64_t st_size;
	struct timespec st_mtim;
	struct timespec st_ctim;
};

#define S_IFMT  0xF0000000u
#define S_IFIFO 0x10000000u
#define S_IFCHR 0x20000000u
#define S_IFDIR 0x40000000u
#define S_IFREG 0x80000000u
/* The other bits of the mode are Windows's FILE_ATTRIBUTE_ bits. */

#define S_ISREG(mode) (((mode) & S_IFMT) == S_IFREG)
#define S_ISDIR(mode) (((mode) & S_IFMT) == S_IFDIR)

#endif
