/*
 * Goal: after a process has installed a seccomp filter, the drop-in makes only
 * system calls that the program makes anyway.
 * Method: a child installs a filter that kills it for any call except those of
 * a small server on poll(2), such as sshd's child before the login, and
 * continues to poll: arrays with a set and new ones, by all four functions,
 * also in a child of its own.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "dropin.h"

/* The function by which the filter is installed. */
enum { BY_PRCTL, BY_LIBSECCOMP };

int seccomp_load(void *filter); /* defined in fake_seccomp.c */

static const int allowed[] = {
	SYS_ppoll, SYS_pselect6, SYS_read, SYS_write, SYS_close, SYS_exit,
	SYS_exit_group, SYS_wait4, SYS_clone, SYS_set_robust_list, SYS_rt_sigprocmask,
	SYS_munmap, SYS_brk, SYS_getpid, SYS_gettid,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_select
	SYS_select,
#endif
#ifdef SYS_fork
	SYS_fork,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
};

enum { ALLOWED = sizeof allowed / sizeof *allowed };

/* Install a filter that kills the process for every call that is not in the list. */
static bool install(int how)
{
	struct sock_filter code[2 * ALLOWED + 2];
	struct sock_fprog program = {.filter = code};
	unsigned short len = 0;

	code[len++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < ALLOWED; i++) {
		code[len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		                                           SECCOMP_RET_ALLOW);
	}
	code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	                                           SECCOMP_RET_KILL_PROCESS);
	program.len = len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	if (how == BY_LIBSECCOMP)
		return seccomp_load(&program) == 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Returns true if each function finds the one pipe that has a byte. */
static bool finds_it(struct crowd *crowd)
{
	const struct timespec zero = {0, 0};
	struct timeval none = {0, 0};
	fd_set in = crowd_set(crowd), also = in;
	bool right = crowd_ready(crowd) == 3;

	right = right && ppoll(crowd->fds, CROWD, &zero, NULL) == 1;
	right = right && select(FD_SETSIZE, &in, NULL, NULL, &none) == 1;
	return right && pselect(FD_SETSIZE, &also, NULL, NULL, &zero, NULL) == 1;
}

static int sandboxed_child(struct crowd *crowd, int how)
{
	struct pollfd fresh[CROWD];
	pid_t child;
	int status = 1;

	if (!install(how))
		return 77;
	for (int i = 0; i < 3 * CROWD; i++)
		if (!finds_it(crowd))
			return 2;
	memcpy(fresh, crowd->fds, sizeof fresh);
	for (int i = 0; i < 3 * CROWD; i++)
		if (poll(fresh, CROWD, 0) != 1 || poll(fresh, CROWD, -1) != 1)
			return 3;
	/* Close a descriptor that the kernel watches for the drop-in. */
	if (close(crowd->pipes[5].r) < 0)
		return 4;
	child = fork();
	if (child == 0)
		_exit(poll(fresh, CROWD, 0) == 2 ? 0 : 5);
	return child > 0 && waitpid(child, &status, 0) == child ? status != 0 : 6;
}

static void in_a_sandbox(bool used_before, int how)
{
	struct crowd crowd;
	pid_t child;
	int status;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer makes system calls of its own");
	XT_CALL(crowd_open(&crowd));
	xt_put(crowd.pipes[3].w);
	child = fork();
	if (child == 0) {
		for (int i = 0; used_before && i < 3 * CROWD; i++)
			finds_it(&crowd);
		_exit(sandboxed_child(&crowd, how));
	}
	XT_CHECK(child > 0);
	XT_EQ(waitpid(child, &status, 0), child);
	if (status == 77 << 8)
		XT_SKIP("no seccomp filters here");
	XT_EQ(status, 0);
}

XT_TEST(sandboxed_process_polls_on)
{
	in_a_sandbox(true, BY_PRCTL);
}

XT_TEST(sandboxed_process_begins_to_poll)
{
	in_a_sandbox(false, BY_PRCTL);
}

XT_TEST(filter_of_libseccomp_is_noticed)
{
	in_a_sandbox(true, BY_LIBSECCOMP);
}

/* Other operations of prctl(2) go to the C library. */
XT_TEST(prctl_does_what_it_does)
{
	char name[16] = "";

	XT_EQ(prctl(PR_SET_NAME, "renamed", 0, 0, 0), 0);
	XT_EQ(prctl(PR_GET_NAME, name, 0, 0, 0), 0);
	XT_CHECK(strcmp(name, "renamed") == 0);
	XT_FAILS(prctl(-1, 0, 0, 0, 0), EINVAL);
}
