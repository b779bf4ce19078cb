/*
 * Common to the two parts of the inotify provider: inode_inotify.c decides what is watched, and
 * inode_inotify_reports.c reads reports.
 */
#ifndef XP_LINUX_INODE_INOTIFY_H
#define XP_LINUX_INODE_INOTIFY_H

#include "source/inode_provider.h"

struct xp_inode {
	struct xp_regmap_item item; /* its ident is the watch number */
	struct xp_list links; /* links of its users; in the pool: links it there */
	uint32_t mask;        /* the mask of the kernel's watch */
	int useless;          /* reports in a row that no user wanted */
};

/* Returns true if the link is for the parent of the user's directory. */
static inline bool xp_link_is_above(const struct xp_inode_link *link)
{
	return link == &link->user->above;
}

/* Free an inode that no user and no watch of the kernel uses any more. */
void xp_inode_free(struct xp_inodes *inodes, struct xp_inode *inode);

/*
 * Wait until every rename in a directory that has begun is reported.  The kernel locks the
 * directory for a rename, and for looking up a name, which this does.
 */
void xp_inode_await(struct xp_inodes *inodes, int number);

/* Returns the notes of an event about the file itself. */
uint32_t xp_notes_of_itself(uint32_t mask);
/* The inotify(7) mask that this link needs. */
uint32_t xp_link_mask(const struct xp_inode_link *link);
/*
 * Make the mask of the inode smaller, because the kernel reports many events that no user wants any
 * more or that users have disabled.
 */
void xp_inode_narrow(struct xp_inodes *inodes, struct xp_inode *inode);

#endif
