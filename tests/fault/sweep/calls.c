/*
 * The library's calls of C library functions and its allocations, each of which
 * the sweep can make fail.
 */
#include "sweep.h"

#include "base/alloc.h"
#include "linux/sys_linux.h"
#include "linux/sys_uring.h"
#include "sys/sys.h"
#include "sys/sys_aio.h"
#include "sys/sys_threads.h"

#include <sys/epoll.h>

/* Defines the wrapper of a function that returns a negative errno value on failure. */
#define SWEPT(type, name, kind, parameters, arguments)       \
	type __real_##name parameters;                       \
	type __wrap_##name parameters;                       \
	type __wrap_##name parameters                        \
	{                                                    \
		int error;                                   \
                                                             \
		return sweep_fails(kind, &error)             \
		           ? (type)-error                    \
		           : __real_##name arguments;        \
	}

/* Defines the wrapper of a call that returns a new descriptor. */
#define SWEPT_FD(name, kind, parameters, arguments)                    \
	int __real_##name parameters;                                  \
	int __wrap_##name parameters;                                  \
	int __wrap_##name parameters                                   \
	{                                                              \
		int error;                                             \
		int fd = sweep_fails(kind, &error)                     \
		             ? -error                                  \
		             : __real_##name arguments;                \
                                                                       \
		sweep_own(fd);                                         \
		return fd;                                             \
	}

/* Defines the wrapper of a call that returns memory, or NULL. */
#define SWEPT_MEMORY(name, kind, parameters, arguments)                \
	void *__real_##name parameters;                                \
	void *__wrap_##name parameters;                                \
	void *__wrap_##name parameters                                 \
	{                                                              \
		int error;                                             \
		void *memory = sweep_fails(kind, &error)               \
		                   ? NULL                              \
		                   : __real_##name arguments;          \
                                                                       \
		sweep_hold(memory ? 1 : 0);                            \
		return memory;                                         \
	}

SWEPT_MEMORY(xp_zalloc, SWEEP_ALLOC, (size_t size), (size))
SWEPT_MEMORY(xp_alloc_aligned, SWEEP_ALLOC_LINES, (size_t size), (size))

SWEPT_FD(xp_sys_eventfd, SWEEP_MAKE_FD, (bool semaphore), (semaphore))
SWEPT_FD(xp_sys_epoll_create, SWEEP_MAKE_FD, (void), ())
SWEPT_FD(xp_sys_timer_fd, SWEEP_MAKE_FD, (void), ())
SWEPT_FD(xp_sys_signal_fd, SWEEP_MAKE_FD, (int number), (number))
SWEPT_FD(xp_sys_file_hold, SWEEP_DUPLICATE, (int number), (number))
SWEPT_FD(xp_sys_clock_step_fd, SWEEP_STEP_FD, (void), ())
SWEPT_FD(xp_sys_inotify_open, SWEEP_WATCH_OPEN, (void), ())
SWEPT_FD(xp_sys_uring_setup, SWEEP_RING,
         (unsigned entries, struct io_uring_params *params), (entries, params))

SWEPT(int64_t, xp_sys_offset, SWEEP_TELL, (int fd), (fd))
SWEPT(int64_t, xp_sys_fs_type, SWEEP_FS_TYPE, (int fd), (fd))
SWEPT(int, xp_sys_readlink, SWEEP_READLINK,
      (const char *path, char *buffer, size_t size), (path, buffer, size))
SWEPT(int, xp_sys_poll_wait, SWEEP_ARRAY_WAIT,
      (struct pollfd *fds, size_t count, int64_t deadline_ns,
       const sigset_t *mask),
      (fds, count, deadline_ns, mask))
SWEPT(int, xp_sys_select_wait, SWEEP_ARRAY_WAIT,
      (int count, long *const sets[3], int64_t deadline_ns,
       const sigset_t *mask),
      (count, sets, deadline_ns, mask))
SWEPT(int, xp_sys_epoll_wait, SWEEP_WAIT,
      (int epoll_fd, struct epoll_event *events, int cap, int64_t deadline_ns),
      (epoll_fd, events, cap, deadline_ns))
SWEPT(int, xp_sys_inotify_add, SWEEP_WATCH_ADD,
      (int inotify_fd, const char *path, uint32_t mask),
      (inotify_fd, path, mask))
SWEPT(int64_t, xp_sys_unread, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_unsent, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_backlog, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_socket_room, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_pipe_size, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_pipe_room, SWEEP_COUNT, (int fd), (fd))
SWEPT(int, xp_sys_take_error, SWEEP_COUNT, (int fd), (fd))
SWEPT(int64_t, xp_sys_read_cached, SWEEP_READ_CACHED,
      (int fd, void *buffer, size_t size, int64_t offset),
      (fd, buffer, size, offset))
