/* What winsock2.h calls otherwise. */
#ifndef XT_NT_SOCKET_H
#define XT_NT_SOCKET_H

#include <xt_nt.h>

#define SHUT_RD   SD_RECEIVE
#define SHUT_WR   SD_SEND
#define SHUT_RDWR SD_BOTH

#endif
