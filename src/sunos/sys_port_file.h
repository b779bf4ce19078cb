/* Files watched by event ports: see sys.h for the conventions. */
#ifndef XP_SUNOS_SYS_PORT_FILE_H
#define XP_SUNOS_SYS_PORT_FILE_H

#include <sys/stat.h>

#include "sunos/sys_port.h"

/* Not in older releases. */
#ifndef FILE_TRUNC
#define FILE_TRUNC 0
#endif

/*
 * Watch the file of this name for one event; if its times are others than those
 * given here, that comes at once.  The address stands for the watch: another one
 * of the same address ends.
 *
 * -ENOENT: it has no such name, or just lost it; -ENOTSUP: its file system does
 * not say; -EPERM; -ENOSPC: the process's limit; -ENOMEM.
 */
int xp_sys_port_watch(int port_fd, const struct file_obj *object, int events,
                      uintptr_t cookie);
/* Events that were sent may still come. */
void xp_sys_port_unwatch(int port_fd, const struct file_obj *object);

/* The path of an open file, as it is now; its length.  -ENOENT: it has none. */
int xp_sys_port_path(int fd, char *path, size_t size);
/* lstat(2) */
int xp_sys_lstat(const char *path, struct stat *status);

#endif
