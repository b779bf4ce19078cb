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
	XP_FILE_DIRECT = 4,    /* bypasses the page cache */
	XP_FILE_DIRECTORY = 8,
	XP_FILE_OTHER = 16,    /* not on a disk: a pipe, a terminal ... */
};

/* Identifies an open file and how it was opened; unique as long as it is open. */
struct xp_file_id {
	uint64_t device;
	uint64_t inode;
	int flags;  /* F_GETFL */
	int traits; /* XP_FILE_... */
};

/* Returns the traits of a descriptor, and stores its file in *id; -EBADF. */
int xp_sys_file_traits(int fd, struct xp_file_id *id);

/*
 * Duplicate fd, close-on-exec; -EMFILE, -ENFILE.  Closing any descriptor of a file releases the
 * record locks (fcntl(2), F_SETLK) that the process has on it.  -ENOTSUP: it may have some, or that
 * is unknown.
 */
int xp_sys_file_hold(int fd);
/* Close such a duplicate; -EBUSY: not now, because the process has locks on the file by now. */
int xp_sys_file_let_go(int held);
/*
 * Returns true if fd still refers to the open file of `held`; false if not, or if that is unknown.
 */
bool xp_sys_file_is_held(int fd, int held);

/*
 * Read without waiting for a device.  Returns the number of bytes, less than size only at the end
 * of the file; -EAGAIN: not all of it can be read so, or that is unknown, or fd cannot be read at
 * all.
 */
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset);

/* These wait for the device. */
int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset);
int xp_sys_fsync(int fd);
int xp_sys_fdatasync(int fd);

#endif
