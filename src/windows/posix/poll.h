/* <poll.h>: <winsock2.h> has struct pollfd and the bits of poll(2). */
#ifndef XP_WINDOWS_POSIX_POLL_H
#define XP_WINDOWS_POSIX_POLL_H

#include <winsock2.h>

#endif
