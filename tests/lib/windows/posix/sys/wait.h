/* waitpid(2), so that tests compile: tests that need it are skipped on Windows. */
#ifndef XT_NT_WAIT_H
#define XT_NT_WAIT_H

#include <xt.h>

static inline pid_t xt_nt_waitpid(void)
{
	xt_absent("waitpid(2)");
}

/* _pclose returns the exit code and no wait status. */
#define WEXITSTATUS(status) (status)

#define waitpid(pid, status, options) xt_nt_waitpid()

#endif
