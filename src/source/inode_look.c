/* Compares two results of fstat(2) for a file, to find the notes of what happened in between. */
#include "source/inode_look.h"

#include <errno.h>

#include "base/assert.h"
#include "sys/fskind.h"
#include "sys/process.h"
#include "sys/sys.h"

/*
 * Notes of changes that a comparison of fstat(2) results cannot show reliably.  If the kernel has
 * dropped reports, all of these are reported (as far as requested), because they may have happened.
 */
#define SUSPECTED (XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_RENAME | \
                   XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                   XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ)
#define SUSPECTED_OF_DIRECTORY (XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK)

/*
 * Query the status of the user's file.  Returns 0; -ENOENT: fd was reused for another file; -EBADF:
 * fd was closed; or another error of fstat(2).
 */
int xp_inode_stat(const struct xp_inode_user *user, struct stat *now)
{
	const struct stat *last = &user->last;
	int64_t born_ns;
	int rc = xp_sys_fstat_born(user->fd, now, &born_ns);

	XP_ASSERT(user->fd >= 0);
	if (rc < 0)
		return rc;
	if (last->st_dev != now->st_dev || last->st_ino != now->st_ino)
		return -ENOENT;
	return xp_sys_same_birth(user->born_ns, born_ns) || !xp_fs_has_stable_birth(user->fd)
		? 0 : -ENOENT;
}

/*
 * Returns the notes of a change of size.  A file that has grown and shrunk to its old size in
 * between shows none.
 */
static uint32_t compare_size(const struct stat *old, const struct stat *now)
{
	if (S_ISDIR(now->st_mode) || now->st_size == old->st_size)
		return 0;
	return now->st_size > old->st_size ? XPOLL_NOTE_EXTEND
		: XPOLL_NOTE_TRUNCATE;
}

/*
 * Returns the notes of a change of the link count, as the BSDs report it (as_bsd) or as Linux does.
 */
static uint32_t compare_links(bool as_bsd, const struct stat *old,
                              const struct stat *now)
{
	if (now->st_nlink == old->st_nlink)
		return 0;
	if (as_bsd && !S_ISDIR(now->st_mode))
		return now->st_nlink < old->st_nlink ? XPOLL_NOTE_DELETE
			: XPOLL_NOTE_LINK;
	/*
	 * The link count of a directory counts its subdirectories; 0 means that it was removed,
	 * which is DELETE only.
	 */
	if (now->st_nlink == 0)
		return S_ISDIR(now->st_mode) ? XPOLL_NOTE_DELETE
			: XPOLL_NOTE_DELETE | XPOLL_NOTE_LINK;
	return XPOLL_NOTE_LINK;
}

