/*
 * Marks of files for which fstat(2) returns neither device nor inode, to detect that a descriptor
 * was reused.  Such are sockets on systems with kqueue(2), whose filters end with the descriptor.
 */
#ifndef XP_SYS_MARKS_H
#define XP_SYS_MARKS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct xp_marks {
	bool open;
	int fd;           /* the kernel's set */
	pid_t process; /* the process that opened it */
};

/* Returns 0 even if there is nothing to open. */
int xp_marks_open(struct xp_marks *marks);
void xp_marks_close(struct xp_marks *marks);

/* Mark fd, until the mark is removed or fd closed; harmless if it is marked. */
int xp_marks_add(const struct xp_marks *marks, int fd);
void xp_marks_remove(const struct xp_marks *marks, int fd);
bool xp_marks_have(const struct xp_marks *marks, int fd);

static inline bool xp_marks_own(const struct xp_marks *marks, int fd)
{
	return marks->open && fd == marks->fd;
}

/* Returns true for a file that only a mark distinguishes from others. */
static inline bool xp_is_nameless(const struct stat *status)
{
	return status->st_ino == 0 && status->st_dev == 0;
}

#endif
