/* Properties of the file system of an open file. */
#ifndef XP_SYS_FSKIND_H
#define XP_SYS_FSKIND_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Returns true for a file, directory, device or FIFO in a file system; false for sockets, pipes and
 * files that the kernel makes up.
 */
bool xp_fs_is_file(int fd, mode_t mode);

/* For xp_fs_is_file: returns true if this FIFO has a name in a file system, and is not a pipe. */
bool xp_fs_holds_fifo(int fd);

/*
 * Returns true if the size of a regular file is what can be read.  False if the kernel writes the
 * text while it is read: in /proc, /sys and the like.
 */
bool xp_fs_has_sizes(int fd);

/* Returns false if the file system copies a file at its first write, with another time of birth. */
bool xp_fs_keeps_births(int fd);

/*
 * Returns true if something is mounted on this directory: then its parent directory is not the one
 * that has its name.  Before Linux 5.8 always false.
 */
bool xp_fs_is_mounted(int fd);

#endif
