/* Looks up the real functions. */
#include <errno.h>
#include <unistd.h>

#include "kq.h"

/* front.c replaces this definition, if it is linked. */
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
	/* volatile, because a compiler may bind a direct call of close() to this library's own. */
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
	 * If this library is loaded late, the C library's close(2) precedes ours, and closes have
	 * to be detected later.  Other libraries may precede both, so test it by a close of a
	 * descriptor that does not exist.
	 */
	probe(KQ_PROBE_FD);
	errno = saved;
}
