/*
 * A post: the pipe behind the descriptor of a timer or of a signalfd.
 *
 * The program's descriptor duplicates the end that is read.  The pipe has a byte in it while
 * the object is readable, and each further byte is an edge.  The functions of an object with a
 * post need the lock of that object's kind.
 */
#ifndef EP_POST_H
#define EP_POST_H

#include "ep.h"

struct ep_post {
	int fds[2]; /* both ends, private */
	int bytes;  /* in the pipe */
};

/* The flags with which Linux's calls create these descriptors. */
#define EP_POST_FLAGS (O_CLOEXEC | O_NONBLOCK)

/* Make the pipe; returns the program's descriptor or -errno.  flags: EP_POST_FLAGS. */
int ep_post_open(struct ep_post *post, int flags);
void ep_post_close(struct ep_post *post);
/* Make the descriptor readable, or report a new edge of one that is. */
void ep_post_ring(struct ep_post *post);
void ep_post_silence(struct ep_post *post);
/*
 * In a forked child: give the object a pipe of its own, so that neither process takes the other
 * one's bytes.  Without a descriptor for that the child keeps the parent's pipe.
 */
void ep_post_fork(struct ep_object *object, struct ep_post *post);
/*
 * Take and release the lock of a kind of object, without cancellation in between, because read(2)
 * and write(2) of the pipe are cancellation points.  lock returns the state for unlock.
 */
int ep_post_lock(pthread_mutex_t *lock);
void ep_post_unlock(pthread_mutex_t *lock, int state);
/* Returns true if reads of fd must not sleep. */
bool ep_post_is_nonblocking(int fd);
/* Sleep until fd is readable; 0 or -errno. */
int ep_post_wait(int fd);
/* Start a thread that handles no signal of the program and is never joined; 0 or -errno. */
int ep_post_start(void *(*run)(void *));

#endif
