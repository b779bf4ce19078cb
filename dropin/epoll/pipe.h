/*
 * The pipe behind the descriptor of a timer or of a signalfd.
 *
 * The program's descriptor is a duplicate of the read end.  The pipe has a byte in it while the
 * timer or signalfd is readable, and each further byte makes a new edge.
 *
 * If a read(2) of the program has to sleep, it must not sleep in a read(2) of the pipe.  That would
 * take a byte without the lock, and unread_bytes would still count that byte.  poll(2) is no
 * alternative, because it fails with EINTR even after a signal handler with SA_RESTART.  So the
 * first read that has to sleep makes a socket pair, in which a message waits while the pipe has a
 * byte.  Reads sleep in a recv(2) with MSG_PEEK, which leaves the message there.
 *
 * All timers share one lock, and all signalfds share another one.  ep_pipe_notify, ep_pipe_drain
 * and ep_pipe_unshare are called with that lock.
 */
#ifndef EP_PIPE_H
#define EP_PIPE_H

#include "ep.h"
#include "lock.h"

struct ep_pipe {
	int fds[2];       /* the pipe; the program has a duplicate of fds[0] */
	int unread_bytes; /* number of bytes in the pipe */
	int sleep_fds[2]; /* socket pair; reads sleep in recv(2) of sleep_fds[0]; -1: none yet */
};

/* The flags that timerfd_create(2) and signalfd(2) accept. */
#define EP_PIPE_FLAGS (O_CLOEXEC | O_NONBLOCK)

/*
 * Make the pipe.  Returns the program's descriptor, which has the given EP_PIPE_FLAGS, or -errno.
 */
int ep_pipe_open(struct ep_pipe *pipe, int flags);
void ep_pipe_close(struct ep_pipe *pipe);
/*
 * Write a byte into the pipe, which makes the program's descriptor readable.  If the descriptor is
 * readable already, the byte makes a new edge.  Does nothing if the pipe has 256 bytes.
 */
void ep_pipe_notify(struct ep_pipe *pipe);
/* Read all bytes out of the pipe, so that the program's descriptor is not readable. */
void ep_pipe_drain(struct ep_pipe *pipe);
/*
 * In a forked child: replace the pipe, which is shared with the parent, by a new pipe, so that
 * neither process reads the other's bytes.  If no descriptor is free, the child keeps the parent's
 * pipe.
 */
void ep_pipe_unshare(struct ep_object *object, struct ep_pipe *pipe);
/*
 * Called for a read(2) of the program that finds nothing to read: sleeps until the program's
 * descriptor fd is readable.  Returns 0; -EAGAIN if fd is non-blocking; or another negative errno
 * value.  `lock` is the lock of all timers or of all signalfds.  The caller does not hold that
 * lock.
 */
int ep_pipe_wait(struct ep_object *object, struct ep_pipe *pipe, pthread_mutex_t *lock, int fd);
/*
 * Start a detached thread with all signals blocked, so that it runs no signal handler of the
 * program.  Returns 0 or -errno.
 */
int ep_thread_start(void *(*run)(void *));

#endif
