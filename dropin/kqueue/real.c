/*
 * The next definition of each function behind ours.  Until they are looked up,
 * and where there is none, a bare system call does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kq.h"

static int kq_bare_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int kq_bare_dup3(int fd, int number, int flags)
{
	return (int)syscall(SYS_dup3, fd, number, flags);
}

static int kq_bare_dup2(int fd, int number)
{
	if (fd == number) /* dup3 refuses it, dup2 only checks that it is open. */
		return syscall(SYS_fcntl, fd, 1 /* F_GETFD */) < 0 ? -1 : fd;
	return kq_bare_dup3(fd, number, 0);
}

/* front.c has another one, which takes this one's place. */
__attribute__((weak)) int kq_sigaction(int number,
                                       const struct sigaction *action,
                                       struct sigaction *before)
{
	return sigaction(number, action, before);
}

static int kq_bare_close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

struct kq_real kq_real = {
	.close = kq_bare_close,
	.dup2 = kq_bare_dup2,
	.dup3 = kq_bare_dup3,
	.close_range = kq_bare_close_range,
};

/* What is not found stays as it was.  Pointers to functions need a copy. */
static void kq_find(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		memcpy(pointer, &found, sizeof found);
}

__attribute__((constructor)) static void kq_find_all(void)
{
	/* A compiler takes a close() of this library for ours, unless it cannot know. */
	int (*volatile probe)(int) = close;
	int saved = errno;

	kq_find("close", &kq_real.close);
	kq_find("dup2", &kq_real.dup2);
	kq_find("dup3", &kq_real.dup3);
	kq_find("close_range", &kq_real.close_range);
	kq_find("closefrom", &kq_real.closefrom);
	kq_find("fclose", &kq_real.fclose);
	kq_find("aio_read", &kq_real.aio_read);
	kq_find("aio_write", &kq_real.aio_write);
	kq_find("aio_fsync", &kq_real.aio_fsync);
	kq_find("aio_error", &kq_real.aio_error);
	kq_find("aio_return", &kq_real.aio_return);
	kq_find("aio_cancel", &kq_real.aio_cancel);
	kq_find("aio_suspend", &kq_real.aio_suspend);
	kq_find("lio_listio", &kq_real.lio_listio);
	/*
	 * A library that is loaded late is behind the C library for everybody
	 * else; then closes have to be found out.  Others may be in front of us,
	 * so ask by closing what does not exist.
	 */
	probe(KQ_PROBE_FD);
	errno = saved;
}
