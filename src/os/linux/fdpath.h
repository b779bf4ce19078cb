/*
 * The name of an open descriptor in /proc.  By hand: stdio is not async-signal-safe,
 * which the drop-in has to be, and takes a thousand instructions.
 */
#ifndef XP_OS_LINUX_FDPATH_H
#define XP_OS_LINUX_FDPATH_H

#include <string.h>

enum { XP_FD_PATH_SIZE = 40 };

/* "/proc/self/fd/NUMBER" and what is below it; the length. */
static inline size_t xp_fd_path(char *path, int fd, const char *below)
{
	static const char folder[] = "/proc/self/fd/";
	size_t len = sizeof folder - 1;
	unsigned rest = (unsigned)fd;

	memcpy(path, folder, len);
	do {
		len++;
		rest /= 10;
	} while (rest > 0);
	rest = (unsigned)fd;
	for (size_t at = len; at >= sizeof folder; rest /= 10)
		path[--at] = (char)('0' + rest % 10);
	memcpy(path + len, below, strlen(below) + 1);
	return len + strlen(below);
}

#endif