SWEPT(int, xp_sys_fsync, SWEEP_SYNC, (int fd), (fd))
SWEPT(int, xp_sys_fdatasync, SWEEP_SYNC, (int fd), (fd))
SWEPT(int, xp_sys_thread_start, SWEEP_THREAD,
      (pthread_t *thread, void *(*run)(void *), void *argument),
      (thread, run, argument))
SWEPT(int, xp_sys_cond_init, SWEEP_CONDITION, (pthread_cond_t *condition),
      (condition))
SWEPT(int, xp_sys_uring_enter, SWEEP_RING_ENTER,
      (int ring_fd, unsigned submit, unsigned wait), (ring_fd, submit, wait))
SWEPT(int, xp_sys_uring_probe, SWEEP_RING_PROBE,
      (int ring_fd, void *probe, unsigned ops), (ring_fd, probe, ops))

void *__real_xp_realloc(void *memory, size_t size);
void *__wrap_xp_realloc(void *memory, size_t size);
void *__wrap_xp_realloc(void *memory, size_t size)
{
	int error;
	void *grown;

	if (sweep_fails(SWEEP_REALLOC, &error))
		return NULL;
	grown = __real_xp_realloc(memory, size);
	sweep_hold(grown && !memory ? 1 : 0);
	return grown;
}

void __real_xp_free(void *memory);
void __wrap_xp_free(void *memory);
void __wrap_xp_free(void *memory)
{
	sweep_hold(memory ? -1 : 0);
	__real_xp_free(memory);
}

int __real_xp_sys_map(int fd, size_t size, uint64_t offset, void **memory);
int __wrap_xp_sys_map(int fd, size_t size, uint64_t offset, void **memory);
int __wrap_xp_sys_map(int fd, size_t size, uint64_t offset, void **memory)
{
	int error;
	int rc;

	if (sweep_fails(SWEEP_MAP, &error)) {
		*memory = NULL;
		return -error;
	}
	rc = __real_xp_sys_map(fd, size, offset, memory);
	sweep_hold(rc == 0 ? 1 : 0);
	return rc;
}

void __real_xp_sys_unmap(void *memory, size_t size);
void __wrap_xp_sys_unmap(void *memory, size_t size);
void __wrap_xp_sys_unmap(void *memory, size_t size)
{
	sweep_hold(-1);
	__real_xp_sys_unmap(memory, size);
}

bool __real_xp_sys_is_tty(int fd);
bool __wrap_xp_sys_is_tty(int fd);
bool __wrap_xp_sys_is_tty(int fd)
{
	int error;

	return !sweep_fails(SWEEP_IS_TTY, &error) && __real_xp_sys_is_tty(fd);
}

/* fstat(2) of a pipe or a socket needs no file system, so it never fails. */
int __real_xp_sys_fstat(int fd, struct stat *status);
int __wrap_xp_sys_fstat(int fd, struct stat *status);
int __wrap_xp_sys_fstat(int fd, struct stat *status)
{
	int rc = __real_xp_sys_fstat(fd, status);
	int error;

	if (rc < 0 || !(S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
		return rc;
	return sweep_fails(SWEEP_FSTAT, &error) ? -error : 0;
}

int __real_xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns);
int __wrap_xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns);
int __wrap_xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	int rc = __real_xp_sys_fstat_born(fd, status, born_ns);
	int error;

	if (rc < 0 || !(S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
		return rc;
	return sweep_fails(SWEEP_FSTAT, &error) ? -error : 0;
}

/* Make the call transfer less than possible, or fail. */
static bool transfer_fails(size_t *size, int64_t *result)
{
	int error;

	if (!sweep_fails(SWEEP_TRANSFER, &error))
		return false;
	if (error == SWEEP_SHORT) {
		*size = (*size + 1) / 2;
		return false;
	}
	*result = -error;
	return true;
}

int64_t __real_xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t __wrap_xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset);
int64_t __wrap_xp_sys_pread(int fd, void *buffer, size_t size, int64_t offset)
{
	int64_t result;

	return transfer_fails(&size, &result)
	           ? result
	           : __real_xp_sys_pread(fd, buffer, size, offset);
}

int64_t __real_xp_sys_pwrite(int fd, const void *buffer, size_t size,
                             int64_t offset);
int64_t __wrap_xp_sys_pwrite(int fd, const void *buffer, size_t size,
                             int64_t offset);
int64_t __wrap_xp_sys_pwrite(int fd, const void *buffer, size_t size,
                             int64_t offset)
{
	int64_t result;

	return transfer_fails(&size, &result)
	           ? result
	           : __real_xp_sys_pwrite(fd, buffer, size, offset);
}
