/* Accepts a signal, and makes the record of it that the program reads from a signalfd. */
#ifndef EP_SIGINFO_H
#define EP_SIGINFO_H

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#if defined(__APPLE__) || defined(__OpenBSD__)
#define HAS_SIGINFO 0
#else
#define HAS_SIGINFO 1 /* sigwaitinfo and sigtimedwait */
#endif

/*
 * Wait for one of these signals and accept it.  Returns its number, or -1.  Without sigwaitinfo,
 * only the number is stored in *info.
 */
static inline int wait_for_signal(const sigset_t *mask, siginfo_t *info)
{
	int number = 0;

	memset(info, 0, sizeof *info);
#if HAS_SIGINFO
	number = sigwaitinfo(mask, info);
#else
	if (sigwait(mask, &number) != 0)
		number = -1;
#endif
	info->si_signo = number;
	return number;
}

/* Returns the signalfd record of an accepted signal. */
static inline struct signalfd_siginfo to_siginfo(const siginfo_t *info)
{
	struct signalfd_siginfo out;

	memset(&out, 0, sizeof out);
	out.ssi_signo = (uint32_t)info->si_signo;
	out.ssi_errno = info->si_errno;
	out.ssi_code = info->si_code;
	out.ssi_pid = (uint32_t)info->si_pid;
	out.ssi_uid = (uint32_t)info->si_uid;
	if (info->si_signo == SIGCHLD)
		out.ssi_status = info->si_status;
#if HAS_SIGINFO
	if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) {
		out.ssi_int = info->si_value.sival_int;
		out.ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	}
#endif
	return out;
}

#endif
