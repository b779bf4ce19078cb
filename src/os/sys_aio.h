/* What asynchronous I/O asks of the system: see sys.h for the conventions. */
#ifndef XP_OS_SYS_AIO_H
#define XP_OS_SYS_AIO_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	XP_FILE_READABLE = 1,
	XP_FILE_WRITABLE = 2,
	XP_FILE_DIRECT = 4,    /* past the page cache */
	XP_FILE_DIRECTORY = 8,
	XP_FILE_OTHER = 16,    /* not on a disk: a pipe, a terminal ... */
};

/* What a descriptor is open for, and of what; -EBADF. */
int xp_sys_file_traits(int fd);

/*
 * Read what can be had without waiting for a device: bytes, less than size
 * only at the end of the file; -EAGAIN: not all of it, or who knows.
 */
int64_t xp_sys_read_cached(int fd, void *buffer, size_t size, int64_t offset);

/* These wait for the device. */
int64_t xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t xp_sys_pwrite(int fd, const void *buffer, size_t size, int64_t offset);
int xp_sys_fsync(int fd);
int xp_sys_fdatasync(int fd);

/* A thread that gets no signal.  Joining it is no cancellation point. */
int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);
void xp_sys_thread_join(pthread_t thread);
/* For a condition whose moments are of the monotonic clock. */
int xp_sys_cond_init(pthread_cond_t *condition);
/* deadline_ns: XP_NEVER or a moment; 0 or -ETIMEDOUT.  No cancellation point. */
int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns);

/*
 * io_uring(7).  -ENOSYS: not in this system; -EPERM, -EACCES: not allowed.
 * enter: consume `submit` entries and wait until `wait` have completed.
 */
struct io_uring_params;
int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops);
/* Memory shared with the kernel; NULL: refused. */
void *xp_sys_uring_map(int ring_fd, size_t size, uint64_t offset);
void xp_sys_uring_unmap(void *memory, size_t size);

#endif
