/* POSIX names and types for functions of winsock2.h. */
#ifndef XT_NT_SOCKET_H
#define XT_NT_SOCKET_H

#include <xt_nt.h>

#define connect(fd, address, size) xt_nt_connect(fd, address, size)
#define getsockopt(fd, level, name, value, size) \
	(getsockopt)(fd, level, name, (char *)(value), size)

#define SHUT_RD   SD_RECEIVE
#define SHUT_WR   SD_SEND
#define SHUT_RDWR SD_BOTH

#endif
