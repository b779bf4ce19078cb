/* Names of POSIX signals, so that tests compile: Windows cannot send any. */
#ifndef XT_NT_SIGNAL_H
#define XT_NT_SIGNAL_H

#include_next <signal.h>

#include <xt_nt.h>

typedef unsigned long sigset_t;

#define SIGHUP  1
#define SIGKILL 9
#define SIGUSR1 10
#define SIGUSR2 12

#define SA_RESTART 1

struct sigaction {
	void (*sa_handler)(int number);
	sigset_t sa_mask;
	int sa_flags;
};

#define sigemptyset(set) (*(set) = 0)
#define sigaction(number, action, old) xt_nt_sigaction(number, action, old)

#endif
