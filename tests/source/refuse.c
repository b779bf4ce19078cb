/*
 * Runs a program in a sandbox that refuses one system call.
 *
 * refuse_call CALL ERROR PROGRAM [ARGUMENT...]: CALL and ERROR are numbers.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned call = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	unsigned error = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

	if (argc < 4 || error == 0) {
		fprintf(stderr, "usage: refuse_call CALL ERROR PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		printf("SKIP: no seccomp filter here\n");
		return 77;
	}
	execv(argv[3], argv + 3);
	perror(argv[3]);
	return 1;
}