static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
		(a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/*
 * Returns true if the file was written: its modification time has changed.  If the time has gone
 * back, a program has set it, for example by utimensat(2), which is no write.
 */
static bool was_written(const struct stat *old, const struct stat *now)
{
	if (xp_same_time(&old->st_mtim, &now->st_mtim))
		return false;
	/*
	 * The clock may have been set back instead: then mtime equals ctime, because a write sets
	 * both to the same value.
	 */
	return !is_earlier(&now->st_mtim, &old->st_mtim) ||
		xp_same_time(&now->st_mtim, &now->st_ctim);
}

/*
 * Returns true if an attribute other than the link count has changed: the mode, an owner, or a time
 * that a program has set.
 */
static bool attribute_changed(const struct stat *old, const struct stat *now)
{
	return old->st_mode != now->st_mode || old->st_uid != now->st_uid ||
		old->st_gid != now->st_gid ||
		(!xp_same_time(&old->st_mtim, &now->st_mtim) &&
		 !was_written(old, now));
}

/*
 * Returns the notes of all differences between two results of fstat(2).  If only ctime differs,
 * that is ATTRIB: an attribute that is not compared here has changed, or a program has set a time.
 * But if `reported` has RENAME, a difference of ctime alone counts as none, because the rename has
 * changed ctime.
 */
uint32_t xp_inode_compare(bool as_bsd, uint32_t reported, const struct stat *old,
                        const struct stat *now)
{
	uint32_t notes = compare_size(old, now) |
		compare_links(as_bsd, old, now);

	if (notes & (XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE) ||
	    was_written(old, now))
		notes |= XPOLL_NOTE_WRITE;
	/* Like Linux, report a change of the link count as ATTRIB, too. */
	if (!as_bsd && notes & XPOLL_NOTE_LINK && !S_ISDIR(now->st_mode))
		notes |= XPOLL_NOTE_ATTRIB;
	if (old->st_mode != now->st_mode || old->st_uid != now->st_uid ||
	    old->st_gid != now->st_gid ||
	    (!notes && !(reported & XPOLL_NOTE_RENAME) &&
	     !xp_same_time(&old->st_ctim, &now->st_ctim)))
		notes |= XPOLL_NOTE_ATTRIB;
	return notes;
}

/*
 * Returns the notes to deliver for the reports in `reported`, where `now` is the file's present
 * status.
 */
uint32_t xp_inode_notes(const struct xp_inode_user *user, uint32_t reported,
                         const struct stat *now)
{
	uint32_t notes = reported & ~(uint32_t)XPOLL_NOTE_DELETE;
	const struct stat *old = &user->last;
	uint32_t links = compare_links(user->as_bsd, old, now);

	if (reported & XPOLL_NOTE_WRITE)
		notes |= compare_size(old, now);
	if (reported & (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE))
		notes |= links;
	/* Remove ATTRIB: the BSDs do not report it if only the link count has changed. */
	if (user->as_bsd && links && !S_ISDIR(now->st_mode) &&
	    !attribute_changed(old, now))
		notes &= ~(uint32_t)XPOLL_NOTE_ATTRIB;
	if (reported & (XP_REPORT_COMPARE | XP_REPORT_LOST | XP_REPORT_ENDED))
		notes |= xp_inode_compare(user->as_bsd, reported, old, now);
	if (reported & XP_REPORT_LOST)
		notes |= SUSPECTED |
			(S_ISDIR(now->st_mode) ? SUSPECTED_OF_DIRECTORY : 0);
	return notes;
}

/*
 * Store the status for the next comparison.  Keeps the old size and link count if this comparison
 * did not use them: their change may be visible in fstat(2) before its report arrives, and the
 * report will need the old value.
 */
void xp_inode_remember(struct stat *last, uint32_t reported, const struct stat *now)
{
	struct stat before = *last;

	*last = *now;
	if (reported & (XP_REPORT_COMPARE | XP_REPORT_LOST | XP_REPORT_ENDED))
		return;
	if (!(reported & XPOLL_NOTE_WRITE))
		last->st_size = before.st_size;
	if (!(reported & (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE)))
		last->st_nlink = before.st_nlink;
}

/* The inode's item is its first member, so a pointer to the item is one to the inode. */
struct xp_inode *xp_inode_find(const struct xp_inodes *inodes, uint64_t number)
{
	return (struct xp_inode *)(void *)xp_regmap_find(&inodes->map, number, 0);
}

struct xp_inode *xp_inode_walk(const struct xp_inodes *inodes, size_t *at)
{
	return (struct xp_inode *)(void *)xp_regmap_walk(&inodes->map, at);
}

int xp_inodes_adopt_fd(struct xpoll *queue, struct xp_inodes *inodes, int fd)
{
	int rc = fd;

	if (fd >= 0) {
		inodes->watch.fd = fd;
		inodes->process = xp_process_number();
		rc = xp_host.watch(queue, &inodes->watch);
		if (rc < 0) {
			xp_sys_close(fd);
			inodes->watch.fd = -1;
		}
	}
	return rc;
}

int xp_inode_verify_fd(const struct xp_inode_user *user)
{
	struct stat now;
	int rc = xp_inode_stat(user, &now);

	return rc == -EBADF || rc == -ENOENT ? rc : 0;
}
