/*
 * System calls for signals that are pending, because they are blocked: signalfd(2), sigpending(2).
 */
#include <signal.h>
#include <sys/signalfd.h>

#include "linux/sys_linux.h"
#include "sys/libcall.h"
#include "sys/sys.h"

int xp_sys_signal_fd(int number)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, number);
	return XP_LIBCALL(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC));
}

bool xp_sys_signal_accept(int signal_fd)
{
	struct signalfd_siginfo info;

	return xp_sys_read(signal_fd, &info, sizeof info) == (int)sizeof info;
}

bool xp_sys_signal_is_pending(int number)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}
