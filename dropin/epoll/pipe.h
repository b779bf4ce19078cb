/*
 * The pipe behind the descriptor of a timer or of a signalfd.
 *
 * The program's descriptor is a duplicate of the read end.  The pipe has a byte in it while the
 * timer or signalfd is readable, and each further byte makes a new edge.
 *
 * A read(2) of the program must not sleep in the pipe, because it would take a byte.  It must not
 * sleep in poll(2) either, which fails with EINTR even after a signal handler with SA_RESTART.  So
 * the first read that sleeps makes a socket pair, which has a message while the pipe has a byte,
 * and sleeps in a recv(2) that leaves the message there.
 *
 * ep_pipe_notify, ep_pipe_drain and ep_pipe_unshare are called with the lock of all timers or of
 * all signalfds.
 */
#ifndef EP_PIPE_H
#define EP_PIPE_H

#include "ep.h"
#include "lock.h"

struct ep_pipe {
	int fds[2];       /* the pipe; the program has a duplicate of fds[0] */
	int unread_bytes; /* number of bytes in the pipe */
	int sleep_fds[2]; /* socket pair: reads sleep in recv(2) on the first; -1: not made yet */
};

/* The flags that timerfd_create(2) and signalfd(2) accept. */
#define EP_PIPE_FLAGS (O_CLOEXEC | O_NONBLOCK)

/*
 * Make the pipe.  Returns the program's descriptor, which has the given EP_PIPE_FLAGS, or -errno.
 */
int ep_pipe_open(struct ep_pipe *pipe, int flags);
void ep_pipe_close(struct ep_pipe *pipe);
/*
 * Write a byte into the pipe, unless 256 bytes are unread: makes the program's descriptor readable,
 * or, if it is readable already, makes a new edge.
 */
void ep_pipe_notify(struct ep_pipe *pipe);
/* Empty the pipe, which makes the program's descriptor not readable. */
void ep_pipe_drain(struct ep_pipe *pipe);
/*
 * In a forked child: replace the pipe, which is shared with the parent, by a new pipe, so that
 * neither process reads the other's bytes.  If no descriptor is free, the child keeps the parent's
 * pipe.
 */
void ep_pipe_unshare(struct ep_object *object, struct ep_pipe *pipe);
/*
 * Called for a read(2) of the program that finds nothing: sleep until the program's descriptor fd
 * is readable.  Returns 0; -EAGAIN if fd is non-blocking; or another negative errno value.  Takes
 * `lock`, which the caller does not hold.
 */
int ep_pipe_wait(struct ep_object *object, struct ep_pipe *pipe, pthread_mutex_t *lock, int fd);
/*
 * Start a detached thread with all signals blocked, so that it runs no signal handler of the
 * program.  Returns 0 or -errno.
 */
int ep_thread_start(void *(*run)(void *));

#endif
