/* Names of POSIX signals: there is none that could be sent. */
#ifndef XT_NT_SIGNAL_H
#define XT_NT_SIGNAL_H

#include_next <signal.h>

typedef unsigned long sigset_t;

#define SIGHUP  1
#define SIGKILL 9
#define SIGUSR1 10
#define SIGUSR2 12

#define sigemptyset(set) (*(set) = 0)

#endif
