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
	XP_FILE_DIRECT = 4,    /* past the page cache */
	XP_FILE_DIRECTORY = 8,
	XP_FILE_OTHER = 16,    /* not on a disk: a pipe, a terminal ... */
};

/* Which file, and how it is open: as long as it is, no other has the same. */
struct xp_file_id {
	uint64_t device;
	uint64_t inode;
	int flags;  /* F_GETFL */
	int traits; /* XP_FILE_... */
};

/* Returns the traits of a descriptor, and stores its file in *id; -EBADF. */
int xp_sys_file_traits(int fd, struct xp_file_id *id);

/*
 * Another descriptor of the same open file, close-on-exec; -EMFILE, -ENFILE.
 * A close of any descriptor of a file releases the record locks (fcntl(2),
 * F_SETLK) that the process has there.  -ENOTSUP: it may have some, or this
 * system does not say.
 */
int xp_sys_file_hold(int fd);
/* Close such a one; -EBUSY: not now, since it has locks there by now. */
int xp_sys_file_let_go(int held);
/* Is fd still of the open file that is held so?  False: or this system does not say. */
bool xp_sys_file_is_held(int fd, int held);

/*
 * Read what can be had without waiting for a device: bytes, less than size
 * only at the end of the file; -EAGAIN: not all of it, or who knows.  Any
 * descriptor may be given: that it cannot be read is -EAGAIN as well.
 */
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset);

/* These wait for the device. */
int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset);
int xp_sys_fsync(int fd);
int xp_sys_fdatasync(int fd);

#endif
