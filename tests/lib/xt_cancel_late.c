/*
 * Sends cancel signals late (xt_late of xt_cancel.h).  On Linux the thread that calls
 * pthread_cancel has a seccomp filter, which passes its tgkill(2) to another thread; that one calls
 * before_signal, and then lets the tgkill(2) be made.
 */
#include "xt_cancel.h"

#ifdef __linux__

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef SECCOMP_FILTER_FLAG_NEW_LISTENER

struct xt_late {
	void (*before_signal)(void *argument);
	void *argument;
	struct xt_pair ask, answer; /* one byte for each request and for its completion */
	/* descriptor that gets the filter's notifications; -1: not open yet; -2: refused */
	atomic_int listener;
	pthread_t target;
	struct xt_thread *caller, *sender;
};

static int late_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tkill, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof filter / sizeof *filter,
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -2;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	return fd < 0 ? -2 : fd;
}

static void late_call(void *argument)
{
	struct xt_late *late = argument;
	char byte;

	atomic_store(&late->listener, late_filter());
	if (atomic_load(&late->listener) < 0)
		return;
	while (read(late->ask.r, &byte, 1) == 1 && byte == 'c') {
		(void)XT_EXPECT_EQ(pthread_cancel(late->target), 0);
		(void)XT_EXPECT_EQ(write(late->answer.w, "c", 1), 1);
	}
	/* Let the other thread return: it ends when it gets a tgkill(2) of an invalid process. */
	(void)syscall(SYS_tgkill, -1, -1, 0);
}

static void late_send(void *argument)
{
	struct xt_late *late = argument;
	int fd = atomic_load(&late->listener);
	struct seccomp_notif call;
	struct seccomp_notif_resp result;
	bool more = true;

	while (more) {
		memset(&call, 0, sizeof call);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno == EINTR)
				continue;
			(void)XT_EXPECT_EQ(errno, 0);
			break;
		}
		more = (int)call.data.args[0] != -1;
		if (more)
			late->before_signal(late->argument);
		memset(&result, 0, sizeof result);
		result.id = call.id;
		result.val = syscall(call.data.nr, call.data.args[0], call.data.args[1],
		                     call.data.args[2]);
		if (result.val < 0)
			result.error = -errno;
		(void)XT_EXPECT_EQ(ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &result), 0);
	}
	(void)close(fd);
}

static struct xt_pair blocking_pipe(void)
{
	struct xt_pair pipe = xt_pipe();

	(void)fcntl(pipe.r, F_SETFL, 0);
	return pipe;
}

struct xt_late *xt_late_new(void (*before_signal)(void *argument), void *argument)
{
	struct xt_late *late = calloc(1, sizeof *late);

	if (!late)
		xt_absent("memory");
	*late = (struct xt_late){
		.before_signal = before_signal,
		.argument = argument,
		.ask = blocking_pipe(),
		.answer = blocking_pipe(),
		.listener = -1,
	};
	late->caller = xt_start(late_call, late);
	while (atomic_load(&late->listener) == -1)
		(void)poll(NULL, 0, 1);
	if (atomic_load(&late->listener) >= 0) {
		late->sender = xt_start(late_send, late);
		return late;
	}
	xt_join(late->caller);
	free(late);
	return NULL;
}

void xt_late_send(struct xt_late *late, pthread_t thread)
{
	char byte;

	late->target = thread;
	(void)XT_EXPECT_EQ(write(late->ask.w, "c", 1), 1);
	(void)XT_EXPECT_EQ(read(late->answer.r, &byte, 1), 1);
}

void xt_late_free(struct xt_late *late)
{
	if (!late)
		return;
	(void)XT_EXPECT_EQ(write(late->ask.w, "e", 1), 1);
	xt_join(late->caller);
	xt_join(late->sender);
	free(late);
}

#endif
#endif

#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
struct xt_late *xt_late_new(void (*before_signal)(void *argument), void *argument)
{
	(void)before_signal;
	(void)argument;
	return NULL;
}

void xt_late_send(struct xt_late *late, pthread_t thread)
{
	(void)late;
	(void)thread;
}

void xt_late_free(struct xt_late *late)
{
	(void)late;
}
#endif
