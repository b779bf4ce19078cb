/*
 * Marks of open files, to detect that a descriptor was closed and reused.  Needed for files for
 * which fstat(2) returns neither device nor inode, such as sockets of the BSDs.  There a mark is a
 * filter in a kqueue of the library's own, because the kernel deletes the filter when the
 * descriptor is closed.  Other systems need no marks.
 */
#ifndef XP_SYS_MARKS_H
#define XP_SYS_MARKS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct xp_marks {
	bool open;
	/*
	 * a kqueue(2) descriptor with one disabled filter for each marked file; no thread waits on
	 * this kqueue
	 */
	int fd;
	pid_t process; /* the process that opened fd */
};

/*
 * Open the kqueue of the marks.  Returns 0, also on systems that need no marks, or a negative errno
 * value.
 */
int xp_marks_open(struct xp_marks *marks);
void xp_marks_close(struct xp_marks *marks);

/*
 * Mark the file of fd until xp_marks_remove or until fd is closed.  Marking a marked file has no
 * effect.
 */
int xp_marks_add(const struct xp_marks *marks, int fd);
void xp_marks_remove(const struct xp_marks *marks, int fd);
/*
 * Returns true if fd still refers to the file that was marked; always true on systems without
 * marks.
 */
bool xp_marks_have(const struct xp_marks *marks, int fd);

/* Returns true if fd is the descriptor of the marks themselves. */
static inline bool xp_marks_own(const struct xp_marks *marks, int fd)
{
	return marks->open && fd == marks->fd;
}

/* Returns true if fstat(2) shows no identity of the file, so that only a mark distinguishes it. */
static inline bool xp_stat_lacks_identity(const struct stat *status)
{
	return status->st_ino == 0 && status->st_dev == 0;
}

#endif
