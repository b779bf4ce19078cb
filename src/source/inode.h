/*
 * Changes of the file that a descriptor refers to, whatever its names: used by VNODE, and by READ
 * of a regular file, which may grow.
 *
 * A user is a registration that watches one open file.  The kernel reports most changes, through
 * one instance (of inotify, for example) per queue, or on Windows one handle per directory:
 * source/inode_provider.h.  After a report, size and link count are compared with the last known
 * ones.  A file that the kernel cannot report is compared from time to time, while a wait runs.
 *
 * Notes are XPOLL_NOTE_ bits of VNODE.  Functions of a queue are called with its lock held or, when
 * it ends, while no other thread uses it.
 */
#ifndef XP_SOURCE_INODE_H
#define XP_SOURCE_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <xpoll.h>

#include "base/list.h"

struct xp_inode;
struct xp_inode_user;

/* Links a user to an inode that is watched for it; not linked if inode is NULL. */
struct xp_inode_link {
	struct xp_list item;
	struct xp_inode *inode;
	struct xp_inode_user *user;
};

struct xp_inode_user_ops {
	/*
	 * Reports that requested changes of the user's file have happened.  lost: the kernel has
	 * dropped reports, so `notes` contains all requested notes that a comparison cannot show,
	 * although nothing may have happened.
	 */
	void (*notify)(struct xpoll *queue, struct xp_inode_user *user,
	             uint32_t notes, bool lost);
	/*
	 * Returns true if the user is enabled, and wants reports at once.  If not, the kernel need
	 * not report the same note again before xp_inode_resume_reports.
	 */
	bool (*wants_reports)(const struct xpoll *queue,
	                      const struct xp_inode_user *user);
	/*
	 * Called if the descriptor was closed or reused, or if the file is gone: ends the user's
	 * registration, or has the next wait end it.
	 */
	void (*gone)(struct xpoll *queue, struct xp_inode_user *user);
};

struct xp_inode_user {
	const struct xp_inode_user_ops *ops;
	int fd;
	uint32_t notes; /* changes to report to the user: XPOLL_NOTE_ bits of VNODE */
	bool as_bsd;    /* the queue was opened with XPOLL_VNODE_AS_BSD */

	/* The following members are private to inode.c and the provider. */
	/* links the user into `kernel_watched` or `timed` of struct xp_inodes */
	struct xp_list list_item;
	/*
	 * links the user into `to_compare` of struct xp_inodes, while its file has to be compared
	 */
	struct xp_list to_compare;
	struct xp_inode_link self;  /* link to the file's inode */
	struct xp_inode_link above; /* link to a directory's parent, which reports rmdir(2) */
	/* number of inodes that the provider has allocated for this user */
	int reserved_inodes;
	/*
	 * for providers that find renames by comparison: hash of the file's last path (Windows), or
	 * of its last name and its directory's inode (event ports)
	 */
	uint64_t path_hash;
	/*
	 * notes that the kernel has reported while the user did not listen, and need not report
	 * again before xp_inode_resume_reports; with kqueue the kernel's NOTE_ bits
	 */
	uint32_t suppressed;
	/* notes that were reported since the last comparison, and XP_REPORT_ bits */
	uint32_t pending_reports;
	int64_t born_ns;            /* the file's time of birth; 0: unknown */
	struct stat last;           /* the file's status at the last comparison */
};

/*
 * Begin to watch fd for a user, whose `ops` and `as_bsd` are set, and whose other members are zero.
 * lenient: if a limit of the kernel is exhausted, compare the file at intervals
 * (COMPARE_INTERVAL_NS) instead of failing.
 *
 * Returns 0; -EBADF; -EINVAL: not a file of a file system; -EPERM: these notes need permission to
 * read the file; -ENOTSUP: the kernel does not report them for this file; -EMFILE, -ENFILE,
 * -ENOSPC, -ENOMEM.
 */
int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient);
/*
 * Change the notes that a user requests.  -ESTALE: fd was reused for another file; other errors are
 * those of xp_inode_watch.
 */
int xp_inode_set_notes(struct xpoll *queue, struct xp_inode_user *user,
                       uint32_t notes, bool lenient);
/*
 * Call after a disabled user was enabled.  Changes that the kernel did not report while the user
 * was disabled are passed to the user's callback `notify` before this function returns.
 */
void xp_inode_resume_reports(struct xpoll *queue, struct xp_inode_user *user);
/* End the watch of a user; harmless if there is none. */
void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user);

/*
 * Returns 0 if fd still refers to the watched file, or if fstat(2) fails for an open descriptor;
 * -EBADF: closed; -ENOENT: reused.
 */
int xp_inode_verify_fd(const struct xp_inode_user *user);

/* Returns true if this system can report all of these notes. */
bool xp_inode_supports(uint32_t notes);

/*
 * The functions `due` and `fini` of VNODE (struct xp_source_ops).  xp_inodes_fini ends the watches
 * of all users.
 */
void xp_inodes_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_inodes_fini(struct xpoll *queue, void *state);

#endif
