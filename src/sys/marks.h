/*
 * Files by descriptor, where fstat(2) gives them neither device nor inode: is the
 * number still that of the file which was marked?  Sockets of the systems with
 * kqueue(2), whose filters end with the descriptor; elsewhere all files have numbers.
 */
#ifndef XP_SYS_MARKS_H
#define XP_SYS_MARKS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct xp_marks {
	bool open;
	int fd;           /* the kernel's set */
	pid_t process; /* whose it is */
};

/* 0, also where there is nothing to open. */
int xp_marks_open(struct xp_marks *marks);
void xp_marks_close(struct xp_marks *marks);

/* Until it is removed, or closed; harmless if it is there. */
int xp_marks_add(const struct xp_marks *marks, int fd);
void xp_marks_remove(const struct xp_marks *marks, int fd);
bool xp_marks_have(const struct xp_marks *marks, int fd);

static inline bool xp_marks_own(const struct xp_marks *marks, int fd)
{
	return marks->open && fd == marks->fd;
}

/* Is this a file that only a mark distinguishes from the next? */
static inline bool xp_is_nameless(const struct stat *status)
{
	return status->st_ino == 0 && status->st_dev == 0;
}

#endif
