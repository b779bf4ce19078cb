/*
 * The system calls that the library makes without the C library: all go through
 * one function, so the wrapper distinguishes them by the number of the system
 * call.
 */
#include "sweep.h"

#include "sys/rawcall.h"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/stat.h>

long __real_xp_rawcall(long call, long a, long b, long c, long d, long e,
                       long f);
long __wrap_xp_rawcall(long call, long a, long b, long c, long d, long e,
                       long f);

/*
 * The kind of each system call that needs no look at its arguments.  makes_fd: the call returns a
 * new descriptor.
 */
static const struct {
	long call;
	enum sweep_kind kind;
	bool makes_fd;
} raw_calls[] = {
#ifdef SYS_poll
	{SYS_poll, SWEEP_POLL_NOW, false},
#endif
	{SYS_ppoll, SWEEP_POLL_NOW, false},
	{SYS_pselect6, SWEEP_SELECT_NOW, false},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, SWEEP_EPOLL_NOW, false},
#endif
	{SYS_epoll_pwait, SWEEP_EPOLL_NOW, false},
	{SYS_openat, SWEEP_OPEN, true},
	{SYS_getdents64, SWEEP_LIST, false},
	{SYS_pidfd_open, SWEEP_PIDFD_OPEN, true},
	{SYS_perf_event_open, SWEEP_PERF_OPEN, true},
	{SYS_socket, SWEEP_SOCKET, true},
	{SYS_bind, SWEEP_BIND, false},
	{SYS_setsockopt, SWEEP_OPTION, false},
	{SYS_sendto, SWEEP_SEND, false},
	{SYS_recvfrom, SWEEP_RECEIVE, false},
#ifdef SYS_recvmmsg
	{SYS_recvmmsg, SWEEP_RECEIVE, false},
#endif
};

/* Even if close(2) fails, the descriptor is closed. */
static long raw_close(long fd)
{
	int error;
	bool fails = sweep_fails(SWEEP_CLOSE, &error);
	long rc = __real_xp_rawcall(SYS_close, fd, 0, 0, 0, 0, 0);

	sweep_disown((int)fd);
	return fails && rc == 0 ? -error : rc;
}

/* A read of a file in /proc may return fewer bytes than requested. */
static long raw_read(long fd, long buffer, long size)
{
	struct stat status;
	bool file = fstat((int)fd, &status) == 0 && S_ISREG(status.st_mode);
	int error;

	/*
	 * Reads of eventfds and timerfds (8 bytes) never fail here: a counter that stays unread
	 * stays readable, which would not be a fault of the kernel but a false report.
	 */
	if (size <= 8 || !sweep_fails(SWEEP_READ, &error))
		return __real_xp_rawcall(SYS_read, fd, buffer, size, 0, 0, 0);
	if (error == SWEEP_SHORT && file)
		return __real_xp_rawcall(SYS_read, fd, buffer, (size + 2) / 3, 0,
		                         0, 0);
	/* A read of another descriptor returns EAGAIN, and the library's next read succeeds. */
	return file ? -error : -EAGAIN;
}

/* EPOLL_CTL_ADD of an existing entry needs no memory, so it still returns EEXIST. */
static long raw_control(long epoll_fd, long op, long fd, long event)
{
	int error;
	bool fails = op == EPOLL_CTL_ADD && sweep_fails(SWEEP_EPOLL_ADD, &error);
	long rc;

	rc = __real_xp_rawcall(SYS_epoll_ctl, epoll_fd, op, fd, event, 0, 0);
	if (rc == -ENOENT || rc == -EPERM)
		sweep_unknown = true;
	if (!fails || rc < 0)
		return rc;
	sweep_unknown = true;
	(void)__real_xp_rawcall(SYS_epoll_ctl, epoll_fd, EPOLL_CTL_DEL, fd, event,
	                        0, 0);
	return -error;
}

/* dup3(2): if it fails, the descriptor `number` still refers to its old file. */
static long raw_replace(long fd, long number, long flags)
{
	int error;

	if (sweep_fails(SWEEP_REPLACE, &error))
		return -error;
	return __real_xp_rawcall(SYS_dup3, fd, number, flags, 0, 0, 0);
}

static long raw_ioctl(long fd, long request, long argument)
{
	bool perf = request == (long)PERF_EVENT_IOC_SET_OUTPUT;
	int error;

	if (sweep_fails(perf ? SWEEP_PERF_OUTPUT : SWEEP_PIDFD_INFO, &error))
		return -error;
	return __real_xp_rawcall(SYS_ioctl, fd, request, argument, 0, 0, 0);
}

/* The library uses fcntl(2) by a raw call only to duplicate descriptors. */
static long raw_duplicate(long fd, long command, long least)
{
	int error;
	long rc;

	if (sweep_fails(SWEEP_DUPLICATE, &error))
		return -error;
	rc = __real_xp_rawcall(SYS_fcntl, fd, command, least, 0, 0, 0);
	sweep_own((int)rc);
	return rc;
}

static long raw_usual(size_t i, long a, long b, long c, long d, long e, long f)
{
	int error;
	long rc;

	if (sweep_fails(raw_calls[i].kind, &error))
		return -error;
	rc = __real_xp_rawcall(raw_calls[i].call, a, b, c, d, e, f);
	if (raw_calls[i].makes_fd)
		sweep_own((int)rc);
	return rc;
}

long __wrap_xp_rawcall(long call, long a, long b, long c, long d, long e,
                       long f)
{
	switch (call) {
	case SYS_close:
		return raw_close(a);
	case SYS_read:
		return raw_read(a, b, c);
	case SYS_epoll_ctl:
		return raw_control(a, b, c, d);
	case SYS_dup3:
		return raw_replace(a, b, c);
	case SYS_ioctl:
		return raw_ioctl(a, b, c);
	case SYS_fcntl:
		return raw_duplicate(a, b, c);
	default:
		break;
	}
	for (size_t i = 0; i < sizeof raw_calls / sizeof *raw_calls; i++)
		if (raw_calls[i].call == call)
			return raw_usual(i, a, b, c, d, e, f);
	return __real_xp_rawcall(call, a, b, c, d, e, f);
}
