/* Handles that are neither sockets nor files: objects that a program can wait for. */
#include <errno.h>
#include <string.h>

#include "windows/nt.h"

NTSYSAPI NTSTATUS NTAPI NtQueryEvent(HANDLE event, int class, void *result, ULONG size,
                                     ULONG *length);
NTSYSAPI NTSTATUS NTAPI NtCompareObjects(HANDLE first, HANDLE second);

/* Room for an object's type: the kernel stores the type's name behind the structure. */
union object_type {
	PUBLIC_OBJECT_TYPE_INFORMATION type;
	unsigned char room[512];
};

/* The result of NtQueryEvent. */
struct event_state {
	ULONG is_auto_reset; /* 1: a wait that succeeds resets the event */
	LONG is_signalled;
};

/* Returns XP_NT_WAIT_TAKES if a wait resets the event, else XP_NT_WAIT_READS. */
static enum xp_nt_wait event_wait_kind(HANDLE event)
{
	struct event_state state;
	ULONG length;

	/* If the handle has no right to query the event, assume an auto-reset event. */
	return NtQueryEvent(event, 0, &state, sizeof state, &length) == 0 && !state.is_auto_reset
		? XP_NT_WAIT_READS : XP_NT_WAIT_TAKES;
}

static bool has_name(const UNICODE_STRING *name, const WCHAR *expected)
{
	size_t size = wcslen(expected) * sizeof *expected;

	return name->Length == size && memcmp(name->Buffer, expected, size) == 0;
}

int xp_nt_wait_kind(int fd)
{
	union object_type object;
	const UNICODE_STRING *name = &object.type.TypeName;
	ULONG length;

	if (fd < 0 || NtQueryObject(xp_nt_handle(fd), ObjectTypeInformation, &object,
	                            sizeof object, &length) != 0)
		return -EBADF;
	if (has_name(name, L"Process") || has_name(name, L"Thread") || has_name(name, L"Job"))
		return XP_NT_WAIT_READS;
	if (has_name(name, L"Event"))
		return event_wait_kind(xp_nt_handle(fd));
	return has_name(name, L"Semaphore") || has_name(name, L"Timer") ? XP_NT_WAIT_TAKES
		: -ENOTSUP;
}

bool xp_nt_is_same(HANDLE first, HANDLE second)
{
	return NtCompareObjects(first, second) == 0;
}
