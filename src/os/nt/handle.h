/* The handle of Windows behind a number. */
#ifndef XP_OS_NT_HANDLE_H
#define XP_OS_NT_HANDLE_H

#include <winsock2.h>

#include <windows.h>

#include <stdint.h>

#include "os/fdnum.h"

/* What a number stands for. */
static inline HANDLE xp_nt_handle(int fd)
{
	return (HANDLE)(uintptr_t)xp_fd_ident(fd);
}

#endif
