/* Nobody waits for a child that is not named. */
#ifndef XT_NT_WAIT_H
#define XT_NT_WAIT_H

#include <xt.h>

static inline pid_t xt_nt_waitpid(void)
{
	xt_absent("waitpid(2)");
}

/* _pclose returns the exit code itself. */
#define WEXITSTATUS(status) (status)

#define waitpid(pid, status, options) xt_nt_waitpid()

#endif
