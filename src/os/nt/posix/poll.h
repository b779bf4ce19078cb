/* Of poll(2) Windows has the structure and the bits. */
#ifndef XP_OS_NT_POLL_H
#define XP_OS_NT_POLL_H

#include <winsock2.h>

#endif
