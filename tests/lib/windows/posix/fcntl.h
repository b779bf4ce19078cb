/* Flags of open(2) that Windows lacks: they are 0 here. */
#ifndef XT_NT_FCNTL_H
#define XT_NT_FCNTL_H

#include_next <fcntl.h>

#include <xt_nt.h>

#define O_NONBLOCK 0
#define O_CLOEXEC  0
#define O_PATH     0
#define O_DIRECTORY 0

#define F_DUPFD 0
#define F_GETFD 1

#define fcntl(fd, ...) xt_nt_flags(fd, __VA_ARGS__)

#endif
