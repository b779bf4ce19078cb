/*
 * The interface between inode.c and a provider, which gets reports about files from the kernel
 * (linux/inode_inotify.c).  The provider knows which inodes are watched for which users, and passes
 * reports to xp_inode_report; it calls no function of inode.c.  All functions are called with the
 * queue's lock held.
 */
#ifndef XP_SOURCE_INODE_PROVIDER_H
#define XP_SOURCE_INODE_PROVIDER_H

#include "source/inode_look.h"

/* Returns the notes that the kernel can report; 0: it reports nothing. */
uint32_t xp_inodes_reportable(void);

/*
 * Make the kernel report user->notes of user->fd; user->last is set.  For a user that has joined:
 * change the notes; -ESTALE: fd was reused.  -ENOTSUP: the kernel does not report this file;
 * -EPERM; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM.
 */
int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user);
/* A directory was moved: watch its new parent instead of the old one. */
int xp_inode_follow(struct xp_inodes *inodes, struct xp_inode_user *user);
void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user);

/* Read all reports of the kernel. */
void xp_inodes_harvest(struct xp_inodes *inodes);
/*
 * The queue ends, perhaps in a forked child: free all inodes, without a report to any user.
 * The instance is closed next, unless its descriptor is -1 then.
 */
void xp_inodes_close(struct xp_inodes *inodes);

#endif
