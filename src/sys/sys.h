/*
 * Every call the library makes into the system, one thin function each.
 *
 * All return a result >= 0 or a negative errno value and leave errno as it
 * was.  Being one seam, it can be replaced at link time: tests fail the n-th
 * call, an interposer reaches the real functions.
 *
 * None of them is a cancellation point but those named xp_sys_*_wait: they
 * are called with a lock held.
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
int64_t xp_sys_realtime(void);   /* since the epoch; it may be set */

/*
 * A descriptor that becomes readable when the real-time clock is set, until it
 * is read; the read fails.  -ENOSYS, -EINVAL: this system has no such thing.
 */
int xp_sys_step_fd(void);

/* Descriptors. */
int xp_sys_close(int fd);
int xp_sys_read(int fd, void *buffer, size_t size);
int xp_sys_write(int fd, const void *buffer, size_t size);
int xp_sys_fstat(int fd, struct stat *status);
/*
 * And when the file was made: a file system may give the number of an inode to
 * the next file.  0: the system does not say.
 */
int xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns);
static inline bool xp_sys_same_birth(int64_t a_ns, int64_t b_ns)
{
	return a_ns == b_ns || a_ns == 0 || b_ns == 0;
}
int64_t xp_sys_offset(int fd);     /* the file offset */
int xp_sys_open_flags(int fd);     /* fcntl F_GETFL; -EBADF: not open */
bool xp_sys_is_path(int fd);       /* O_PATH: it stands for a name */
bool xp_sys_is_tty(int fd);
int xp_sys_readlink(const char *path, char *buffer, size_t size);

/* Look with poll(2), without waiting; restarted after a signal. */
int xp_sys_poll_now(struct pollfd *fds, size_t count);

/* How long that is, for the kernel; NULL: for ever. */
struct timespec;
const struct timespec *xp_sys_time_left(int64_t deadline_ns,
                                        struct timespec *left);
/* The same of a call that takes a mask of signals. */
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

/* Both ends without blocking and close-on-exec. */
int xp_sys_pipe(int ends[2]);

/*
 * Hold signals back, but those that report what this thread has done wrong, as
 * a fault in the program's array, or SIGSYS in a sandbox; *before is what was
 * blocked.  Async-signal-safe.
 */
void xp_sys_signals_hold(sigset_t *before);
void xp_sys_signals_release(const sigset_t *before);

/* sigaction(2). */
int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before);

/* Returns true if the mask, or that of the calling thread (NULL), blocks the signal. */
bool xp_sys_signal_is_blocked(int number, const sigset_t *mask);

/* How much can be read or written; none of them changes anything. */
int64_t xp_sys_unread(int fd);      /* bytes; -EINVAL: a listener */
/* getsockopt(2). */
int xp_sys_option(int fd, int level, int name, void *value, size_t size);
bool xp_sys_is_stream(int fd);      /* a socket of SOCK_STREAM */
int64_t xp_sys_backlog(int fd);     /* of a listener, at least 1; -EINVAL */
bool xp_sys_is_listener(int fd);    /* SO_ACCEPTCONN */
/* Is a socket that looks unconnected a listener of TCP's that was shut down? */
bool xp_sys_was_listener(int fd);
int64_t xp_sys_socket_room(int fd); /* bytes of the send buffer */
/* Bytes that a socket, or a pipe, still has to hand on; -ENOTSUP. */
int64_t xp_sys_unsent(int fd);
int64_t xp_sys_pipe_size(int fd);   /* bytes: unread and room; or negative */
int64_t xp_sys_pipe_room(int fd);   /* bytes */
/* SO_ERROR, which is cleared by that; 0: none, or one that a listener is to keep. */
int xp_sys_take_error(int fd);

/*
 * The wait status of a child that has ended, as waitpid(2) would give it;
 * nothing is reaped.  -ECHILD: no child; -EAGAIN: it has not ended.
 */
int xp_sys_peek_child(pid_t pid, int *status);

/* A page that reads as zeros in a forked child; NULL where there is none. */
void *xp_sys_wiped_page(void);

/* The environment; NULL in set-user-id programs. */
const char *xp_sys_getenv(const char *name);

#endif
