/*
 * The interface between inode.c and a provider, such as linux/inode_inotify.c, which gets reports
 * about files from the kernel.  The provider records which inodes the kernel watches for which
 * users (registrations that watch a file), and passes reports to xp_inode_report; it calls no
 * function of inode.c.  xp_inodes_reportable may be called at any time; the other functions only
 * with the queue's lock held, or when the queue ends and no other thread uses it.
 */
#ifndef XP_SOURCE_INODE_PROVIDER_H
#define XP_SOURCE_INODE_PROVIDER_H

#include "source/inode_look.h"

/* Returns the notes that the kernel of this system can report; 0: none. */
uint32_t xp_inodes_reportable(void);

/*
 * Make the kernel report the notes user->notes of user->fd; user->last is the file's status.  For a
 * user that has joined already, change the notes.  A new user gets no reports of earlier changes.
 * Returns 0; 1: the kernel reports only some of the notes, so the file has to be compared from time
 * to time as well.  -ESTALE: fd was reused for another file; -ENOTSUP: the kernel does not report
 * this file; -EPERM; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM.
 */
int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user);
/*
 * The user's file was renamed: watch its new name or parent, if this provider watches one.  Returns
 * 0; 1: the name or parent is watched only now, so a change since the rename may not have been
 * reported.  After an error the kernel does not report all changes, so the file has to be compared
 * from time to time.
 */
int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user);
/* End the watch of a user; harmless if no inode is watched for the user. */
void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user);

/* Read all reports of the kernel, and pass them to xp_inode_report. */
void xp_inodes_harvest(struct xp_inodes *inodes);
/*
 * Called when the queue ends, perhaps in a forked child: free all inodes, without a report to any
 * user.  The caller closes the instance afterwards, unless the provider has set its descriptor to
 * -1.
 */
void xp_inodes_close(struct xp_inodes *inodes);

#endif
