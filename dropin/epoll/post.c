/* A post (post.h): a pipe whose bytes make the descriptor of a timer or of a signalfd readable. */
#include "post.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "real.h"

enum {
	EP_BYTES_MOST = 256, /* most bytes in a pipe; each system's pipes have room for that many */
	EP_FILL = 512,       /* size of the writes that fill a pipe: PIPE_BUF of the BSDs, whose
	                        pipes are not writable with less room */
};

static int make_pipe(int fds[2])
{
	static const char bytes[EP_FILL];

	if (pipe(fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	/*
	 * The pipes of the BSDs and illumos go in both directions: fill the direction that nobody
	 * reads, so that fds[0] never is writable.  Elsewhere the first write fails with EBADF.
	 */
	ep_real()->fcntl(fds[0], F_SETFL, O_NONBLOCK);
	while (ep_real()->write(fds[0], bytes, sizeof bytes) > 0)
		continue;
	ep_real()->fcntl(fds[0], F_SETFL, 0);
	return 0;
}

int ep_post_open(struct ep_post *post, int flags)
{
	int command = flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
	int fd, rc = make_pipe(post->fds);

	if (rc < 0)
		return rc;
	post->bytes = 0;
	post->sleep[0] = post->sleep[1] = -1;
	if (flags & O_NONBLOCK)
		ep_real()->fcntl(post->fds[0], F_SETFL, O_NONBLOCK);
	fd = ep_real()->fcntl(post->fds[0], command, 0);
	rc = -errno;
	if (fd >= 0)
		return fd;
	ep_post_close(post);
	return rc;
}

void ep_post_close(struct ep_post *post)
{
	for (int i = 0; i < 2; i++) {
		real_close.close(post->fds[i]);
		if (post->sleep[i] >= 0)
			real_close.close(post->sleep[i]);
	}
}

/*
 * Wake the reads that sleep, by a message: each recv(2) with MSG_PEEK returns until ep_post_silence
 * takes the message.
 */
static void wake(struct ep_post *post)
{
	char byte = 1;

	(void)!send(post->sleep[1], &byte, 1, MSG_DONTWAIT);
}

void ep_post_ring(struct ep_post *post)
{
	char byte = 1;

	if (post->bytes == EP_BYTES_MOST || ep_real()->write(post->fds[1], &byte, 1) != 1)
		return;
	if (post->bytes++ == 0 && post->sleep[0] >= 0)
		wake(post);
}

void ep_post_silence(struct ep_post *post)
{
	char bytes[EP_BYTES_MOST];

	if (post->bytes > 0)
		(void)!ep_real()->read(post->fds[0], bytes, (size_t)post->bytes);
	if (post->bytes > 0 && post->sleep[0] >= 0)
		(void)!recv(post->sleep[0], bytes, 1, MSG_DONTWAIT);
	post->bytes = 0;
}

void ep_post_fork(struct ep_object *object, struct ep_post *post)
{
	int flags = ep_real()->fcntl(post->fds[0], F_GETFL);
	int fds[2];

	ep_reserve_descriptors();
	if (make_pipe(fds) < 0)
		return;
	ep_real()->fcntl(fds[0], F_SETFL, flags & O_NONBLOCK);
	(void)ep_replace_fds(object, fds[0]);
	for (unsigned i = 0; i < numbers_end(); i++) {
		struct number *number = number_at((int)i);

		if (number && atomic_load(&number->object) == object)
			ep_restamp_entries((int)i);
	}
	ep_post_close(post);
	*post = (struct ep_post){.fds = {fds[0], fds[1]}, .sleep = {-1, -1}};
}

/* Make the socket pair in which reads sleep, if there is none yet.  Returns 0 or -errno. */
static int make_sleep(struct ep_post *post)
{
	int fds[2];

	if (post->sleep[0] >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ep_real()->fcntl(fds[i], F_SETFD, FD_CLOEXEC);
		post->sleep[i] = fds[i];
	}
	if (post->bytes > 0)
		wake(post);
	return 0;
}

int ep_post_wait(struct ep_object *object, struct ep_post *post, pthread_mutex_t *lock, int fd)
{
	struct ep_locked before;
	int rc;

	if (ep_real()->fcntl(fd, F_GETFL) & O_NONBLOCK)
		return -EAGAIN;
	before = ep_lock(lock);
	rc = make_sleep(post);
	ep_unlock(lock, &before);
	return rc < 0 ? rc : ep_sleep(object, post->sleep[0]);
}

int ep_post_start(void *(*run)(void *))
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
