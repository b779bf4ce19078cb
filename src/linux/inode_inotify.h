/*
 * Common to the two halves of the inotify provider: inode_inotify.c decides
 * what is watched, inode_inotify_reports.c reads the reports.
 */
#ifndef XP_LINUX_INODE_INOTIFY_H
#define XP_LINUX_INODE_INOTIFY_H

#include "source/inode_provider.h"

struct xp_inode {
	struct xp_regmap_item item; /* its ident is the watch's number */
	struct xp_list links; /* of users; unused: its place in the pool */
	uint32_t mask;        /* that the kernel has */
	int useless;          /* reports in a row that nobody wanted */
};

/* Is it the parent of the user's directory? */
static inline bool xp_link_is_above(const struct xp_inode_link *link)
{
	return link == &link->user->above;
}

/* Nobody is left who wants to know of it, nor does the kernel. */
void xp_inode_free(struct xp_inodes *inodes, struct xp_inode *inode);

/*
 * Wait until each rename in a directory that has begun by now is reported.  The
 * kernel locks the directory for that time, and for looking up a name.
 */
void xp_inode_await(struct xp_inodes *inodes, int number);

/* Returns the notes of an event about the file itself. */
uint32_t xp_notes_of_itself(uint32_t mask);
/* The inotify(7) mask that this link needs. */
uint32_t xp_link_mask(const struct xp_inode_link *link);
/*
 * The kernel reports many events that no user wants any more, or that users
 * have disabled: make its mask smaller.
 */
void xp_inode_narrow(struct xp_inodes *inodes, struct xp_inode *inode);

#endif
