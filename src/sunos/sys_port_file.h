/* Files watched by event ports: see sys.h for the conventions. */
#ifndef XP_SUNOS_SYS_PORT_FILE_H
#define XP_SUNOS_SYS_PORT_FILE_H

#include <sys/stat.h>

#include "sunos/sys_port.h"

/* Missing in older releases. */
#ifndef FILE_TRUNC
#define FILE_TRUNC 0
#endif

/*
 * Watch the file of this name for one event, which comes at once if the file's times differ from
 * those in `object`.  The address of `object` identifies the watch, and replaces an earlier one.
 *
 * -ENOENT: there is no file of this name; -ENOTSUP: its file system does not report; -EPERM;
 * -ENOSPC: the process's limit; -ENOMEM.
 */
int xp_sys_port_watch(int port_fd, const struct file_obj *object, int events,
                      uintptr_t cookie);
/* End a watch; events that were sent may still come. */
void xp_sys_port_unwatch(int port_fd, const struct file_obj *object);

/* Store the present path of an open file.  Returns its length; -ENOENT: it has none. */
int xp_sys_port_path(int fd, char *path, size_t size);
/* lstat(2) */
int xp_sys_lstat(const char *path, struct stat *status);

#endif
