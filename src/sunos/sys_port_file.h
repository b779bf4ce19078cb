/* Files watched by event ports: see sys.h for the conventions. */
#ifndef XP_SUNOS_SYS_PORT_FILE_H
#define XP_SUNOS_SYS_PORT_FILE_H

#include <sys/stat.h>

#include "sunos/sys_port.h"

/* Older releases lack FILE_TRUNC. */
#ifndef FILE_TRUNC
#define FILE_TRUNC 0
#endif

/*
 * Watch the file at the path object->fo_name for one event, which comes at once if the file's times
 * differ from those in `object`.  The kernel identifies the watch by the address of `object`; a
 * watch with the same address is replaced.
 *
 * -ENOENT: there is no file of this name; -ENOTSUP: its file system does not report; -EPERM;
 * -ENOSPC: the process's limit; -ENOMEM.
 */
int xp_sys_port_watch(int port_fd, const struct file_obj *object, int events,
                      uintptr_t cookie);
/* End a watch.  An event that was sent before may still be taken afterwards. */
void xp_sys_port_unwatch(int port_fd, const struct file_obj *object);

/* Store the present path of an open file.  Returns the path's length; -ENOENT: no path is known. */
int xp_sys_fd_path(int fd, char *path, size_t size);
/* Like lstat(2); returns 0 or a negative errno value. */
int xp_sys_lstat(const char *path, struct stat *status);

#endif
