/* read, write, close and pipe for sockets instead of files: see ../xt_nt.h. */
#ifndef XT_NT_UNISTD_H
#define XT_NT_UNISTD_H

#include_next <unistd.h>

#include <xt_nt.h>

#define read(fd, buffer, size)  xt_nt_read(fd, buffer, size)
#define write(fd, buffer, size) xt_nt_write(fd, buffer, size)
#define close(fd)               xt_nt_close(fd)
#define pipe(ends)              xt_nt_pipe(ends)
#define setenv(name, value, overwrite) _putenv_s(name, value)
#define unsetenv(name)  _putenv_s(name, "")

#endif
