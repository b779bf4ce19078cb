/*
 * xt_process on Windows: the watchdog and the clock; functions for children and signals end the
 * test as skipped.
 */
#include "xt_internal.h"

#include <sys/utsname.h>

static const char *volatile watch_name = "";
static HANDLE watch_timer;

static VOID CALLBACK watch_expired(void *none, BOOLEAN timed_out)
{
	(void)none, (void)timed_out;
	printf("\nFAIL  watchdog: this test is stuck: %s\n", watch_name);
	(void)fflush(stdout);
	TerminateProcess(GetCurrentProcess(), 1);
}

void xt_watchdog_install(void)
{
	WSADATA data;

	if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
		xt_broken("WSAStartup");
}

void xt_watchdog_start(const char *name, unsigned seconds)
{
	xt_watchdog_stop();
	watch_name = name;
	if (!CreateTimerQueueTimer(&watch_timer, NULL, watch_expired, NULL,
	                           seconds * 1000, 0, 0))
		xt_broken("a timer");
}

void xt_watchdog_stop(void)
{
	if (watch_timer)
		(void)DeleteTimerQueueTimer(NULL, watch_timer, NULL);
	watch_timer = NULL;
}

void xt_threads_signal(int signal_of)
{
	(void)signal_of;
}

/* No call reports whether a thread sleeps, so wait long enough for the thread to fall asleep. */
void xt_asleep(struct xt_thread *thread)
{
	for (int i = 0; i < 20 && !xt_done(thread); i++)
		Sleep(1);
}

bool xt_child(void (*run)(void *), void *argument)
{
	(void)run, (void)argument;
	xt_absent("fork");
}

int xt_nt_sigaction(int number, const void *action, void *old)
{
	(void)number, (void)action, (void)old;
	xt_absent("signals");
}

int xt_nt_no_limit(int which, const void *limit)
{
	(void)which, (void)limit;
	xt_absent("limit of descriptors");
}

bool xt_wine(void)
{
	return GetProcAddress(GetModuleHandleA("ntdll"), "wine_get_version") !=
		NULL;
}

int xt_nt_uname(struct utsname *name)
{
	/* GetVersionEx returns an older version to programs that do not list the current one. */
	typedef LONG (WINAPI *version_function)(OSVERSIONINFOW *version);
	FARPROC found = GetProcAddress(GetModuleHandleA("ntdll"), "RtlGetVersion");
	OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
	version_function get_version;

	memcpy(&get_version, &found, sizeof found);
	if (!found || get_version(&version) != 0)
		return -1;
	(void)snprintf(name->sysname, sizeof name->sysname, "%s", xt_wine() ? "Wine" : "Windows");
	(void)snprintf(name->release, sizeof name->release, "%lu.%lu.%lu", version.dwMajorVersion,
	               version.dwMinorVersion, version.dwBuildNumber);
	(void)snprintf(name->machine, sizeof name->machine, "x86_64");
	return 0;
}

int xt_thread_number(void)
{
	return (int)GetCurrentThreadId();
}

int xt_queue_signal(int thread_number, int number, int value)
{
	(void)thread_number, (void)number, (void)value;
	xt_absent("signals");
}

const char *xt_scratch(void)
{
	xt_absent("named files");
}

void xt_scratch_release(void)
{
}
