/*
 * The system calls of a test, the errors that each may return, and the choice
 * of the call that fails.
 *
 * Calls that the kernel never refuses are not made to fail: writing to or
 * reading from an eventfd or a timerfd that is ready, epoll_ctl(MOD) and (DEL)
 * of an entry in the set, timerfd_settime, sigaction, inotify_rm_watch, waitid,
 * signal 0, fstat of a descriptor of an anonymous file.
 */
#include "sweep.h"

#include <stdarg.h>

#define ERRORS_MOST 5
#define FDS_MOST 65536

static const struct {
	const char *name;
	int errors[ERRORS_MOST];
} fault_kinds[SWEEP_KINDS] = {
	[SWEEP_ALLOC] = {"alloc", {ENOMEM}},
	[SWEEP_ALLOC_LINES] = {"alloc_lines", {ENOMEM}},
	[SWEEP_REALLOC] = {"realloc", {ENOMEM}},
	[SWEEP_POLL_NOW] = {"poll, looking", {EINTR, ENOMEM}},
	[SWEEP_SELECT_NOW] = {"pselect6, looking", {EINTR, ENOMEM}},
	[SWEEP_EPOLL_NOW] = {"epoll_wait, looking", {EINTR}},
	[SWEEP_EPOLL_ADD] = {"epoll_ctl ADD", {ENOMEM, ENOSPC}},
	[SWEEP_READ] = {"read", {SWEEP_SHORT, EAGAIN, ENOMEM}},
	[SWEEP_CLOSE] = {"close", {EINTR, EIO}},
	[SWEEP_OPEN] = {"openat", {EMFILE, ENFILE, ENOMEM}},
	[SWEEP_LIST] = {"getdents64", {ENOMEM}},
	[SWEEP_PIDFD_OPEN] = {"pidfd_open", {EMFILE, ENFILE, ENOMEM}},
	[SWEEP_PIDFD_INFO] = {"pidfd ioctl", {ENOTTY}},
	[SWEEP_PERF_OPEN] = {"perf_event_open", {EMFILE, ENOMEM}},
	[SWEEP_PERF_OUTPUT] = {"perf ioctl", {EINVAL}},
	[SWEEP_SOCKET] = {"socket", {EMFILE, ENFILE, ENOMEM, ENOBUFS}},
	[SWEEP_BIND] = {"bind", {ENOMEM, EADDRINUSE}},
	[SWEEP_OPTION] = {"setsockopt", {ENOMEM, EPERM}},
	[SWEEP_SEND] = {"sendto", {ENOBUFS, EAGAIN}},
	[SWEEP_RECEIVE] = {"recvfrom, recvmmsg", {EAGAIN, EINTR, ENOBUFS}},
	[SWEEP_REPLACE] = {"dup3", {EBUSY, EINTR}},
	[SWEEP_DUPLICATE] = {"fcntl F_DUPFD", {EMFILE, ENOMEM}},
	[SWEEP_MAKE_FD] = {"eventfd, epoll_create, timerfd_create",
	                   {EMFILE, ENFILE, ENOMEM}},
	[SWEEP_STEP_FD] = {"timerfd_create, realtime",
	                   {EMFILE, ENFILE, ENOMEM, ENOSYS}},
	[SWEEP_FSTAT] = {"fstat", {ENOMEM}},
	[SWEEP_TELL] = {"lseek", {EIO}},
	[SWEEP_FS_TYPE] = {"fstatfs", {ENOMEM, EINTR}},
	[SWEEP_IS_TTY] = {"isatty", {EIO}},
	[SWEEP_READLINK] = {"readlink", {ENOMEM, EACCES}},
	[SWEEP_WAIT] = {"epoll_wait", {EINTR}},
	[SWEEP_ARRAY_WAIT] = {"ppoll, pselect", {EINTR, ENOMEM}},
	[SWEEP_WATCH_OPEN] = {"inotify_init1", {EMFILE, ENFILE, ENOMEM}},
	[SWEEP_WATCH_ADD] = {"inotify_add_watch", {ENOSPC, ENOMEM}},
	[SWEEP_COUNT] = {"FIONREAD and the like", {ENOTTY}},
	[SWEEP_MAP] = {"mmap", {ENOMEM, EPERM}},
	[SWEEP_READ_CACHED] = {"preadv2, now", {EAGAIN}},
	[SWEEP_TRANSFER] = {"pread, pwrite", {SWEEP_SHORT, EINTR, EIO, ENOSPC}},
	[SWEEP_SYNC] = {"fsync", {EIO, EINTR}},
	[SWEEP_THREAD] = {"pthread_create", {EAGAIN}},
	[SWEEP_CONDITION] = {"pthread_cond_init", {ENOMEM}},
	[SWEEP_RING] = {"io_uring_setup", {ENOMEM, EMFILE, EPERM, ENOSYS}},
	[SWEEP_RING_ENTER] = {"io_uring_enter", {EINTR, EAGAIN, EBUSY}},
	[SWEEP_RING_PROBE] = {"io_uring_register", {EINVAL, ENOMEM}},
};

