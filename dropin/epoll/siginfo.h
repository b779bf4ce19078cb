/*
 * Makes the struct signalfd_siginfo that the program reads from a signalfd for an accepted signal.
 */
#ifndef EP_SIGINFO_H
#define EP_SIGINFO_H

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>

#include "signal_wait.h"

static inline bool is_realtime(int number)
{
#ifdef SIGRTMIN
	return number >= SIGRTMIN;
#else
	(void)number;
	return false;
#endif
}

/* Returns the signalfd_siginfo that read(2) of a signalfd returns for this accepted signal. */
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
#if HAS_SIGWAITINFO
	if (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) {
		out.ssi_int = info->si_value.sival_int;
		out.ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	}
#endif
	return out;
}

#endif
