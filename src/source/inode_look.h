/*
 * Common to inode.c and the providers: the state of a queue's watched files, reports about them,
 * and the comparison of files.
 */
#ifndef XP_SOURCE_INODE_LOOK_H
#define XP_SOURCE_INODE_LOOK_H

#include "base/regmap.h"
#include "source/inode.h"
#include "source/source.h"

/* Bits of xp_inode_user.pending_reports that are no notes. */
enum {
	XP_REPORT_COMPARE = 1 << 24, /* compare the whole status of the file */
	XP_REPORT_LOST = 1 << 25,    /* the kernel has dropped reports */
	XP_REPORT_ENDED = 1 << 26, /* the kernel has ended its watch of the file */
	/* from now on, compare the file at intervals (COMPARE_INTERVAL_NS), in the list `timed` */
	XP_REPORT_MAKE_TIMED = 1 << 27,
};

/* The watched files of one queue: the queue's state of the source VNODE. */
struct xp_inodes {
	struct xpoll *queue;
	struct xp_list kernel_watched; /* users whose files the kernel reports */
	/* users whose files are compared at intervals (COMPARE_INTERVAL_NS) */
	struct xp_list timed;
	/* users of `kernel_watched` and `timed` whose file is to be compared next */
	struct xp_list to_compare;
	/*
	 * The inotify instance, kqueue or port; fd is -1 if there is none.  Its `ready` reads the
	 * reports and compares files.
	 */
	struct xp_source_fd watch;
	uint32_t process;         /* number (sys/process.h) of the process that opened `watch` */
	/* watched inodes, by the number that stands for an inode in the kernel's reports */
	struct xp_regmap map;
	/* unused struct xp_inode, allocated in advance, because a wait must not allocate any */
	struct xp_list pool;
	size_t inode_count;       /* number of inodes in `map` and `pool` */
	/* number of inodes made so far, for a provider that numbers its inodes */
	uint32_t last_inode_number;
	/* inotify: number of watches that were removed since the reports were last read */
	int removed;
	/*
	 * inotify: the inode that a user left last, which the kernel still watches, so that the
	 * same file can be watched again without a change in the kernel; it has no links.  NULL:
	 * none.
	 */
	struct xp_inode *spare;
	/* the file of `spare` (see there): results of xp_sys_fstat_born */
	dev_t spare_device;
	ino_t spare_number;
	int64_t spare_born_ns;
	/*
	 * Called by xp_inodes_due before it compares the files in `timed`: a provider may try again
	 * to watch files that it could not watch before.  Optional.
	 */
	void (*retry_watches)(struct xp_inodes *inodes);
	/*
	 * Returns true if the user's file was renamed since the last call, on systems that do not
	 * report renames; now: the file's status.  Optional.
	 */
	bool (*renamed)(struct xp_inode_user *user, const struct stat *now);
};

static inline bool xp_same_time(const struct timespec *a,
                                const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/*
 * Returns true if `spare`, the inode that a user left last and the kernel still watches, is that of
 * the user's file.
 */
static inline bool xp_inode_is_spare(const struct xp_inodes *inodes,
                                     const struct xp_inode_user *user)
{
	return inodes->spare && user->born_ns == inodes->spare_born_ns &&
		user->last.st_ino == inodes->spare_number &&
		user->last.st_dev == inodes->spare_device;
}

/* The notes that a write or a change of size can cause. */
#define XP_NOTES_WRITTEN (XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE)

/*
 * Record a report about a user's file, which is compared later; notes: XPOLL_NOTE_ and XP_REPORT_
 * bits.
 */
static inline void xp_inode_report(struct xp_inodes *inodes,
                                   struct xp_inode_user *user, uint32_t notes)
{
	user->pending_reports |= notes;
	if (xp_list_empty(&user->to_compare))
		xp_list_append(&inodes->to_compare, &user->to_compare);
}

/*
 * Query the status of the user's file.  Returns 0; -ENOENT: fd was reused for another file; or an
 * error of fstat(2), such as -EBADF.
 */
int xp_inode_stat(const struct xp_inode_user *user, struct stat *now);
/*
 * Returns the notes for all differences between two results of fstat(2).  as_bsd: notes that the
 * BSDs would report, not those of Linux.  If `reported` has XPOLL_NOTE_RENAME, a new ctime alone
 * is not a difference, because a rename changes the ctime, too.
 */
uint32_t xp_inode_compare(bool as_bsd, uint32_t reported, const struct stat *old,
                          const struct stat *now);
/* Returns the notes to deliver for the reports in `reported`; now: the file's present status. */
uint32_t xp_inode_notes(const struct xp_inode_user *user, uint32_t reported,
                        const struct stat *now);
/*
 * Store the status for the next comparison.  Keeps the old size if `reported` has no WRITE, and the
 * old link count if `reported` has neither ATTRIB nor DELETE: fstat(2) may show such a change
 * before its report comes, and that report then needs the old value.
 */
void xp_inode_remember(struct stat *last, uint32_t reported, const struct stat *now);

/*
 * Returns the watched inode for which the kernel's reports have this number, or NULL.  Each
 * provider defines its own struct xp_inode, which begins with its item of the map.
 */
struct xp_inode *xp_inode_find(const struct xp_inodes *inodes, uint64_t number);
/*
 * Returns the first inode from slot *at of the map on, and sets *at to the slot after it; NULL: no
 * more.  The caller sets *at to 0 before the first call.
 */
struct xp_inode *xp_inode_walk(const struct xp_inodes *inodes, size_t *at);
/*
 * Take over fd, a new inotify instance, kqueue or port, and have the queue watch it.  Returns 0; on
 * failure closes fd and returns the error.  A negative fd, the error of opening it, is returned.
 */
int xp_inodes_adopt_fd(struct xpoll *queue, struct xp_inodes *inodes, int fd);

#endif
