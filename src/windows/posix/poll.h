/* Of poll(2) Windows has the structure and the bits. */
#ifndef XP_WINDOWS_POSIX_POLL_H
#define XP_WINDOWS_POSIX_POLL_H

#include <winsock2.h>

#endif
