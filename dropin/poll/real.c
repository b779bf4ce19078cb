/*
 * Looks up the C library's functions that this library replaces.  Until real_init, poll, ppoll,
 * select, pselect and unshare are bare system calls.
 */
#include "real.h"

#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_SIGSET_SIZE 8 /* bytes of a sigset_t that the kernel's calls read */

static int bare_ppoll(struct pollfd *fds, nfds_t count,
                      const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left;

	if (timeout) /* a copy, because the system call stores the time left in it */
		left = *timeout;
	return (int)syscall(SYS_ppoll, fds, count, timeout ? &left : NULL, mask,
	                    KERNEL_SIGSET_SIZE);
}

static int bare_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};

	return bare_ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static int bare_pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                        const struct timespec *timeout, const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t size;
	} packed = {mask, KERNEL_SIGSET_SIZE};
	struct timespec left;

	if (timeout)
		left = *timeout;
	return (int)syscall(SYS_pselect6, count, in, out, except,
	                    timeout ? &left : NULL, &packed);
}

static int bare_select(int count, fd_set *in, fd_set *out, fd_set *except,
                       struct timeval *timeout)
{
	struct timespec copy = {0};

	if (timeout) {
		copy.tv_sec = timeout->tv_sec;
		copy.tv_nsec = timeout->tv_usec * 1000L;
	}
	return bare_pselect(count, in, out, except, timeout ? &copy : NULL, NULL);
}

static int bare_unshare(int flags)
{
	return (int)syscall(SYS_unshare, flags);
}

struct real real = {
	.poll = bare_poll,
	.ppoll = bare_ppoll,
	.select = bare_select,
	.pselect = bare_pselect,
	.unshare = bare_unshare,
};

void real_init(void)
{
	real_close_find();
	real_find("poll", &real.poll);
	real_find("ppoll", &real.ppoll);
	real_find("select", &real.select);
	real_find("pselect", &real.pselect);
	real_find("unshare", &real.unshare);
	real_find("__poll_chk", &real.poll_chk);
	real_find("__ppoll_chk", &real.ppoll_chk);
	real_find("pclose", &real.pclose);
	real_find("freopen", &real.freopen);
	real_find("freopen64", &real.freopen64);
	real_find("closedir", &real.closedir);
	real_find("prctl", &real.prctl);
}
