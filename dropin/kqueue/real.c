/*
 * Looks up the C library's functions that this library replaces, except those of front.c, and finds
 * out whether the program's calls of close(2) reach this library.
 */
#include <errno.h>
#include <unistd.h>

#include "kq.h"

/* The definition in front.c, if front.c is linked, replaces this one. */
__attribute__((weak)) int kq_sigaction(int number,
                                       const struct sigaction *action,
                                       struct sigaction *before)
{
	return sigaction(number, action, before);
}

/*
 * Like pthread_sigmask(3).  CMakeLists.txt defines pthread_sigmask as kq_sigmask, so this library's
 * own calls come here, or to the kq_sigmask of front.c if that is linked, and never to the function
 * that front.c exports.
 */
__attribute__((weak)) int kq_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	return sigprocmask(how, set, before) < 0 ? errno : 0;
}

struct kq_real kq_real;

__attribute__((constructor)) static void kq_find_all(void)
{
	/*
	 * The address of the close(2) that the program calls.  volatile, because a compiler may
	 * replace a direct call of close() by one of this library's own function.
	 */
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
	 * If this library was loaded by dlopen(3), the program calls the C library's close(2), and
	 * closes have to be detected later.  Find out by a close of a descriptor that does not
	 * exist: if the call reaches kq_close_begin, that sets kq_real.sees_closes.  Comparing
	 * addresses is not enough: another library may export close(2), too, and call ours.
	 */
	probe(KQ_PROBE_FD);
	errno = saved;
}
