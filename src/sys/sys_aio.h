/* System calls for asynchronous I/O: see sys.h for the conventions. */
#ifndef XP_SYS_SYS_AIO_H
#define XP_SYS_SYS_AIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	XP_FILE_READABLE = 1,
	XP_FILE_WRITABLE = 2,
	XP_FILE_DIRECT = 4,    /* O_DIRECT: bypasses the page cache */
	XP_FILE_DIRECTORY = 8,
	XP_FILE_OTHER = 16,    /* no regular file, block device or directory: a pipe ... */
};

/*
 * Identifies a file and how a descriptor of it was opened; no other file has the same numbers while
 * this one is open.
 */
struct xp_file_id {
	uint64_t device;
	uint64_t inode;
	int flags;  /* of fcntl(2), F_GETFL */
	int traits; /* bits XP_FILE_READABLE ... of the descriptor */
};

/*
 * Returns the XP_FILE_ traits of a descriptor, and stores the identity of its file in *id; -EBADF.
 */
int xp_sys_file_traits(int fd, struct xp_file_id *id);

/*
 * Duplicate fd, close-on-exec.  Closing any descriptor of a file releases the process's record
 * locks on it (fcntl(2), F_SETLK), so a duplicate could not be closed without harm: -ENOTSUP if the
 * process may have such locks.  -EMFILE, -ENFILE.
 */
int xp_sys_file_hold(int fd);
/*
 * Close a duplicate that xp_sys_file_hold made; -EBUSY: `held` stays open, because the process may
 * have got record locks on the file since.
 */
int xp_sys_file_let_go(int held);
/*
 * Returns true if fd refers to the same open file as the duplicate `held`; false also if that is
 * unknown.
 */
bool xp_sys_file_is_held(int fd, int held);

/*
 * Read from the page cache, without waiting for a device.  Returns the number of bytes, less than
 * size only at the end of the file.  -EAGAIN: not all of these bytes are cached, or that is
 * unknown, or fd cannot be read.
 */
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset);

/*
 * Ordinary I/O, which waits for the device.  Cancellation points, unlike the functions above: only
 * threads of the library may call these.
 */
int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset);
int xp_sys_fsync(int fd);
int xp_sys_fdatasync(int fd);

#endif
