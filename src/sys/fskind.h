/* Properties of the file system of an open file. */
#ifndef XP_SYS_FSKIND_H
#define XP_SYS_FSKIND_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Returns true if fd, which has this st_mode, is in a file system: a file, directory, device or
 * FIFO.  Returns false for sockets, pipes and files that the kernel makes up, such as an eventfd.
 */
bool xp_fs_contains(int fd, mode_t mode);

/*
 * Called by xp_fs_contains: returns true for a FIFO that has a name in a file system, and false for
 * a pipe.
 */
bool xp_fs_is_named_fifo(int fd);

/*
 * Returns true if st_size of a regular file is the number of bytes that can be read.  Returns false
 * for files whose text the kernel makes up when it is read, as in /proc and /sys.
 */
bool xp_fs_has_sizes(int fd);

/*
 * Returns false if the time of birth of this file may change: overlayfs copies a file at its first
 * write, and reports the time of the copy from then on.
 */
bool xp_fs_has_stable_birth(int fd);

/*
 * Returns true if this directory is the root of a mount.  Then its ".." is the directory that
 * contains the mount point, where a rename of this directory itself is not reported.  Always false
 * before Linux 5.8.
 */
bool xp_fs_is_mount_root(int fd);

#endif
