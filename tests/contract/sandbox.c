/*
 * Goal: where a sandbox refuses a system call, a feature works nevertheless, or
 * its ADD fails; an event never fails to come silently.
 * Method: a child installs a filter that refuses one call with EPERM, ENOSYS or
 * EACCES, and tries one feature after the other; each event whose ADD succeeded
 * has to be delivered.
 */
#define _GNU_SOURCE
#include "xt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct call {
	const char *name;
	int numbers[3]; /* calls with the same purpose; 0: none */
};

static const struct call calls[] = {
	{"epoll_create1", {SYS_epoll_create1}},
	{"epoll_ctl", {SYS_epoll_ctl}},
	{"epoll_wait", {
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
		SYS_epoll_pwait}},
	{"epoll_pwait2", {441}},
#ifdef SYS_poll
	{"poll", {SYS_poll}},
#endif
	{"ppoll", {SYS_ppoll}},
	{"pselect6", {SYS_pselect6}},
	{"eventfd2", {SYS_eventfd2}},
	{"timerfd_create", {SYS_timerfd_create}},
	{"timerfd_settime", {SYS_timerfd_settime}},
	{"signalfd4", {SYS_signalfd4}},
	{"inotify_init1", {SYS_inotify_init1}},
	{"inotify_add_watch", {SYS_inotify_add_watch}},
	{"inotify_rm_watch", {SYS_inotify_rm_watch}},
	{"perf_event_open", {SYS_perf_event_open}},
	{"io_uring_setup", {SYS_io_uring_setup}},
	{"io_uring_enter", {SYS_io_uring_enter}},
	{"statx", {SYS_statx}},
	{"fstatfs", {SYS_fstatfs}},
	{"readlink", {
#ifdef SYS_readlink
		SYS_readlink,
#endif
		SYS_readlinkat}},
	{"socket", {SYS_socket}},
	{"getsockopt", {SYS_getsockopt}},
	{"prlimit64", {SYS_prlimit64}},
	{"kcmp", {SYS_kcmp}},
	{"waitid", {SYS_waitid}},
	{"dup3", {SYS_dup3}},
	{"madvise", {SYS_madvise}},
};

static bool refuse(const struct call *call, int error)
{
	struct sock_filter code[16];
	struct sock_fprog program = {.filter = code};
	unsigned short len = 0;

	code[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                           offsetof(struct seccomp_data, nr));
	for (int i = 0; i < 3 && call->numbers[i]; i++) {
		code[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                           (unsigned)call->numbers[i], 0, 1);
		code[len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
	}
	code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = len;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* --- Features: true if the ADD failed, or the event came ------------------------------------- */

/* Wait for an event of this filter.  Returns true if it comes. */
static bool delivered(struct xpoll *queue, int filter)
{
	struct xpoll_event event;
	int rc;

	do
		rc = xpoll_event(queue, NULL, 0, &event, 1, XT_SOON);
	while (rc == 1 && event.filter != filter);
	return rc == 1;
}

static bool comes(struct xpoll *queue, int fd, int filter, int flags)
{
	return xt_add(queue, fd, filter, flags) != 0 || delivered(queue, filter);
}

static bool read_by_level(struct xpoll *queue)
{
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	return comes(queue, pipe.r, READ, 0);
}

static bool read_by_edge(struct xpoll *queue)
{
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	return comes(queue, pipe.r, READ, XPOLL_CLEAR);
}

static bool write_by_level(struct xpoll *queue)
{
	return comes(queue, xt_socketpair(SOCK_STREAM).r, WRITE, 0);
}

static bool write_by_edge(struct xpoll *queue)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	return comes(queue, pair.r, READ, XPOLL_CLEAR) && comes(queue, pair.r, WRITE, XPOLL_CLEAR);
}

static bool read_of_a_file(struct xpoll *queue)
{
	int fd = xt_file("text");
	bool came = comes(queue, fd, READ, 0);

	(void)lseek(fd, 0, SEEK_END);
	if (write(fd, "more", 4) != 4)
		return false;
	(void)lseek(fd, -4, SEEK_END);
	return came && comes(queue, fd, READ, 0);
}

static bool mount_table(struct xpoll *queue)
{
	return comes(queue, xt_open_path("/proc/self/mounts", O_RDONLY), READ, 0);
}

static bool timer(struct xpoll *queue)
{
	return xt_change(queue, 1, XPOLL_FILT_TIMER, XPOLL_ADD, 0, 1, NULL) != 0 ||
		delivered(queue, XPOLL_FILT_TIMER);
}

static bool user(struct xpoll *queue)
{
	return xt_flag(queue, 1, USER, XPOLL_ADD) != 0 || xt_trigger(queue, 1) != 0 ||
		delivered(queue, USER);
}

static bool signal_of_process(struct xpoll *queue)
{
	if (xt_flag(queue, SIGUSR1, XPOLL_FILT_SIGNAL, XPOLL_ADD) != 0)
		return true;
	(void)signal(SIGUSR1, SIG_IGN);
	(void)xpoll_signal_changed(SIGUSR1);
	(void)kill(getpid(), SIGUSR1);
	return delivered(queue, XPOLL_FILT_SIGNAL);
}

static bool file_watched(struct xpoll *queue)
{
	int fd = xt_file("text");

	if (xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0, NULL) != 0)
		return true;
	return write(fd, "more", 4) == 4 && delivered(queue, VNODE);
}

