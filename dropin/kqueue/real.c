/* Looking up the real functions. */
#include <errno.h>
#include <unistd.h>

#include "kq.h"

/* front.c has another one, which takes this one's place. */
__attribute__((weak)) int kq_sigaction(int number,
                                       const struct sigaction *action,
                                       struct sigaction *before)
{
	return sigaction(number, action, before);
}

/* Like pthread_sigmask(3), for this library: CMakeLists.txt gives that name to this function. */
__attribute__((weak)) int kq_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	return sigprocmask(how, set, before) < 0 ? errno : 0;
}

struct kq_real kq_real;

__attribute__((constructor)) static void kq_find_all(void)
{
	/* A compiler takes a close() of this library for ours, unless it cannot know. */
	int (*volatile probe)(int) = close;
	int saved = errno;

	real_close_find();
	real_find("aio_read", &kq_real.aio_read);
	real_find("aio_write", &kq_real.aio_write);
	real_find("aio_fsync", &kq_real.aio_fsync);
	real_find("aio_error", &kq_real.aio_error);
	real_find("aio_return", &kq_real.aio_return);
	real_find("aio_cancel", &kq_real.aio_cancel);
	real_find("aio_suspend", &kq_real.aio_suspend);
	real_find("lio_listio", &kq_real.lio_listio);
	/*
	 * A library that is loaded late is behind the C library for everybody
	 * else; then closes have to be found out.  Others may be in front of us,
	 * so ask by closing what does not exist.
	 */
	probe(KQ_PROBE_FD);
	errno = saved;
}
