/* The kind of file system that an open file is on, where that makes a difference. */
#ifndef XP_SYS_FSKIND_H
#define XP_SYS_FSKIND_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * A file, directory, device or FIFO that a file system holds?  Not sockets,
 * anonymous pipes, and what the kernel makes up.
 */
bool xp_fs_is_file(int fd, mode_t mode);

/* For xp_fs_is_file: has this FIFO a name in a file system?  Else it is a pipe. */
bool xp_fs_holds_fifo(int fd);

/*
 * Is a regular file's size how much can be read?  Not where the kernel writes
 * the text while it is read: in /proc, /sys and the like.
 */
bool xp_fs_has_sizes(int fd);

/* Not where a file is copied when it is first written, with another birth. */
bool xp_fs_keeps_births(int fd);

/*
 * Is something mounted here, and seen from there?  Then the directory above is
 * not the one that holds its name.  Before Linux 5.8 nobody knows: false.
 */
bool xp_fs_is_mounted(int fd);

#endif
