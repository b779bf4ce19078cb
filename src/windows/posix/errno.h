/* Errors of files, which no socket has. */
#ifndef XP_WINDOWS_POSIX_ERRNO_H
#define XP_WINDOWS_POSIX_ERRNO_H

#include_next <errno.h>

#ifndef ESTALE
#define ESTALE 133
#endif

#endif
