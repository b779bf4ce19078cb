/*
 * Helpers on Windows: the test's program, started with --helper.  It reads its exit code from its
 * input; it exits with 0 if the input is closed.
 */
#include "helper.h"

#include <windows.h>

enum { HELPERS_MOST = 128 };

/* Indexed by the number in struct helper; process is NULL in a free element. */
static struct string {
	HANDLE process;
	HANDLE order;
	pid_t pid;
} strings[HELPERS_MOST];

char helper_program[PATH_MAX];

__attribute__((constructor)) static void helper_main(void)
{
	HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
	DWORD size;
	int code;

	(void)GetModuleFileNameA(NULL, helper_program, sizeof helper_program);
	if (!strstr(GetCommandLineA(), " --helper"))
		return;
	if (!ReadFile(input, &code, sizeof code, &size, NULL) ||
	    size != sizeof code)
		code = 0;
	ExitProcess((UINT)code);
}

static int string_free(void)
{
	for (int i = 0; i < HELPERS_MOST; i++)
		if (!strings[i].process)
			return i;
	xt_fail(__FILE__, __LINE__, "too many helpers");
	return 0;
}

struct helper helper_start(void)
{
	SECURITY_ATTRIBUTES inherited = {
		.nLength = sizeof inherited,
		.bInheritHandle = TRUE,
	};
	PROCESS_INFORMATION made = {0};
	STARTUPINFOA start = {
		.cb = sizeof start,
		.dwFlags = STARTF_USESTDHANDLES,
		.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
		.hStdError = GetStdHandle(STD_ERROR_HANDLE),
	};
	struct helper helper = {.fd = string_free()};
	char command[300];

	XT_EXPECT(CreatePipe(&start.hStdInput, &strings[helper.fd].order,
	                     &inherited, 0));
	/* The child must not inherit the writing end, or its reads would never end. */
	XT_EXPECT(SetHandleInformation(strings[helper.fd].order,
	                               HANDLE_FLAG_INHERIT, 0));
	(void)snprintf(command, sizeof command, "\"%s\" --helper",
	               helper_program);
	XT_EXPECT(CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL,
	                         &start, &made));
	(void)CloseHandle(start.hStdInput);
	(void)CloseHandle(made.hThread);
	strings[helper.fd].process = made.hProcess;
	helper.pid = (pid_t)made.dwProcessId;
	strings[helper.fd].pid = helper.pid;
	return helper;
}

void helper_exit(struct helper helper, int code)
{
	DWORD size;

	XT_EXPECT(WriteFile(strings[helper.fd].order, &code, sizeof code, &size,
	                    NULL));
}

void helper_kill(struct helper helper, int signal)
{
	XT_EXPECT(TerminateProcess(strings[helper.fd].process, (UINT)signal));
}

void helper_await_end(struct helper helper)
{
	XT_EXPECT_EQ(WaitForSingleObject(strings[helper.fd].process, 20000),
	             WAIT_OBJECT_0);
}

/* The test has closed its last handle, so the helper's number is free now. */
int helper_wait(struct helper helper)
{
	DWORD code = 0;

	helper_await_end(helper);
	XT_EXPECT(GetExitCodeProcess(strings[helper.fd].process, &code));
	(void)CloseHandle(strings[helper.fd].process);
	(void)CloseHandle(strings[helper.fd].order);
	strings[helper.fd].process = NULL;
	return (int)code;
}

void helper_all_gone(void)
{
}

/* On Windows it makes no difference whose child a process is. */
struct helper helper_fork(struct helper parent)
{
	(void)parent;
	return helper_start();
}

int helper_reap(struct helper helper, pid_t child)
{
	for (helper.fd = 0; helper.fd < HELPERS_MOST; helper.fd++)
		if (strings[helper.fd].process && strings[helper.fd].pid == child)
			return helper_wait(helper);
	xt_fail(__FILE__, __LINE__, "no such helper");
	return -1;
}

void helper_ignores_children(struct helper helper)
{
	(void)helper;
	xt_absent("SIGCHLD");
}

void helper_leader_ends(struct helper helper)
{
	(void)helper;
	xt_absent("order of a process by one thread");
}

void helper_exec_by_thread(struct helper helper)
{
	(void)helper;
	xt_absent("exec");
}
