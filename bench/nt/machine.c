/*
 * The machine in a few words, since a rate means nothing without it: Wine reports
 * that it is no Windows.
 */
#include <windows.h>
#include <winternl.h>

#include <stdio.h>

#include "bench.h"

typedef const char *CDECL wine_version_call(void);

NTSYSAPI NTSTATUS NTAPI RtlGetVersion(RTL_OSVERSIONINFOW *version);

static void machine_kernel(char *text, size_t size)
{
	RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };
	wine_version_call *wine = (wine_version_call *)(uintptr_t)GetProcAddress(
		GetModuleHandleA("ntdll"), "wine_get_version");

	(void)RtlGetVersion(&version);
	snprintf(text, size, "%s%s%sWindows %lu.%lu.%lu", wine != NULL ? "Wine " : "",
	         wine != NULL ? wine() : "", wine != NULL ? " as " : "",
	         version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber);
}

void bench_machine_get(struct bench_machine *machine)
{
	static const char key[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
	DWORD size = sizeof machine->cpu;
	SYSTEM_INFO system;

	machine_kernel(machine->kernel, sizeof machine->kernel);
	if (RegGetValueA(HKEY_LOCAL_MACHINE, key, "ProcessorNameString", RRF_RT_REG_SZ,
	                 NULL, machine->cpu, &size) != ERROR_SUCCESS)
		snprintf(machine->cpu, sizeof machine->cpu, "unknown");
	GetSystemInfo(&system);
	machine->cores = (int)system.dwNumberOfProcessors;
}
