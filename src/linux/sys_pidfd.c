/* Processes by descriptor: pidfd_open(2), waitid(2), PIDFD_GET_INFO. */
#include "linux/sys_pidfd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "sys/rawcall.h"

/*
 * Numbers of system calls, for headers that lack them.  Wrong on Alpha and MIPS, where the headers
 * have to define them.
 */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define ID_PIDFD 3 /* P_PIDFD of waitid(2) */
#define INFO_EXIT (UINT64_C(1) << 3)

/* The first version of the kernel's struct pidfd_info; the ioctl number contains the size. */
struct pidfd_info_v0 {
	uint64_t mask; /* in: the requested fields; out: the fields that are set */
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info_v0) == 64, "as the kernel has it");
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info_v0)

int xp_sys_pidfd_open(pid_t pid)
{
	return (int)xp_rawcall(SYS_pidfd_open, pid, 0, 0, 0, 0, 0);
}

bool xp_sys_pidfd_reaped(int pidfd)
{
	return xp_rawcall(SYS_pidfd_send_signal, pidfd, 0, 0, 0, 0, 0) == -ESRCH;
}

/* Call waitid(2) without reaping, and store the status of the child in the format of waitpid(2). */
static int peek_status(int kind, int id, int *status)
{
	siginfo_t info;
	int rc;

	memset(&info, 0, sizeof info);
	rc = (int)xp_rawcall(SYS_waitid, kind, id, (long)&info,
	                     WEXITED | WNOWAIT | WNOHANG | __WALL, 0, 0);
	if (rc < 0)
		return rc;
	if (info.si_pid == 0)
		return -ENODATA; /* not exited, or a debugger still holds the zombie */
	switch (info.si_code) {
	case CLD_EXITED:
		*status = (info.si_status & 0xff) << 8;
		break;
	case CLD_DUMPED:
		*status = (info.si_status & 0x7f) | 0x80;
		break;
	default:
		*status = info.si_status & 0x7f;
	}
	return 0;
}

int xp_sys_pidfd_peek_status(int pidfd, int *status)
{
	return peek_status(ID_PIDFD, pidfd, status);
}

int xp_sys_pid_peek_status(pid_t pid, int *status)
{
	return peek_status(P_PID, pid, status);
}

int xp_sys_pidfd_reaped_status(int pidfd, int *status)
{
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};
	int rc = (int)xp_rawcall(SYS_ioctl, pidfd, (long)GET_INFO, (long)&info, 0,
	                         0, 0);

	if (rc < 0)
		return rc;
	if (!(info.mask & INFO_EXIT))
		return -ENODATA;
	*status = info.exit_code;
	return 0;
}
