/*
 * The pipe of a timer or of a signalfd (pipe.h), whose bytes make the program's descriptor
 * readable.
 */
#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "real.h"

enum {
	/* the most unread bytes that ep_pipe_notify leaves in a pipe; every pipe has more room */
	EP_BYTES_MOST = 256,
	/*
	 * size of the writes that fill a pipe in make_pipe: PIPE_BUF of the BSDs, where a pipe with
	 * room for fewer bytes does not count as writable
	 */
	EP_FILL = 512,
};

static int make_pipe(int fds[2])
{
	static const char bytes[EP_FILL];

	if (pipe(fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	/*
	 * Pipes of FreeBSD, OpenBSD and illumos go in both directions.  Fill the direction towards
	 * fds[1], which nobody reads, so that fds[0] is never writable.  On other systems the first
	 * write fails with EBADF.
	 */
	ep_real()->fcntl(fds[0], F_SETFL, O_NONBLOCK);
	while (ep_real()->write(fds[0], bytes, sizeof bytes) > 0)
		continue;
	ep_real()->fcntl(fds[0], F_SETFL, 0);
	return 0;
}

int ep_pipe_open(struct ep_pipe *pipe, int flags)
{
	int command = flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
	int fd, rc = make_pipe(pipe->fds);

	if (rc < 0)
		return rc;
	pipe->unread_bytes = 0;
	pipe->sleep_fds[0] = pipe->sleep_fds[1] = -1;
	if (flags & O_NONBLOCK)
		ep_real()->fcntl(pipe->fds[0], F_SETFL, O_NONBLOCK);
	fd = ep_real()->fcntl(pipe->fds[0], command, 0);
	rc = -errno;
	if (fd >= 0)
		return fd;
	ep_pipe_close(pipe);
	return rc;
}

void ep_pipe_close(struct ep_pipe *pipe)
{
	for (int i = 0; i < 2; i++) {
		real_close.close(pipe->fds[i]);
		if (pipe->sleep_fds[i] >= 0)
			real_close.close(pipe->sleep_fds[i]);
	}
}

/*
 * Wake a thread that sleeps in ep_pipe_wait, by a message into the socket in which the thread calls
 * recv(2) with MSG_PEEK.  That recv(2) leaves the message in the socket, so later calls of recv(2)
 * return at once, until ep_pipe_drain takes the message.  If several threads sleep, Linux wakes
 * only one of them for a message.
 */
static void wake(struct ep_pipe *pipe)
{
	char byte = 1;

	(void)!send(pipe->sleep_fds[1], &byte, 1, MSG_DONTWAIT);
}

void ep_pipe_notify(struct ep_pipe *pipe)
{
	char byte = 1;

	if (pipe->unread_bytes == EP_BYTES_MOST || ep_real()->write(pipe->fds[1], &byte, 1) != 1)
		return;
	pipe->unread_bytes++;
	if (pipe->sleep_fds[0] >= 0)
		wake(pipe);
}

void ep_pipe_drain(struct ep_pipe *pipe)
{
	char bytes[EP_BYTES_MOST];

	if (pipe->unread_bytes == 0)
		return;
	(void)!ep_real()->read(pipe->fds[0], bytes, (size_t)pipe->unread_bytes);
	while (pipe->sleep_fds[0] >= 0 && recv(pipe->sleep_fds[0], bytes, 1, MSG_DONTWAIT) > 0)
		continue;
	pipe->unread_bytes = 0;
}

void ep_pipe_unshare(struct ep_object *object, struct ep_pipe *pipe)
{
	int flags = ep_real()->fcntl(pipe->fds[0], F_GETFL);
	int fds[2];

	ep_reserve_closed_fds();
	if (make_pipe(fds) < 0)
		return;
	ep_real()->fcntl(fds[0], F_SETFL, flags & O_NONBLOCK);
	(void)ep_replace_fds(object, fds[0]);
	for (unsigned i = 0; i < numbers_end(); i++) {
		struct number *number = number_at((int)i);

		if (number && atomic_load(&number->object) == object)
			ep_update_inodes((int)i);
	}
	ep_pipe_close(pipe);
	*pipe = (struct ep_pipe){.fds = {fds[0], fds[1]}, .sleep_fds = {-1, -1}};
}

/* Make the socket pair in which reads sleep, unless it exists already.  Returns 0 or -errno. */
static int make_sleep_fds(struct ep_pipe *pipe)
{
	int fds[2];

	if (pipe->sleep_fds[0] >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		pipe->sleep_fds[i] = fds[i];
	}
	if (pipe->unread_bytes > 0)
		wake(pipe);
	return 0;
}

int ep_pipe_wait(struct ep_object *object, struct ep_pipe *pipe, pthread_mutex_t *lock, int fd)
{
	struct ep_locked before;
	int rc;

	if (ep_real()->fcntl(fd, F_GETFL) & O_NONBLOCK)
		return -EAGAIN;
	before = ep_lock(lock);
	rc = make_sleep_fds(pipe);
	ep_unlock(lock, before);
	return rc < 0 ? rc : ep_sleep(object, pipe->sleep_fds[0]);
}

int ep_thread_start(void *(*run)(void *))
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&thread, &attributes, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc;
}