struct sweep_shared *sweep_shared;
_Thread_local bool sweep_unknown;

static _Thread_local int fault_paused;
static _Thread_local bool fault_here;
static unsigned char fault_owned[FDS_MOST];
static atomic_int fault_blocks;

const char *sweep_kind_name(enum sweep_kind kind)
{
	return fault_kinds[kind].name;
}

const int *sweep_kind_errors(enum sweep_kind kind)
{
	return fault_kinds[kind].errors;
}

/*
 * Returns the chosen error, or another one if it does not fit this kind of call: with several
 * threads the call with the chosen number may be of another kind than in the run before.
 */
static int fitting_error(enum sweep_kind kind)
{
	for (int i = 0; i < ERRORS_MOST; i++)
		if (fault_kinds[kind].errors[i] == sweep_shared->error)
			return sweep_shared->error;
	return fault_kinds[kind].errors[0];
}

bool sweep_fails(enum sweep_kind kind, int *error)
{
	int number;

	if (fault_paused || !sweep_shared)
		return false;
	number = atomic_fetch_add(&sweep_shared->calls, 1) + 1;
	if (number <= SWEEP_CALLS && sweep_shared->target == 0) {
		sweep_shared->kinds[number - 1] = (unsigned char)kind;
		sweep_shared->places[number - 1] = sweep_place();
	}
	if (number != sweep_shared->target)
		return false;
	*error = fitting_error(kind);
	sweep_shared->error = *error;
	atomic_store(&sweep_shared->failed, (int)kind + 1);
	fault_here = true;
	return true;
}

void sweep_mind(void)
{
	fault_here = false;
	sweep_unknown = false;
}

bool sweep_minded(void)
{
	return fault_here;
}

void sweep_pause(int by)
{
	fault_paused += by;
}

void sweep_lax(void)
{
	atomic_store(&sweep_shared->lax, true);
}

void sweep_find(const char *format, ...)
{
	va_list arguments;

	if (atomic_exchange(&sweep_shared->found, true))
		return;
	va_start(arguments, format);
	(void)vsnprintf(sweep_shared->finding, sizeof sweep_shared->finding,
	                format, arguments);
	va_end(arguments);
}

void sweep_own(int fd)
{
	if (fd >= 0 && fd < FDS_MOST)
		fault_owned[fd] = 1;
}

void sweep_disown(int fd)
{
	if (fd >= 0 && fd < FDS_MOST)
		fault_owned[fd] = 0;
}

void sweep_hold(int blocks)
{
	atomic_fetch_add(&fault_blocks, blocks);
}

void sweep_count_left(void)
{
	sweep_shared->fds = 0;
	for (int fd = 0; fd < FDS_MOST; fd++)
		sweep_shared->fds += fault_owned[fd];
	sweep_shared->blocks = atomic_load(&fault_blocks);
}
