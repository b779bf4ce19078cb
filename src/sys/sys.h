/*
 * All system calls of the library, one thin function each.
 *
 * Each returns a result >= 0 or a negative errno value, and preserves errno.  Functions can be
 * replaced at link time: tests make the n-th call fail, and the drop-ins, which define functions
 * such as poll(2) themselves, make these call the C library's.
 *
 * Only functions named xp_sys_*_wait, and the I/O of sys_aio.h, are cancellation points; the others
 * may be called with a lock held.
 */
#ifndef XP_SYS_SYS_H
#define XP_SYS_SYS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __APPLE__
#define st_birthtim st_birthtimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

/* Clocks, in nanoseconds. */
int64_t xp_sys_now(void);        /* monotonic */
int64_t xp_sys_now_coarse(void); /* monotonic, up to some ms behind, but faster to read */
int64_t xp_sys_realtime(void);   /* real-time clock, since the Epoch; an administrator can set it */

/*
 * Returns a descriptor that becomes readable when the real-time clock is set, and stays readable
 * until read(2), which fails, is called.  -ENOSYS, -EINVAL: not supported.
 */
int xp_sys_clock_step_fd(void);

/* Descriptors. */
int xp_sys_close(int fd);
int xp_sys_read(int fd, void *buffer, size_t size);
int xp_sys_write(int fd, const void *buffer, size_t size);
int xp_sys_fstat(int fd, struct stat *status);
/*
 * Like xp_sys_fstat, and stores when the file was created (0: unknown), which distinguishes the
 * file from a later one that got the same inode number.
 */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns);
/* Returns true if the times are equal or one is unknown. */
static inline bool xp_sys_same_birth(int64_t a_ns, int64_t b_ns)
{
	return a_ns == b_ns || a_ns == 0 || b_ns == 0;
}
int64_t xp_sys_offset(int fd);     /* the file offset; negative if there is none (a pipe) */
int xp_sys_open_flags(int fd);     /* flags of fcntl(2), F_GETFL; -EBADF: fd is not open */
bool xp_sys_is_path(int fd);       /* true: opened with O_PATH */
bool xp_sys_is_tty(int fd);
int xp_sys_readlink(const char *path, char *buffer, size_t size);

/* poll(2) with timeout 0; restarted after a signal. */
int xp_sys_poll_now(struct pollfd *fds, size_t count);

/* Convert a deadline to a timeout in *left.  Returns left; NULL: no timeout (XP_NEVER). */
struct timespec;
const struct timespec *xp_sys_time_left(int64_t deadline_ns,
                                        struct timespec *left);
/*
 * Like xp_sys_time_left, for a call with a signal mask: where a call with timeout 0 would not
 * return EINTR for a pending signal (XP_PROBE_HIDES_EINTR), the timeout is a microsecond.
 */
const struct timespec *xp_sys_time_left_masked(int64_t deadline_ns, const sigset_t *mask,
                                               struct timespec *left);

/*
 * Wait with ppoll(2) until deadline_ns.  mask: the signal mask during the wait, or NULL.  Returns 0
 * only at the deadline.  A cancellation point.
 */
int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask);

/*
 * Returns 0, or the error with which a sandbox refuses poll(2) or ppoll(2); then no back end can
 * work, because none could sleep until a timer is due.
 */
int xp_sys_check_poll(void);

/*
 * Like xp_sys_poll_now and xp_sys_poll_wait, with select(2): arrays of long with one bit for each
 * descriptor below count.
 */
int xp_sys_select_now(int count, long *in, long *out, long *except);
int xp_sys_select_wait(int count, long *const sets[3], int64_t deadline_ns,
                       const sigset_t *mask);

/* pipe(2) with both ends nonblocking and close-on-exec. */
int xp_sys_pipe(int ends[2]);

/*
 * Block all signals except those that report a fault of the calling thread, such as SIGSEGV for a
 * wrong address from the program, or SIGSYS in a sandbox; *before is the previous mask.
 * Async-signal-safe.
 */
void xp_sys_signals_hold(sigset_t *before);
/* Restore the signal mask that xp_sys_signals_hold stored. */
void xp_sys_signals_release(const sigset_t *before);

/* sigaction(2) of the C library, even if a drop-in defines this function. */
int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before);

/* Returns true if the mask blocks the signal; NULL: the mask of the calling thread. */
bool xp_sys_signal_is_blocked(int number, const sigset_t *mask);

/*
 * Queries about a descriptor, without side effects, except that reading SO_ERROR, by
 * xp_sys_take_error or xp_sys_option, clears it.
 */
int64_t xp_sys_unread(int fd);      /* bytes to read; -EINVAL: fd is a listener */
/* getsockopt(2). */
int xp_sys_option(int fd, int level, int name, void *value, size_t size);
bool xp_sys_is_stream(int fd);      /* a socket of SOCK_STREAM */
/* connections to accept; 1: none, or the number is unknown; -EINVAL: fd is no listener */
int64_t xp_sys_backlog(int fd);
bool xp_sys_is_listener(int fd);    /* SO_ACCEPTCONN */
/*
 * Returns true if the socket, which poll(2) reports as unconnected, is a TCP listener that was shut
 * down.
 */
bool xp_sys_was_listener(int fd);
/*
 * Returns the free bytes in the send buffer; on Windows, where these cannot be queried, the size of
 * the buffer; or a negative errno value.
 */
int64_t xp_sys_socket_room(int fd);
/*
 * Returns how many written bytes a socket has not sent, or a pipe's reader has not read; -ENOTSUP:
 * the kernel does not report the number.
 */
int64_t xp_sys_unsent(int fd);
int64_t xp_sys_pipe_size(int fd);   /* capacity of a pipe in bytes */
int64_t xp_sys_pipe_room(int fd);   /* free bytes in a pipe */
/*
 * Returns SO_ERROR, which the kernel clears, as a positive errno value; 0: none, or fd is a
 * listener whose error must not be cleared, because poll(2) would no longer report its shutdown.
 */
int xp_sys_take_error(int fd);

/*
 * Store the wait status of a child that has exited, as waitpid(2) would, without reaping the child.
 * -ECHILD: pid is no child of this process; -EAGAIN: the child has not exited.
 */
int xp_sys_peek_child(pid_t pid, int *status);

/* Returns a page of memory that the kernel clears in a forked child; NULL: not supported. */
void *xp_sys_wipe_on_fork_page(void);

/*
 * Returns a variable of the environment; NULL if it is not set, and always in set-user-ID programs.
 */
const char *xp_sys_getenv(const char *name);

#endif
