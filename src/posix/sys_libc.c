/* System calls through the C library that all systems with POSIX have. */
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sys/libcall.h"

int xp_sys_fstat(int fd, struct stat *status)
{
	return XP_LIBCALL(fstat(fd, status));
}

int64_t xp_sys_offset(int fd)
{
	return XP_LIBCALL(lseek(fd, 0, SEEK_CUR));
}

int xp_sys_open_flags(int fd)
{
	return XP_LIBCALL(fcntl(fd, F_GETFL));
}

bool xp_sys_is_tty(int fd)
{
	int saved = errno;
	bool is_tty = isatty(fd) == 1;

	errno = saved;
	return is_tty;
}

int xp_sys_readlink(const char *path, char *buffer, size_t size)
{
	return (int)XP_LIBCALL(readlink(path, buffer, size));
}

void xp_sys_signals_hold(sigset_t *before)
{
	/* Not held: if a fault occurs while its signal is blocked, the kernel ends the process. */
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	sigset_t held;

	(void)sigfillset(&held);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		(void)sigdelset(&held, faults[i]);
	(void)pthread_sigmask(SIG_BLOCK, &held, before); /* These calls cannot fail. */
}

void xp_sys_signals_release(const sigset_t *before)
{
	int saved = errno;

	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
	errno = saved; /* A handler that ran just now may have set errno. */
}

bool xp_sys_signal_is_blocked(int number, const sigset_t *mask)
{
	sigset_t own;

	if (!mask && pthread_sigmask(SIG_BLOCK, NULL, &own) == 0)
		mask = &own;
	return mask && sigismember(mask, number) == 1;
}

/*
 * A drop-in that replaces sigaction(2) defines XP_SIGACTION as the name of the C library's
 * function.
 */
#ifdef XP_SIGACTION
int XP_SIGACTION(int number, const struct sigaction *action,
                 struct sigaction *before);
#else
#define XP_SIGACTION sigaction
#endif

int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before)
{
	return XP_LIBCALL(XP_SIGACTION(number, action, before));
}
