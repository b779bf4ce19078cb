/*
 * xpoll info: whether each event source works here, and how many handles it takes.
 */
#include <xpoll.h>

#include <windows.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

static int handles_count(void)
{
	DWORD count = 0;

	(void)GetProcessHandleCount(GetCurrentProcess(), &count);
	return (int)count;
}

/* Open the command's own file, a file that is certain to exist. */
static HANDLE file_open(void)
{
	char path[MAX_PATH];
	DWORD len = GetModuleFileNameA(NULL, path, sizeof path);

	if (len == 0 || len == sizeof path)
		return INVALID_HANDLE_VALUE;
	return CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
	                   OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
}

/* Start an operation and wait for its event.  Returns 0 or an errno value. */
static int try_aio(struct xpoll *queue, HANDLE file)
{
	char byte;
	struct xpoll_aio aio = {
		.size = sizeof aio,
		.op = XPOLL_AIO_READ,
		.fd = (xpoll_fd_t)file,
		.buffer = &byte,
		.length = 1,
	};
	struct xpoll_event event;

	if (xpoll_aio_submit(queue, &aio) < 0)
		return errno;
	if (xpoll_event(queue, NULL, 0, &event, 1, -1) < 1)
		return errno;
	return event.data < 0 ? (int)-event.data : 0;
}

static uint64_t ident_of(int filter, HANDLE file)
{
	if (filter == XPOLL_FILT_SIGNAL)
		return SIGINT;
	if (filter == XPOLL_FILT_PROC)
		return GetCurrentProcessId();
	return filter == XPOLL_FILT_VNODE ? (uint64_t)(uintptr_t)file : 1;
}

int info_try(int filter, uint32_t fflags, struct info_text *to)
{
	struct xpoll *queue = xpoll_open(NULL);
	HANDLE file = file_open();
	struct xpoll_event change;
	int before;
	int error = queue == NULL ? errno : file == INVALID_HANDLE_VALUE ? EIO : 0;

	xpoll_set(&change, ident_of(filter, file), filter, XPOLL_ADD, fflags, 1000, NULL);
	before = handles_count();
	if (error == 0 && filter == XPOLL_FILT_AIO)
		error = try_aio(queue, file);
	else if (error == 0)
		error = xpoll_event(queue, &change, 1, NULL, 0, 0) < 0 ? errno : 0;
	if (error == 0)
		info_say(to, "handles: %d", handles_count() - before);
	xpoll_destroy(queue);
	if (file != INVALID_HANDLE_VALUE)
		CloseHandle(file);
	return error;
}
