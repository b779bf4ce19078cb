/*
 * The seam between inode.c and the kernel's way to report what happens to files
 * (linux/inode_inotify.c).  The provider keeps book of which inodes are watched for whom, and
 * reports by xp_inode_report, and calls nothing of inode.c.  All with the queue's lock held.
 */
#ifndef XP_SOURCE_INODE_PROVIDER_H
#define XP_SOURCE_INODE_PROVIDER_H

#include "source/inode_look.h"

/* Notes that the kernel reports here; 0: it reports nothing. */
uint32_t xp_inodes_reportable(void);

/*
 * Have the kernel report user->notes of user->fd from now on; user->last is
 * there.  For one that has joined: with other notes than before; -ESTALE: its
 * number is another file's by now.  -ENOTSUP: it does not report this file;
 * -EPERM; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM.
 */
int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user);
/* A directory was moved, and is not reported by its old parent any more. */
int xp_inode_follow(struct xp_inodes *inodes, struct xp_inode_user *user);
void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user);

/* Read what the kernel has for us. */
void xp_inodes_harvest(struct xp_inodes *inodes);
/*
 * The queue ends, perhaps in a forked child: free all inodes, without a report to any user.
 * The instance is closed next, unless its descriptor is -1 then.
 */
void xp_inodes_close(struct xp_inodes *inodes);

#endif