static bool operation(struct xpoll *queue)
{
	static char buffer[4];
	static struct xpoll_aio aio;

	aio = (struct xpoll_aio){.size = sizeof aio, .op = XPOLL_AIO_READ, .fd = xt_file("text"),
	                         .buffer = buffer, .length = sizeof buffer};
	return xpoll_aio_submit(queue, &aio) != 0 || delivered(queue, XPOLL_FILT_AIO);
}

static bool woken(struct xpoll *queue)
{
	struct xpoll_event event;

	return xpoll_wake(queue) != 0 || xpoll_event(queue, NULL, 0, &event, 1, -1) == 0;
}

static bool outer(struct xpoll *queue)
{
	int fd = xpoll_fd(queue);

	if (fd < 0 || xt_change(queue, 2, XPOLL_FILT_TIMER, XPOLL_ADD, 0, 1, NULL) != 0)
		return true;
	return xt_poll_until(fd, POLLIN, POLLIN) && delivered(queue, XPOLL_FILT_TIMER);
}

static const struct function {
	const char *name;
	bool (*run)(struct xpoll *queue);
} functions[] = {
	{"READ", read_by_level}, {"READ with CLEAR", read_by_edge},
	{"WRITE", write_by_level}, {"WRITE with CLEAR", write_by_edge},
	{"READ of a file", read_of_a_file}, {"READ of a mount table", mount_table},
	{"TIMER", timer}, {"USER", user}, {"SIGNAL", signal_of_process}, {"VNODE", file_watched},
	{"AIO", operation}, {"xpoll_wake", woken}, {"xpoll_fd", outer},
};

/* --- The table ------------------------------------------------------------------------------ */

struct cell {
	const struct call *call;
	int error;
};

static void run_cell(void *argument)
{
	const struct cell *cell = argument;
	struct xpoll_options options = {.size = sizeof options, .backend = xt_backend};

	if (!refuse(cell->call, cell->error))
		xt_fail(__FILE__, __LINE__, "no filter of system calls here");
	for (size_t i = 0; i < sizeof functions / sizeof *functions && !xt_failures(); i++) {
		struct xpoll *queue = xpoll_open(&options);

		/* If xpoll_create fails, that is a clear result, too. */
		if (!queue)
			return;
		if (!functions[i].run(queue))
			xt_fail(__FILE__, __LINE__, "%s is silent if %s is refused with %s",
			        functions[i].name, cell->call->name, xt_error_name(cell->error));
		xpoll_destroy(queue);
	}
}

static bool may_refuse(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

static void all_calls(int error)
{
	if (!may_refuse())
		XT_SKIP("no filters of system calls here");
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct cell cell = {&calls[i], error};

		if (!xt_child(run_cell, &cell))
			return;
	}
}

XT_TEST(calls_refused_with_eperm_leave_no_function_silent)
{
	all_calls(EPERM);
}

XT_TEST(calls_refused_with_enosys_leave_no_function_silent)
{
	all_calls(ENOSYS);
}

XT_TEST(calls_refused_with_eacces_leave_no_function_silent)
{
	all_calls(EACCES);
}
