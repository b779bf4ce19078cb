/*
 * Puppets on Windows: the test's program, started with --puppet.  It reads the
 * code that it is to end with from its input, and ends with it; or with 0 when
 * nobody can tell it any more.
 */
#include "puppet.h"

#include <windows.h>

enum { PUPPETS_MOST = 128 };

/* By the number in struct puppet; the process is NULL in a free one. */
static struct string {
	HANDLE process;
	HANDLE order;
	pid_t pid;
} strings[PUPPETS_MOST];

char puppet_program[PATH_MAX];

__attribute__((constructor)) static void puppet_main(void)
{
	HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
	DWORD size;
	int code;

	(void)GetModuleFileNameA(NULL, puppet_program, sizeof puppet_program);
	if (!strstr(GetCommandLineA(), " --puppet"))
		return;
	if (!ReadFile(input, &code, sizeof code, &size, NULL) ||
	    size != sizeof code)
		code = 0;
	ExitProcess((UINT)code);
}

static int string_free(void)
{
	for (int i = 0; i < PUPPETS_MOST; i++)
		if (!strings[i].process)
			return i;
	xt_fail(__FILE__, __LINE__, "too many puppets");
	return 0;
}

struct puppet puppet_start(void)
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
	struct puppet puppet = {.fd = string_free()};
	char command[300];

	XT_EXPECT(CreatePipe(&start.hStdInput, &strings[puppet.fd].order,
	                     &inherited, 0));
	/* Its own end alone: else it would never read to the end. */
	XT_EXPECT(SetHandleInformation(strings[puppet.fd].order,
	                               HANDLE_FLAG_INHERIT, 0));
	(void)snprintf(command, sizeof command, "\"%s\" --puppet",
	               puppet_program);
	XT_EXPECT(CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL,
	                         &start, &made));
	(void)CloseHandle(start.hStdInput);
	(void)CloseHandle(made.hThread);
	strings[puppet.fd].process = made.hProcess;
	puppet.pid = (pid_t)made.dwProcessId;
	strings[puppet.fd].pid = puppet.pid;
	return puppet;
}

void puppet_exit(struct puppet puppet, int code)
{
	DWORD size;

	XT_EXPECT(WriteFile(strings[puppet.fd].order, &code, sizeof code, &size,
	                    NULL));
}

void puppet_kill(struct puppet puppet, int signal)
{
	XT_EXPECT(TerminateProcess(strings[puppet.fd].process, (UINT)signal));
}

void puppet_await_end(struct puppet puppet)
{
	XT_EXPECT_EQ(WaitForSingleObject(strings[puppet.fd].process, 20000),
	             WAIT_OBJECT_0);
}

/* The last handle of the test's: its number is free now. */
int puppet_wait(struct puppet puppet)
{
	DWORD code = 0;

	puppet_await_end(puppet);
	XT_EXPECT(GetExitCodeProcess(strings[puppet.fd].process, &code));
	(void)CloseHandle(strings[puppet.fd].process);
	(void)CloseHandle(strings[puppet.fd].order);
	strings[puppet.fd].process = NULL;
	return (int)code;
}

void puppet_all_gone(void)
{
}

/* Whose child a process is makes no difference here. */
struct puppet puppet_fork(struct puppet parent)
{
	(void)parent;
	return puppet_start();
}

int puppet_reap(struct puppet puppet, pid_t child)
{
	for (puppet.fd = 0; puppet.fd < PUPPETS_MOST; puppet.fd++)
		if (strings[puppet.fd].process && strings[puppet.fd].pid == child)
			return puppet_wait(puppet);
	xt_fail(__FILE__, __LINE__, "no such puppet");
	return -1;
}

void puppet_ignores_children(struct puppet puppet)
{
	(void)puppet;
	xt_absent("SIGCHLD");
}

void puppet_leader_ends(struct puppet puppet)
{
	(void)puppet;
	xt_absent("order of a process by one thread");
}

void puppet_exec_by_thread(struct puppet puppet)
{
	(void)puppet;
	xt_absent("exec");
}
