/* port_associate(3C) for files, and their paths. */
#include "sunos/sys_port_file.h"

#include <errno.h>
#include <stdio.h>

#include "sys/libcall.h"
#include "sys/sys.h"

/* Returns the errno value that xp_sys_port_watch returns, negated, for this error of the kernel. */
static int port_file_error(int error)
{
	switch (error) {
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case EINVAL: /* the file went away meanwhile */
		return ENOENT;
	case EACCES:
		return EPERM;
	case EAGAIN:
		return ENOSPC;
	default:
		return error;
	}
}

int xp_sys_port_watch(int port_fd, const struct file_obj *object, int events,
                      uintptr_t cookie)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = port_associate(port_fd, PORT_SOURCE_FILE, (uintptr_t)object,
	                        events, (void *)cookie);

	if (rc < 0)
		errno = port_file_error(errno);
	return (int)xp_uncancelled_end(&before, rc);
}

void xp_sys_port_unwatch(int port_fd, const struct file_obj *object)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = port_dissociate(port_fd, PORT_SOURCE_FILE, (uintptr_t)object);

	/* Ignore the error: the call fails if an event has ended the watch. */
	(void)xp_uncancelled_end(&before, rc);
}

int xp_sys_fd_path(int fd, char *path, size_t size)
{
	char link[32];
	int length;

	snprintf(link, sizeof link, "/proc/self/path/%d", fd);
	length = xp_sys_readlink(link, path, size);
	if (length < 0)
		return length;
	if (length == 0 || (size_t)length >= size || path[0] != '/')
		return -ENOENT;
	path[length] = '\0';
	return length;
}

int xp_sys_lstat(const char *path, struct stat *status)
{
	return XP_UNCANCELLED(lstat(path, status));
}
