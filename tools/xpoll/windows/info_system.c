/*
 * xpoll info: the system.  Windows has no limits that matter for queues.
 */
#include <windows.h>

#include "info.h"

void info_system(struct info_text *to)
{
	const HMODULE ntdll = GetModuleHandleA("ntdll");

	info_say(to, "%s", GetProcAddress(ntdll, "wine_get_version") != NULL ? "Wine" : "Windows");
}

void info_met(int filter, int error, struct info_text *to)
{
	(void)filter, (void)error, (void)to;
}

void info_limits(void (*each)(const char *label, const char *name, const char *value))
{
	(void)each;
}
