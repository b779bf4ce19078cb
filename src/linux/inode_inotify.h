/*
 * Shared by the two parts of the inotify provider: inode_inotify.c decides which inodes are
 * watched, and inode_inotify_reports.c reads the kernel's reports.  A user is a registration of
 * VNODE.  A link connects a user to an inode that is watched for that user: the file's, or its
 * parent directory's.
 */
#ifndef XP_LINUX_INODE_INOTIFY_H
#define XP_LINUX_INODE_INOTIFY_H

#include "source/inode_provider.h"

/* An inode that the kernel watches, or an unused one in the pool. */
struct xp_inode {
	struct xp_regmap_item item; /* ident: inotify's watch descriptor */
	/*
	 * list of the users' links; for an inode in the pool: the inode's place in the list `pool`
	 */
	struct xp_list links;
	uint32_t mask;        /* events that the kernel reports for the inode */
	int useless;          /* number of reports in a row that no user wanted */
};

/* Returns true if this link is the one to the parent of the user's directory. */
static inline bool xp_link_is_above(const struct xp_inode_link *link)
{
	return link == &link->user->above;
}

/* Return an inode to the pool, once no user has a link to it and the kernel does not watch it. */
void xp_inode_recycle(struct xp_inodes *inodes, struct xp_inode *inode);

/*
 * Stop watching the spare inode, which has no user and is kept for one that comes back, and free
 * it.  Returns false if there is none.
 */
bool xp_inode_drop_spare(struct xp_inodes *inodes);

/*
 * Returns the notes that users of an inode get for an event about the watched file itself, not
 * about an entry of a directory.  mask: inotify's event.
 */
uint32_t xp_notes_of_itself(uint32_t mask);
/* Returns the inotify(7) mask that this link needs. */
uint32_t xp_link_mask(const struct xp_inode_link *link);
/*
 * Replace the kernel's mask of the inode by a smaller one, because the kernel reports many events
 * that no user wants any more or that users have disabled.
 */
void xp_inode_narrow(struct xp_inodes *inodes, struct xp_inode *inode);

#endif
