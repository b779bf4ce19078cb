/*
 * All system calls of the library, one thin function each.
 *
 * Each returns a result >= 0 or a negative errno value, and preserves errno.  They can be replaced
 * at link time: tests make the n-th call fail, and a drop-in redirects them to the real functions.
 *
 * Only functions named xp_sys_*_wait are cancellation points; all others are called with a lock
 * held.
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
int64_t xp_sys_now_coarse(void); /* the same clock, cheap, a few ms behind */
int64_t xp_sys_realtime(void);   /* since the epoch; it can be set */

/*
 * Returns a descriptor that becomes readable when the real-time clock is set, until it is read; the
 * read fails.  -ENOSYS, -EINVAL: not supported.
 */
int xp_sys_step_fd(void);

/* Descriptors. */
int xp_sys_close(int fd);
int xp_sys_read(int fd, void *buffer, size_t size);
int xp_sys_write(int fd, const void *buffer, size_t size);
int xp_sys_fstat(int fd, struct stat *status);
/*
 * The same, and the time of the file's birth, because a file system may reuse the number of an
 * inode for the next file.  0: unknown.
 */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns);
static inline bool xp_sys_same_birth(int64_t a_ns, int64_t b_ns)
{
	return a_ns == b_ns || a_ns == 0 || b_ns == 0;
}
int64_t xp_sys_offset(int fd);     /* the file offset */
int xp_sys_open_flags(int fd);     /* fcntl F_GETFL; -EBADF: not open */
bool xp_sys_is_path(int fd);       /* opened with O_PATH */
bool xp_sys_is_tty(int fd);
int xp_sys_readlink(const char *path, char *buffer, size_t size);

/* poll(2) with timeout 0; restarted after a signal. */
int xp_sys_poll_now(struct pollfd *fds, size_t count);

/* Convert a deadline to a timeout in *left.  Returns left, or NULL: for ever. */
struct timespec;
const struct timespec *xp_sys_time_left(int64_t deadline_ns,
                                        struct timespec *left);
/* The same for a call with a signal mask. */
const struct timespec *xp_sys_time_masked(int64_t deadline_ns, const sigset_t *mask,
                                          struct timespec *left);

/*
 * Wait with ppoll(2) until deadline_ns; mask may be NULL.  A cancellation
 * point.  0 is returned only at the deadline.
 */
int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask);

/*
 * Returns 0, or the error with which a sandbox refuses poll(2) or ppoll(2): no back end could
 * sleep until a timer is due then.
 */
int xp_sys_poll_refused(void);

/* Like xp_sys_poll_wait, with pselect(2); the three sets hold bits words of long. */
int xp_sys_select_now(int count, long *in, long *out, long *except);
int xp_sys_select_wait(int count, long *const sets[3], int64_t deadline_ns,
                       const sigset_t *mask);

/* Both ends are nonblocking and close-on-exec. */
int xp_sys_pipe(int ends[2]);

/*
 * Block all signals except those that report an error of this thread, such as a fault in the
 * program's array, or SIGSYS in a sandbox; *before is the previous mask.  Async-signal-safe.
 */
void xp_sys_signals_hold(sigset_t *before);
void xp_sys_signals_release(const sigset_t *before);

/* sigaction(2). */
int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before);

/* Returns true if the mask, or that of the calling thread (NULL), blocks the signal. */
bool xp_sys_signal_is_blocked(int number, const sigset_t *mask);

/* How much can be read or written; these have no side effects. */
int64_t xp_sys_unread(int fd);      /* bytes; -EINVAL: a listener */
/* getsockopt(2). */
int xp_sys_option(int fd, int level, int name, void *value, size_t size);
bool xp_sys_is_stream(int fd);      /* a socket of SOCK_STREAM */
int64_t xp_sys_backlog(int fd);     /* of a listener, at least 1; -EINVAL */
bool xp_sys_is_listener(int fd);    /* SO_ACCEPTCONN */
/* Returns true if a socket that looks unconnected is a TCP listener that was shut down. */
bool xp_sys_was_listener(int fd);
int64_t xp_sys_socket_room(int fd); /* bytes of the send buffer */
/* bytes that a socket or pipe has not passed on yet; -ENOTSUP */
int64_t xp_sys_unsent(int fd);
int64_t xp_sys_pipe_size(int fd);   /* bytes: unread and room; or negative */
int64_t xp_sys_pipe_room(int fd);   /* bytes */
/* Read and clear SO_ERROR; 0: none, or one that a listener has to keep. */
int xp_sys_take_error(int fd);

/*
 * Store the wait status of a child that has exited, like waitpid(2), without reaping it.  -ECHILD:
 * not a child; -EAGAIN: it has not exited.
 */
int xp_sys_peek_child(pid_t pid, int *status);

/* Returns a page that reads as zeros in a forked child; NULL: not supported. */
void *xp_sys_wiped_page(void);

/* Returns a variable of the environment; NULL in set-user-ID programs. */
const char *xp_sys_getenv(const char *name);

#endif
