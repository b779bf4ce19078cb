/* <errno.h> of the C library, and ESTALE, an error of files that the C library may lack. */
#ifndef XP_WINDOWS_POSIX_ERRNO_H
#define XP_WINDOWS_POSIX_ERRNO_H

#include_next <errno.h>

#ifndef ESTALE
#define ESTALE 133
#endif

#endif
